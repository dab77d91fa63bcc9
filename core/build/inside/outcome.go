// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

const reasonInterrupted = v1alpha1.ReasonInterrupted

// failure is what an error is to the operator.
func (s *session) failure(ctx, life context.Context, err error) *run.Failure {
	f := &run.Failure{Reason: provider.KindOf(err).Row().Reason, Message: s.red.text(err.Error())}
	var typed *provider.Error
	if errors.As(err, &typed) {
		f.Field, f.Message = typed.Field, s.red.text(typed.Message)
	}
	switch {
	case ctx.Err() != nil:
		f.Reason = reasonInterrupted
	case errors.Is(err, pluginhost.ErrUnusable):
		f.Reason = v1alpha1.ReasonProviderUnavailable
	case errors.Is(err, provider.Conflict):
		if holder := s.holder(life); holder != "" {
			f.Reason = v1alpha1.ReasonStateLocked
			f.Message += holder
		}
	}
	return f
}

// outOfTime is how a run ends whose OpenTofu did not end within the grace.
func (s *session) outOfTime() *run.Failure {
	message := "the time to stop was over while OpenTofu was still at work; the next run looks for what it has made"
	if s.order.Action == provider.ActionPlan {
		message = "the time to stop was over while OpenTofu was still planning; nothing was made, start the run again"
	}
	return &run.Failure{Reason: reasonInterrupted, Message: message}
}

// holder says which pod holds the state's lock; empty: nobody does.
func (s *session) holder(life context.Context) string {
	ctx, cancel := context.WithTimeout(life, tryTime)
	defer cancel()
	lease, err := s.objects.readLease(ctx)
	if err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		return ""
	}
	pod := lease.Annotations[run.StampPod]
	if pod == "" || lease.Annotations[run.StampLock] != *lease.Spec.HolderIdentity {
		return fmt.Sprintf(" (lock %s)", *lease.Spec.HolderIdentity)
	}
	return fmt.Sprintf(" (lock %s, taken by pod %s on node %s)", *lease.Spec.HolderIdentity, pod, lease.Annotations[run.StampNode])
}

// end writes down how the run ended: the ledger, and last the outcome with the last of the progress and the log.
func (s *session) end(ctx context.Context, outcome run.Outcome) error {
	s.stopLoops()
	s.loops.Wait()
	s.out.say(words(outcome))
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	s.settle(outcome)
	if err := s.ledger.write(ctx); err != nil {
		// The outcome is worth more than a ledger that does not fit: what it lists is in it too.
		s.out.say(err.Error())
	}
	progress, err := run.Pack(s.progress.newest())
	if err != nil {
		return err
	}
	return s.objects.writeOutcome(ctx, outcome, func(record *corev1.ConfigMap) {
		record.BinaryData[run.KeyProgress] = progress
		s.progress.putLog(record)
	})
}

// writeOutcome writes the outcome into the record, and in the same update what beside puts there; nil: nothing.
func (o *objects) writeOutcome(ctx context.Context, outcome run.Outcome, beside func(*corev1.ConfigMap)) error {
	packed, err := packOutcome(outcome)
	if err != nil {
		return err
	}
	err = o.changeConfigMap(ctx, o.record, func(record *corev1.ConfigMap) error {
		record.BinaryData[run.KeyOutcome] = packed
		if beside != nil {
			beside(record)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing the outcome into ConfigMap %s: %w", o.record, err)
	}
	return nil
}

// settle brings the ledger up to the outcome. After a run that succeeded, what is neither in the state nor left behind is gone.
func (s *session) settle(outcome run.Outcome) {
	s.ledger.change(func(l *run.Ledger) {
		l.Running, l.LeftBehind, l.Unsettled = "", outcome.LeftBehind, s.found.unsettled
		if outcome.Failure != nil {
			return
		}
		there := map[string]bool{}
		for _, list := range [][]provider.Resource{outcome.Resources, outcome.LeftBehind} {
			for _, resource := range list {
				there[resource.ID] = true
			}
		}
		l.Made = slices.DeleteFunc(slices.Clone(l.Made), func(r provider.Resource) bool { return !there[r.ID] })
		switch s.order.Action {
		case provider.ActionApply:
			applied := outcome
			applied.Changes = nil
			l.Applied, l.Order = &applied, &s.order
		case provider.ActionDestroy:
			l.Applied = nil
		case provider.ActionPlan:
		}
	})
}

// largestOutcome leaves room for the order and some log.
const largestOutcome = 800 << 10

// packOutcome leaves out, where all does not fit, the end of the lists.
func packOutcome(outcome run.Outcome) ([]byte, error) {
	for most := 10_000; ; most /= 2 {
		packed, err := run.Pack(outcome)
		if err != nil || len(packed) <= largestOutcome || most == 0 {
			return packed, err
		}
		outcome.Changes = outcome.Changes[:min(len(outcome.Changes), most)]
		outcome.Resources = outcome.Resources[:min(len(outcome.Resources), most)]
		outcome.LeftBehind = outcome.LeftBehind[:min(len(outcome.LeftBehind), most)]
	}
}

// words say how a run ended, for its log.
func words(outcome run.Outcome) string {
	switch f := outcome.Failure; {
	case f == nil:
		return "the run succeeded"
	case f.Field != "":
		return fmt.Sprintf("the run failed (%s): %s: %s", f.Reason, f.Field, f.Message)
	default:
		return fmt.Sprintf("the run failed (%s): %s", f.Reason, f.Message)
	}
}
