// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/plugin"
)

// supervisor keeps one plugin of one binary running. Its goroutine, run, is the only one that starts and ends processes; calls
// come from everywhere and share the lock.
type supervisor struct {
	settings
	name string
	spec Spec
	// attached says that somebody else runs the process, so that it is never ended from here.
	attached bool
	// cancel ends the work context of run.
	cancel context.CancelFunc

	mu    sync.Mutex
	state State
	// current takes new calls; nil: no process runs, or none that may be called.
	current *running
	// retired says that another supervisor has taken over, or nobody.
	retired bool
	// next is when the next start begins, while a pause goes on; zero: it goes on already.
	next time.Time
	// news is closed, and replaced, whenever one of the above changes.
	news chan struct{}
}

func newSupervisor(s settings, name string, spec Spec) *supervisor {
	return &supervisor{
		settings: s, name: name, spec: spec, attached: s.isAttached(name), news: make(chan struct{}),
		state: State{Reason: ReasonStarting, Message: "it is being started"},
	}
}

// retire has the supervisor end: no new calls, and the process goes when the running ones have ended. It returns at once.
func (s *supervisor) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = true
	s.withdraw()
	s.state.Reason, s.state.Message = ReasonStopped, "Infrared is shutting down"
	s.state.Healthy, s.state.PID = false, 0
	s.tell()
	s.cancel()
}

// run starts the plugin again and again until work ends, and returns when its last process is gone. The end of hard kills it.
func (s *supervisor) run(work, hard context.Context) {
	pauses := backoff{random: s.random}
	var pause time.Duration
	for attempt := 0; s.sleep(work, pause); attempt++ {
		if attempt > 0 {
			s.countRestart()
		}
		p, err := s.dial(work, s.name, s.spec)
		if err != nil {
			pause = pauses.failedStart()
			s.failed(work, err, pause)
			continue
		}
		began := s.clock.Now()
		r := s.serve(p)
		end := s.watch(work, r)
		if work.Err() != nil {
			s.drain(hard, r)
			return
		}
		pause = pauses.ended(end.healthy.Sub(began))
		s.ended(end, pause)
		s.bury(hard, r, end)
	}
}

// sleep waits, and says whether to go on.
func (s *supervisor) sleep(work context.Context, pause time.Duration) bool {
	if pause > 0 {
		timer := s.clock.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-work.Done():
		}
	}
	s.mu.Lock()
	s.next = time.Time{}
	s.mu.Unlock()
	return work.Err() == nil
}

// serve puts a process into service.
func (s *supervisor) serve(p process) *running {
	r := &running{process: p, idle: make(chan struct{})}
	s.mu.Lock()
	if s.retired {
		r.retired = true
		close(r.idle)
	} else {
		s.current = r
	}
	s.mu.Unlock()
	s.update(func(state *State) {
		state.Reason, state.Message, state.Healthy = ReasonHealthy, "it runs and answers", true
		if s.attached {
			state.Reason, state.Message = ReasonAttached, attachedMessage()
		}
		state.PID, state.Protocol, state.Description = p.PID(), p.Protocol(), p.Description()
	})
	return r
}

// failed tells why a start failed. The reason stays until a later start is over, so that it does not flap.
func (s *supervisor) failed(work context.Context, err error, pause time.Duration) {
	if work.Err() != nil {
		return
	}
	reason, message := plugin.ReasonStartFailed, err.Error()
	var typed *plugin.StartError
	if errors.As(err, &typed) {
		reason, message = typed.Reason, typed.Message
	}
	s.plan(pause)
	// Not as an error, whose stack would be the host's own each time.
	s.log.Info("a plugin did not start", "plugin", s.name, "reason", reason, "why", message, "retryIn", pause)
	s.update(func(state *State) {
		state.Reason, state.Message = string(reason), message
		state.Healthy, state.PID = false, 0
	})
}

// ended tells how a process ended, after its last call could find it.
func (s *supervisor) ended(end ending, pause time.Duration) {
	s.mu.Lock()
	s.withdraw()
	s.mu.Unlock()
	s.plan(pause)
	s.log.Info("a plugin ended", "plugin", s.name, "reason", end.reason, "how", end.message, "retryIn", pause)
	s.update(func(state *State) {
		state.Reason, state.Message = end.reason, end.message
		switch {
		case end.reason != ReasonCrashed:
		case pause == 0:
			state.Reason, state.Message = ReasonRestarting, end.message+"; it is being started again"
		default:
			state.Message += "; it is started again after a pause"
		}
		state.Healthy, state.PID = false, 0
	})
}

// plan notes when the next start begins.
func (s *supervisor) plan(pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = s.clock.Now().Add(pause)
}

func (s *supervisor) countRestart() {
	s.metrics.restarts.WithLabelValues(s.name).Inc()
	s.update(func(state *State) { state.Restarts++ })
}

// update changes the state, and tells whoever waits for news. The state of a retired supervisor stays: another one speaks for
// the name by then.
func (s *supervisor) update(change func(*State)) {
	if s.apply(change) {
		s.changed(s.name)
	}
}

// apply says whether the state is another one now.
func (s *supervisor) apply(change func(*State)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	before := s.state
	change(&s.state)
	s.metrics.setHealthy(s.name, s.state.Healthy)
	s.tell()
	return !s.state.same(before)
}

func (s *supervisor) snapshot() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// withdraw lets no new call find the current process. The lock is held.
func (s *supervisor) withdraw() {
	r := s.current
	s.current = nil
	if r != nil {
		r.retired = true
		if r.calls == 0 {
			close(r.idle)
		}
	}
}

// tell wakes whoever waits for news. The lock is held.
func (s *supervisor) tell() {
	close(s.news)
	s.news = make(chan struct{})
}
