// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import "context"

// drain ends a process in good order: running calls finish, unless the host is closing; then it is stopped. It returns when the
// process is gone, and kills it when hard ends.
func (s *supervisor) drain(hard context.Context, r *running) {
	s.await(hard, r)
	ctx, cancel := context.WithTimeout(hard, s.stopTime)
	defer cancel()
	if err := r.Stop(ctx); err != nil {
		s.log.Info("a plugin did not stop in order", "plugin", s.name, "why", err.Error())
	}
}

// await waits for the running calls.
func (s *supervisor) await(hard context.Context, r *running) {
	timer := s.clock.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-r.idle:
	case <-r.Done():
	case <-timer.C():
	case <-s.hurry:
	case <-hard.Done():
	}
}

// bury sees to it that nothing is left of a process that ended or hung.
func (s *supervisor) bury(hard context.Context, r *running, end ending) {
	if end.alive {
		r.Kill()
	}
	select {
	case <-r.Done():
	case <-hard.Done():
	}
}
