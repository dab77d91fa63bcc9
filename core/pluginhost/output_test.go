// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"
)

func TestOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
		o := newOutput(log, clock.RealClock{})
		for range 100_000 {
			if n, err := o.Write([]byte("a plugin that can't stop talking\n")); n != 33 || err != nil {
				t.Fatalf("Write gives %d, %v, want all of it taken", n, err)
			}
		}
		if len(lines) != linesAtOnce {
			t.Errorf("%d lines of 100,000 were logged at once, want %d", len(lines), linesAtOnce)
		}
		elapse(time.Second)
		_, _ = o.Write([]byte("\xff and now something else \r\n"))
		_, _ = o.Write([]byte("\n"))
		last := lines[len(lines)-1]
		if !strings.Contains(last, `"line"="� and now something else"`) || !strings.Contains(last, `"linesLeftOutBefore"=99800`) {
			t.Errorf("after a flood the log says %s, want the line and how many were left out", last)
		}
	})
}
