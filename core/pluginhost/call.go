// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"errors"

	"google.golang.org/grpc/status"

	"darkshift.io/infrared/sdk/provider"
)

// call is the one way to a plugin: it finds the process, makes sure that it is for the right cloud, sets the deadline, holds the answer against the contract, and counts.
// Errors are of type *provider.Error. An answer beside an error is handed on, since that of Build counts.
func call[T any](
	ctx context.Context, s supervised, v verb,
	do func(context.Context, provider.Provider) (T, error),
	check func(T) (T, error),
) (T, error) {
	began := s.host.clock.Now()
	answer, err := onProcess(ctx, s, v, do)
	if err == nil {
		answer, err = check(answer)
		if err != nil {
			err = unusable(provider.Errorf(provider.Other, "plugin %q broke the contract in %s: %w", s.name, v, err))
		}
	}
	s.host.metrics.observe(s.name, v, err, s.host.clock.Since(began))
	if err != nil {
		s.host.log.V(1).Info("a provider's call failed", "plugin", s.name, "verb", v, "kind", provider.KindOf(err), "why", err.Error())
	}
	return answer, err
}

func onProcess[T any](ctx context.Context, s supervised, v verb, do func(context.Context, provider.Provider) (T, error)) (T, error) {
	supervisor, r, err := s.host.acquire(ctx, s.name)
	if err != nil {
		var none T
		return none, unusable(err)
	}
	defer supervisor.release(r)
	if is := r.Description().Facts.Name; s.cloud != "" && is != s.cloud {
		var none T
		return none, unusable(provider.Errorf(provider.Unavailable, "the plugin %s is for provider %s now, not %s", s.name, is, s.cloud))
	}
	limited, cancel := context.WithTimeout(ctx, v.deadline())
	defer cancel()
	answer, err := do(limited, r.Provider())
	if err != nil {
		err = supervisor.explain(ctx, limited, v, r, err)
	}
	return answer, err
}

// explain says of a failed call what the plugin itself can't say: that it took too long, or ended. The plugin's own errors are
// handed on as they are, but for what can't be stored or shown.
func (s *supervisor) explain(ctx, limited context.Context, v verb, r *running, err error) error {
	kind := provider.KindOf(err)
	switch {
	case ctx.Err() != nil && kind == provider.Unavailable:
		return &provider.Error{
			Kind: kind, Err: errors.Join(err, ctx.Err(), ErrUnusable),
			Message: "the call of " + string(v) + " on plugin " + quoted(s.name) + " was given up: " + reasonOf(ctx.Err()),
		}
	case limited.Err() != nil && kind == provider.Unavailable:
		return &provider.Error{
			Kind: kind, Err: errors.Join(err, limited.Err(), ErrUnusable),
			Message: "plugin " + quoted(s.name) + " did not answer " + string(v) + " within " + short(v.deadline()),
		}
	case !fromTransport(err):
		return fitError(err)
	case kind == provider.Unavailable && s.hasEnded(ctx, r):
		return &provider.Error{
			Kind: kind, Err: errors.Join(err, ErrUnusable),
			Message: "plugin " + quoted(s.name) + " ended during " + string(v) + ": " + howEnded(r) + wayOn(v),
		}
	}
	return unusable(provider.Errorf(kind, "calling %s of plugin %q: %w", v, s.name, err))
}

// hasEnded waits shortly for the end of a process whose connection broke.
func (s *supervisor) hasEnded(ctx context.Context, r *running) bool {
	timer := s.clock.NewTimer(endTime)
	defer timer.Stop()
	select {
	case <-r.Done():
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	return false
}

// fromTransport says that gRPC made the error, not the plugin: only then is a status among its causes.
func fromTransport(err error) bool {
	var s interface{ GRPCStatus() *status.Status }
	return errors.As(err, &s)
}
