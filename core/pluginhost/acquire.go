// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// acquire finds the process that takes the name's calls now, and waits shortly for one that is being started. Whoever gets one
// releases it at the supervisor that it came from.
func (h *Host) acquire(ctx context.Context, name string) (*supervisor, *running, error) {
	timer := h.clock.NewTimer(waitTime)
	defer timer.Stop()
	latest := h.clock.Now().Add(waitTime)
	for {
		s, r, news := h.take(name, latest)
		switch {
		case s == nil:
			return nil, nil, provider.Errorf(provider.Unavailable, "there is no plugin %q", name)
		case r != nil:
			return s, r, nil
		case news == nil:
			return nil, nil, s.absent()
		}
		select {
		case <-news:
		case <-timer.C():
			return nil, nil, s.absent()
		case <-ctx.Done():
			return nil, nil, provider.Errorf(provider.Unavailable, "waiting for plugin %q to start: %w", name, ctx.Err())
		}
	}
}

// take finds the name's supervisor and its process. Both under the lock under which supervisors are replaced, or a call could meet one
// that has just been retired.
func (h *Host) take(name string, latest time.Time) (*supervisor, *running, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.plugins[name]
	if s == nil {
		return nil, nil, nil
	}
	r, news := s.take(latest)
	return s, r, news
}

// take counts a call on the current process. Where there is none, it returns what to wait for; nil: it is not worth it, because the
// next start begins only after latest, or never.
func (s *supervisor) take(latest time.Time) (r *running, news <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.current.isGone() {
		// Whoever called it last may know of its end sooner than the supervisor, which is about to hear.
		s.withdraw()
	}
	if s.current != nil {
		s.current.calls++
		return s.current, nil
	}
	if s.retired || !s.next.Before(latest) {
		return nil, nil
	}
	return nil, s.news
}

// release ends a call on a process.
func (s *supervisor) release(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.calls--
	if r.retired && r.calls == 0 {
		close(r.idle)
	}
}

// absent is the error of a call that found no process: which plugin, why, and when to try again.
func (s *supervisor) absent() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := max(s.next.Sub(s.clock.Now()).Round(time.Second), time.Second)
	if s.next.IsZero() {
		after = time.Second
	}
	return provider.Unavailablef(after, "plugin %q is not running (%s): %s", s.name, s.state.Reason, s.state.Message)
}
