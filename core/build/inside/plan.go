// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// saved is the plan that an earlier run kept. plan is zero where it was too large.
type saved struct {
	digest  string
	plan    provider.Secret
	changes []provider.Change
}

func (s *session) readPlan(ctx context.Context) (saved, error) {
	secret, err := s.objects.getSecret(ctx, s.objects.names.Plan())
	if apierrors.IsNotFound(err) {
		return saved{}, nil
	}
	if err != nil {
		return saved{}, fmt.Errorf("reading the saved plan in Secret %s: %w", s.objects.names.Plan(), err)
	}
	return readSaved(secret)
}

func readSaved(secret *corev1.Secret) (saved, error) {
	plan := saved{digest: string(secret.Data[run.KeyDigest]), plan: provider.NewSecret(string(secret.Data[run.KeyPlan]))}
	if len(secret.Data[run.KeyChanges]) == 0 {
		return saved{}, nil // it can't be told what it would destroy
	}
	if err := run.Unpack(secret.Data[run.KeyChanges], &plan.changes); err != nil {
		return saved{}, fmt.Errorf("reading the saved plan in Secret %s: %w", secret.Name, err)
	}
	return plan, nil
}

// keepPlan replaces the saved plan; nil: there is none any more.
func (s *session) keepPlan(ctx context.Context, plan *provider.BuildResult) error {
	data := map[string][]byte{}
	if plan != nil && plan.PlanDigest != "" {
		changes, err := run.Pack(plan.Changes)
		if err != nil {
			return err
		}
		data[run.KeyDigest], data[run.KeyChanges] = []byte(plan.PlanDigest), changes
		if text := plan.Plan.Reveal(); text != "" && len(text)+len(changes) <= largestPart {
			data[run.KeyPlan] = []byte(text)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	err := s.objects.changeSecret(ctx, s.objects.names.Plan(), func(have map[string][]byte) {
		for _, key := range []string{run.KeyPlan, run.KeyDigest, run.KeyChanges} {
			delete(have, key)
			if value, found := data[key]; found {
				have[key] = value
			}
		}
	})
	if apierrors.IsNotFound(err) {
		// It goes with its Cluster, whose deletion may have begun. An apply plans again where it finds none.
		return nil
	}
	if err != nil {
		return fmt.Errorf("keeping the plan in Secret %s: %w", s.objects.names.Plan(), err)
	}
	return nil
}

// loses are the changes that need an approval.
func (s *session) loses(changes []provider.Change) []provider.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c provider.Change) bool { return !c.Loses(s.order.Guarded) })
}

// approved says whether these changes may be made as far as anybody has to be asked.
func (s *session) approved(digest string, changes []provider.Change) bool {
	return len(s.loses(changes)) == 0 || s.order.Approved != "" && s.order.Approved == digest
}

// notApproved is how an apply ends that would destroy what is guarded, and the way to have it all the same.
func (s *session) notApproved(digest string, changes []provider.Change) run.Outcome {
	lost := s.loses(changes)
	more := ""
	if len(lost) > 1 {
		more = fmt.Sprintf(" and %d more", len(lost)-1)
	}
	return run.Outcome{
		Changes: changes, Digest: digest, Guarded: true,
		Failure: &run.Failure{Reason: v1alpha1.ReasonApprovalNeeded, Message: fmt.Sprintf(
			"this would destroy or replace %s%s, and nothing was done; to have just that done, annotate the cluster and apply again: kubectl annotate --overwrite clusters.infrared.darkshift.io %s %s=%s",
			lost[0].Address, more, s.order.Cluster.Name, v1alpha1.AnnotationApprovePlan, digest)},
	}
}

// apply does what a person has seen, or, where nobody has, whatever is needed and needs no approval.
func (s *session) apply(ctx, life context.Context) (run.Outcome, error) {
	if s.order.Digest == "" {
		return s.applyWhatever(ctx, life)
	}
	if expires := s.order.DigestExpires; !expires.IsZero() && !s.run.Clock.Now().Before(expires) {
		// The Job may have waited for a node for as long as it liked.
		return s.expired(ctx, life)
	}
	plan, err := s.readPlan(life)
	if err != nil {
		return run.Outcome{}, err
	}
	if plan.digest != s.order.Digest {
		return s.planAndApply(ctx, life, "the plan with the digest that was asked for is not kept any more, and what would happen is no longer the same")
	}
	if !s.approved(plan.digest, plan.changes) {
		return s.notApproved(plan.digest, plan.changes), nil
	}
	result, err := s.build(ctx, life, provider.ActionApply, plan.digest, plan.plan)
	if s.nothingDone(result, err) {
		return s.planAgain(ctx, life, err)
	}
	return s.applied(life, result, err)
}

