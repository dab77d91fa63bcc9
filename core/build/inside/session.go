// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// session is a run under way.
type session struct {
	run      Run
	order    run.Order
	objects  *objects
	before   run.Ledger // what the ledger said when this run began
	ledger   *ledger
	red      redactor
	out      *output
	progress *progress
	events   *events
	proxy    *proxy
	host     *pluginhost.Host
	news     chan struct{} // has room for one: the plugin's state has changed
	creds    provider.Credentials
	found    answers

	stopLoops context.CancelFunc
	loops     sync.WaitGroup
}

// begin gets everything ready but the plugin.
func begin(life context.Context, r Run, o *objects, order run.Order) (*session, error) {
	s := &session{run: r, order: order, objects: o, news: make(chan struct{}, 1)}
	var err error
	if s.creds, err = readCredentials(r.Credentials); err != nil {
		return nil, err
	}
	if s.ledger, s.before, err = openLedger(life, o, order.Action != provider.ActionPlan); err != nil {
		return nil, err
	}
	if s.proxy, err = startProxy(o, r.Namespace, r.Pod); err != nil {
		return nil, err
	}
	s.red = newRedactor(s.creds, s.proxy.token, r.Config.BearerToken)
	s.out = &output{red: s.red, to: r.Out}
	s.progress = newProgress(o, s.out, r.Clock)
	s.events = &events{red: s.red, out: s.out, ledger: s.ledger, progress: s.progress}
	if order.Action == provider.ActionApply {
		s.events.order = &s.order
	}
	s.host = pluginhost.New(pluginhost.Options{
		Folder: r.Plugins, Env: r.Env, Output: s.out, StopTime: r.Grace, Clock: r.Clock,
		Changed: func(string) {
			select {
			case s.news <- struct{}{}:
			default:
			}
		},
	})
	loops, cancel := context.WithCancel(life)
	s.stopLoops = cancel
	s.loops.Go(func() { s.ledger.loop(loops) })
	s.loops.Go(func() { s.progress.loop(loops) })
	return s, nil
}

// carryOut does what the order says and returns how it ended, once nothing of it is at work any more. The end of ctx asks it to
// wind down, that of life ends it.
func (s *session) carryOut(ctx, life context.Context) run.Outcome {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		s.out.say("told to stop: what is in flight is finished or written down first")
		s.closeHost(life, s.run.Grace)
	})
	outcome, err := s.act(ctx, life)
	var look sight
	if s.looksAround(err) && ctx.Err() == nil {
		look = s.sweep(life)
	}
	s.account(&outcome, look)
	if stop() {
		s.closeHost(life, endTime)
	} else {
		<-closed
	}
	ended := awaitTofu(life, s.order.Cluster.Name)
	s.proxy.close()
	outcome.EndedAt = s.run.now()
	if err != nil {
		outcome.Failure = s.failure(ctx, life, err)
	}
	if !ended {
		outcome.Failure = s.outOfTime()
	}
	s.found.unsettled = s.unsettled(outcome, look)
	return outcome
}

// endTime is how long a plugin that runs nothing has to end.
const endTime = 10 * time.Second

func (s *session) closeHost(life context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(life, within)
	defer cancel()
	s.host.Close(ctx)
}

// act starts the plugin and calls it as the order says.
func (s *session) act(ctx, life context.Context) (run.Outcome, error) {
	if err := s.startPlugin(ctx); err != nil {
		return run.Outcome{}, err
	}
	switch s.order.Action {
	case provider.ActionPlan:
		plan, err := s.build(ctx, life, provider.ActionPlan, "", provider.Secret{})
		if err == nil {
			err = s.keepPlan(life, &plan)
		}
		return s.planned(plan), err
	case provider.ActionApply:
		return s.apply(ctx, life)
	case provider.ActionDestroy:
		result, err := s.build(ctx, life, provider.ActionDestroy, "", provider.Secret{})
		return s.applied(life, result, err)
	}
	return run.Outcome{}, provider.Invalidf("action", "%q is none of plan, apply and destroy", s.order.Action)
}

// startPlugin returns once the plugin runs, or has failed to start.
func (s *session) startPlugin(ctx context.Context) error {
	s.host.Ensure(s.order.Plugin, pluginhost.Spec{Binary: s.order.Plugin, SHA256: s.order.PluginSHA256})
	for {
		if ctx.Err() != nil {
			return errStopped
		}
		state, _ := s.host.State(s.order.Plugin)
		switch {
		case state.Healthy:
			return nil
		case state.Reason == pluginhost.ReasonStopped, state.Reason == pluginhost.ReasonStarting:
		default:
			return &provider.Error{Kind: provider.Unavailable, Err: pluginhost.ErrUnusable, Message: fmt.Sprintf("plugin %s does not start (%s): %s", s.order.Plugin, state.Reason, state.Message)}
		}
		select {
		case <-s.news:
		case <-ctx.Done():
		}
	}
}

// errStopped is how a step ends that the end of ctx kept from beginning.
var errStopped = errors.New("the run was told to stop before it changed anything; start it again")

// build calls the plugin. Not with ctx: a call that is cancelled has no answer, while a plugin that is told to stop says what it made.
func (s *session) build(ctx, life context.Context, action provider.Action, digest string, plan provider.Secret) (provider.BuildResult, error) {
	if ctx.Err() != nil {
		return provider.BuildResult{}, errStopped
	}
	s.events.reset()
	s.found.acted = s.found.acted || action != provider.ActionPlan
	result, err := s.host.Provider(s.order.Plugin, s.cloud()).Build(life, provider.BuildRequest{
		Cluster: s.order.Cluster, Action: action, Version: s.order.Version, Source: s.order.Source, Variables: s.order.Variables,
		Labels: s.order.Labels, Credentials: s.creds, State: s.proxy.state(), Folder: s.run.Work,
		PlanDigest: digest, Plan: plan, Ledger: s.ledger.snapshot().Made,
	}, s.events)
	result = s.red.result(result)
	if err == nil || len(result.Resources) > 0 {
		s.found.told, s.found.resources = true, result.Resources
	}
	return result, err
}

// cloud is the provider that the plugin has to be for.
func (s *session) cloud() string {
	cloud, _, _ := strings.Cut(s.order.Template, "/")
	return cloud
}
