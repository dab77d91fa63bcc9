// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"time"
)

// launchEnv marks the process of a launch and all that it starts, so that they can be found at its end. Its value is the name of the
// launch's socket folder.
const launchEnv = "INFRARED_LAUNCH"

// windUp is how long a plugin of a host that is gone has to end by itself: the SDK's own limit, and some.
const windUp = windDown + 3*time.Second

// endOwnFamily ends what this process, a plugin, has started and left behind. The host does so too, if it is still there.
func endOwnFamily() {
	if mark := os.Getenv(launchEnv); mark != "" {
		(&family{leader: os.Getpid(), marker: launchEnv + "=" + mark}).end()
	}
}

// outliveHost waits for a launch to end whose host is gone, and ends it when that takes too long. It calls gone when nothing of it is
// there any more, at once where there is nothing now.
func outliveHost(mark string, gone func()) {
	f := &family{marker: launchEnv + "=" + mark}
	if !f.lives() {
		gone()
		return
	}
	go func() {
		defer gone()
		const tick = 100 * time.Millisecond
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for deadline := time.Now().Add(windUp); f.lives() && time.Now().Before(deadline); {
			<-ticker.C
		}
		f.end()
	}()
}
