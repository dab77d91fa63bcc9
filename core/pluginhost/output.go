// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// linesASecond are logged of what a plugin prints, and linesAtOnce after a quiet time; what is more is counted.
const (
	linesASecond = 20
	linesAtOnce  = 200
)

// output logs what a plugin prints. A plugin that floods it does not flood the host's own log.
type output struct {
	log   logr.Logger
	clock clock.PassiveClock

	mu      sync.Mutex
	limit   *rate.Limiter
	dropped int
}

func newOutput(log logr.Logger, clock clock.PassiveClock) *output {
	return &output{log: log, clock: clock, limit: rate.NewLimiter(rate.Every(time.Second/linesASecond), linesAtOnce)}
}

// Write takes one line, with its end. It never fails.
func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(line), "\uFFFD"))
	switch {
	case text == "":
	case !o.limit.AllowN(o.clock.Now(), 1):
		o.dropped++
	case o.dropped > 0:
		o.log.Info("a plugin says", "line", text, "linesLeftOutBefore", o.dropped)
		o.dropped = 0
	default:
		o.log.Info("a plugin says", "line", text)
	}
	return len(line), nil
}
