// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// longestLine is where a line that a plugin prints is cut in two.
	longestLine = 8 << 10
	// linesASecond are logged, and linesAtOnce after a quiet time; what is more is counted.
	linesASecond = 20
	linesAtOnce  = 200
)

// output logs what a plugin prints, line by line. A plugin that floods it does not flood the host's own log.
type output struct {
	log   logr.Logger
	clock clock.PassiveClock

	mu      sync.Mutex
	limit   *rate.Limiter
	rest    []byte
	dropped int
}

func newOutput(log logr.Logger, clock clock.PassiveClock) *output {
	return &output{log: log, clock: clock, limit: rate.NewLimiter(rate.Every(time.Second/linesASecond), linesAtOnce)}
}

// Write never fails, and keeps no more than one line.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	length := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		switch {
		case end < 0 && len(o.rest)+len(p) < longestLine:
			o.rest = append(o.rest, p...)
			return length, nil
		case end < 0 || len(o.rest)+end > longestLine:
			take := longestLine - len(o.rest)
			o.line(p[:take])
			p = p[take:]
		default:
			o.line(p[:end])
			p = p[end+1:]
		}
	}
	return length, nil
}

// line logs what was kept and what is added to it. The lock is held.
func (o *output) line(more []byte) {
	text := strings.TrimRight(strings.ToValidUTF8(string(append(o.rest, more...)), "\uFFFD"), " \r\t")
	o.rest = o.rest[:0]
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
}