// applyWhatever does whatever is needed. Where there is nothing yet, nothing can be lost, and nobody has to look at a plan first.
func (s *session) applyWhatever(ctx, life context.Context) (run.Outcome, error) {
	head, err := s.objects.getSecret(life, s.objects.names.State())
	if err != nil {
		return run.Outcome{}, fmt.Errorf("looking at the state in Secret %s: %w", s.objects.names.State(), err)
	}
	if len(head.Data[keyState]) > 0 || len(head.Data[keyParts]) > 0 || len(s.before.Made) > 0 {
		return s.planAndApply(ctx, life, "")
	}
	result, err := s.build(ctx, life, provider.ActionApply, "", provider.Secret{})
	return s.applied(life, result, err)
}

// nothingDone says that an apply was refused because of how things are, before it began. That may be a plan that is no longer
// what would happen, or a lock.
func (s *session) nothingDone(result provider.BuildResult, err error) bool {
	return provider.KindOf(err) == provider.Conflict && len(result.Changes) == 0 && !s.events.began()
}

// planAgain finds out which of the two it was: a plan that comes out as before was not what was in the way.
func (s *session) planAgain(ctx, life context.Context, refused error) (run.Outcome, error) {
	plan, err := s.build(ctx, life, provider.ActionPlan, "", provider.Secret{})
	if err != nil || plan.PlanDigest == s.order.Digest {
		return s.outcome(plan), refused
	}
	return s.changed(life, plan, s.red.text(refused.Error()))
}

// expired is how an apply ends whose plan is too old, also where a new one comes out the same: nobody has looked at it since.
func (s *session) expired(ctx, life context.Context) (run.Outcome, error) {
	plan, err := s.build(ctx, life, provider.ActionPlan, "", provider.Secret{})
	if err != nil {
		return s.outcome(plan), err
	}
	return s.changed(life, plan, "the plan that was asked for expired before its run began")
}

// changed is how an apply ends whose plan is no longer what would happen: with a new plan.
func (s *session) changed(life context.Context, plan provider.BuildResult, why string) (run.Outcome, error) {
	if err := s.keepPlan(life, &plan); err != nil {
		return s.outcome(plan), err
	}
	outcome := s.planned(plan)
	outcome.Failure = &run.Failure{Reason: v1alpha1.ReasonPlanChanged, Message: why + ". Nothing was done; a new plan was made: look at it and apply that"}
	return outcome, nil
}

// planAndApply plans, and applies what it has planned if nobody needs to be asked. moved is what to say where a plan that was asked for
// is another now.
func (s *session) planAndApply(ctx, life context.Context, moved string) (run.Outcome, error) {
	plan, err := s.build(ctx, life, provider.ActionPlan, "", provider.Secret{})
	if err != nil {
		return s.outcome(plan), err
	}
	if s.order.Digest != "" && plan.PlanDigest != s.order.Digest {
		return s.changed(life, plan, moved)
	}
	if !s.approved(plan.PlanDigest, plan.Changes) {
		if err := s.keepPlan(life, &plan); err != nil {
			return s.outcome(plan), err
		}
		return s.notApproved(plan.PlanDigest, plan.Changes), nil
	}
	result, err := s.build(ctx, life, provider.ActionApply, plan.PlanDigest, plan.Plan)
	return s.applied(life, result, err)
}

// applied is how an apply ends that has begun. Its plan is no longer of use, and holds sensitive values.
func (s *session) applied(life context.Context, result provider.BuildResult, failed error) (run.Outcome, error) {
	if failed == nil || len(result.Changes) > 0 {
		if err := s.keepPlan(life, nil); err != nil && failed == nil {
			s.out.say("the plan that was applied could not be removed: " + err.Error())
		}
	}
	return s.outcome(result), failed
}

// planned is how a plan ends.
func (s *session) planned(plan provider.BuildResult) run.Outcome {
	outcome := s.outcome(plan)
	outcome.Digest, outcome.Guarded = plan.PlanDigest, len(s.loses(plan.Changes)) > 0
	return outcome
}

// outcome is what a build answered.
func (s *session) outcome(b provider.BuildResult) run.Outcome {
	return run.Outcome{Changes: b.Changes, Outputs: b.Outputs, Resources: b.Resources, LeftBehind: b.LeftBehind}
}
