// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"fmt"
	"time"
)

// ending is why a process is no longer in service.
type ending struct {
	reason, message string
	// alive says that the process may still run.
	alive bool
	// healthy is when it last was.
	healthy time.Time
}

// watch returns when work has ended, the process is gone, or it counts as hung.
func (s *supervisor) watch(work context.Context, r *running) ending {
	ctx, cancel := context.WithCancel(work)
	defer cancel()
	ticker := s.clock.NewTicker(pingEvery)
	defer ticker.Stop()
	misses, healthy := 0, s.clock.Now()
	// Has room for one answer, so that a ping whose answer nobody waits for any more ends all the same.
	answers := make(chan error, 1)
	for {
		select {
		case <-work.Done():
			return ending{}
		case <-r.Done():
			return ending{reason: ReasonCrashed, message: howEnded(r), healthy: s.clock.Now()}
		case <-ticker.C():
			go func() { answers <- s.ping(ctx, r) }()
		case err := <-answers:
			if misses = s.judge(misses, err); misses == 0 {
				healthy = s.clock.Now()
			}
			if misses >= missesAllowed && !s.attached {
				return ending{reason: ReasonHung, message: hungMessage(), alive: true, healthy: healthy}
			}
		}
	}
}

// judge counts the answers that are missing in a row. A plugin that somebody else runs may be standing at a breakpoint: that
// is said, and the plugin left alone.
func (s *supervisor) judge(misses int, err error) int {
	if err == nil {
		if s.attached && misses >= missesAllowed {
			s.update(func(state *State) {
				state.Reason, state.Message, state.Healthy = ReasonAttached, attachedMessage(), true
			})
		}
		return 0
	}
	misses++
	s.log.Info("a plugin did not answer", "plugin", s.name, "misses", misses)
	if s.attached && misses == missesAllowed {
		s.update(func(state *State) {
			state.Reason, state.Message, state.Healthy = ReasonHung, "somebody else runs it, and it does not answer; it may be stopped in a debugger", false
		})
	}
	return misses
}

func (s *supervisor) ping(ctx context.Context, r *running) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := s.clock.NewTimer(pingTime)
	defer timer.Stop()
	answer := make(chan error, 1)
	go func() { answer <- r.Ping(ctx) }()
	select {
	case err := <-answer:
		return err
	case <-timer.C():
		return context.DeadlineExceeded
	}
}

// howEnded is in words how a process that is gone ended.
func howEnded(r *running) string {
	if err := r.Err(); err != nil {
		return "it " + err.Error()
	}
	return "it ended"
}

func hungMessage() string {
	return fmt.Sprintf("it runs and did not answer %d times in a row, %v apart; it is killed and started again", missesAllowed, pingEvery)
}

func attachedMessage() string {
	return "somebody else runs it, and it answers; neither its checksum nor its certificate is checked"
}
