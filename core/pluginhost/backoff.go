// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import "time"

// healthyTime is how long a plugin must be healthy before its earlier failures are forgotten.
const healthyTime = time.Minute

// backoff says how long to wait before the next start. It grows with each failure, up to a limit, and never ends.
type backoff struct {
	failures int
	random   func() float64
}

// failedStart is the pause after a start that failed.
func (b *backoff) failedStart() time.Duration {
	b.failures++
	return b.pause()
}

// ended is the pause after a plugin that was healthy for so long has ended. One that had been healthy is started again at once.
func (b *backoff) ended(healthy time.Duration) time.Duration {
	if healthy >= healthyTime {
		b.failures = 0
	}
	pause := b.pause()
	b.failures++
	return pause
}

// pause is 0, 1, 2, 4 … 60 s, and up to half as much again, so that plugins that fell together do not rise together and a
// plugin that never starts is tried at most about ten times in five minutes.
func (b *backoff) pause() time.Duration {
	if b.failures == 0 {
		return 0
	}
	base := min(time.Second<<min(b.failures-1, 6), time.Minute)
	return base + time.Duration(b.random()*float64(base)/2)
}
