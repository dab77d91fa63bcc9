// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

// errKilled is what an operator's last write comes to.
var errKilled = errors.New("the operator was killed here")

// mortal is a client whose operator dies before or after its nth write, and writes nothing from then on.
type mortal struct {
	client.Client
	mu    sync.Mutex
	nth   int // zero: it lives
	after bool
	// writes are those that were made, in order; first is whether each was the first of its turn, before which the status was written.
	writes []string
	first  []bool
	turned bool
	dead   bool
}

func (m *mortal) write(what string, obj client.Object, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	m.writes, m.first, m.turned = append(m.writes, fmt.Sprintf("%s %T", what, obj)), append(m.first, m.turned), false
	dies := len(m.writes) == m.nth
	m.dead = dies
	if dies && !m.after {
		return errKilled
	}
	err := do()
	if dies {
		return errKilled
	}
	return err
}

// managedBy keeps the Job controller off the Jobs of these lives: there are hundreds of them, and a hand ends them at once.
const managedBy = "tests.darkshift.io/hand"

func (m *mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if job, ok := obj.(*batchv1.Job); ok {
		job.Spec.ManagedBy = ptr.To(managedBy)
	}
	return m.write("create", obj, func() error { return m.Client.Create(ctx, obj, opts...) })
}

func (m *mortal) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	return m.write("update", obj, func() error { return m.Client.Update(ctx, obj, opts...) })
}

func (m *mortal) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return m.write("patch", obj, func() error { return m.Client.Patch(ctx, obj, patch, opts...) })
}

func (m *mortal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	return m.write("delete", obj, func() error { return m.Client.Delete(ctx, obj, opts...) })
}

// endJob has the newest run tell an outcome, and its Job end.
func (s *site) endJob(outcome run.Outcome) {
	s.t.Helper()
	outcome.EndedAt = s.clock.Now()
	s.tell(run.KeyOutcome, outcome)
	testenv.Eventually(s.t, func() error {
		var job batchv1.Job
		if err := env.Client.Get(s.t.Context(), types.NamespacedName{Namespace: v1alpha1.Namespace, Name: s.turn.Run.Job}, &job); err != nil {
			return err
		}
		now := metav1.Now()
		job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue}, {Type: batchv1.JobComplete, Status: corev1.ConditionTrue},
		}}
		return env.Client.Status().Update(s.t.Context(), &job)
	})
}

// life is a Cluster from its first plan to the end of its deletion, by an operator that may die once.
func life(t *testing.T, name string, m *mortal) {
	t.Helper()
	s := newSite(t, name)
	s.builder = s.newBuilder(m)
	// turn is a turn of the operator that goes, or else of the one that comes after it. The status is lost with a turn.
	turn := func(look func(*v1alpha1.Cluster) error) {
		t.Helper()
		m.turned = true
		err := look(s.cluster())
		if errors.Is(err, errKilled) {
			s.builder = s.newBuilder(&mortal{Client: operatorClient(t)})
			err = look(s.cluster())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	await := func(what string, look func(*v1alpha1.Cluster) error, check func() error) {
		t.Helper()
		testenv.Eventually(t, func() error {
			turn(look)
			if err := check(); err != nil {
				return fmt.Errorf("waiting for %s: %w", what, err)
			}
			return nil
		})
	}
	advance := func(c *v1alpha1.Cluster) error {
		got, err := s.builder.Advance(t.Context(), c)
		if err == nil {
			s.write(c, got)
		}
		return err
	}
	destroy := func(c *v1alpha1.Cluster) error {
		got, err := s.builder.Destroy(t.Context(), c, false)
		if err == nil {
			s.teardown = got
			s.write(c, got.Turn)
		}
		return err
	}
	await("the plan to go", advance, s.is(v1alpha1.RunRunning, ""))
	s.savePlan()
	s.endJob(run.Outcome{Digest: digestA, Changes: changes(provider.OperationCreate)})
	await("the plan", advance, s.is(v1alpha1.RunSucceeded, ""))

	s.change(apply)
	await("the apply to go", advance, s.is(v1alpha1.RunRunning, ""))
	if got := s.order().Digest; got != digestA {
		t.Errorf("the apply is of plan %q", got)
	}
	s.setState("tfstate")
	s.endJob(run.Outcome{Changes: changes(provider.OperationCreate)})
	await("the apply", advance, s.is(v1alpha1.RunSucceeded, ""))
	if s.turn.Built == nil || s.turn.Plan != nil || s.savedPlan() {
		t.Errorf("built %+v, plan %+v, saved %t", s.turn.Built, s.turn.Plan, s.savedPlan())
	}

	await("the destroy to go", destroy, s.is(v1alpha1.RunRunning, ""))
	s.endJob(run.Outcome{Changes: changes(provider.OperationDelete)})
	await("the destroy", destroy, s.done)

	want := []string{"tofu-" + name + "-1-plan", "tofu-" + name + "-2-apply", "tofu-" + name + "-2-destroy"}
	if got := s.jobNames(); !slices.Equal(got, want) {
		t.Errorf("the Jobs are %v, want %v", got, want)
	}
	for _, job := range s.jobs() {
		if s.record(job.Annotations["infrared.darkshift.io/record"]).Annotations["infrared.darkshift.io/ended"] != "Succeeded" {
			t.Errorf("the record of %s is not marked as ended", job.Name)
		}
	}
	var records corev1.ConfigMapList
	err := env.Client.List(t.Context(), &records, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: name, v1alpha1.LabelBuild: "record"})
	if err != nil || len(records.Items) != len(want) {
		t.Errorf("%d records of %d runs, %v", len(records.Items), len(want), err)
	}
	turn(func(c *v1alpha1.Cluster) error { return s.builder.Forget(t.Context(), c) })
	s.builder = s.newBuilder(operatorClient(t))
	s.forget()
}

// TestKilledBetweenAnyTwoWrites kills the operator after each of its writes, and before each that is the first since a write of the status.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	whole := &mortal{Client: operatorClient(t)}
	life(t, "unkilled", whole)
	seen := map[string]int{}
	for _, what := range whole.writes {
		seen[what]++
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%3d × %s", seen[what], what)
	}
	for nth := range len(whole.writes) {
		for _, after := range []bool{false, true} {
			if !after && !whole.first[nth] {
				continue // it is the same as after the write before
			}
			name := fmt.Sprintf("killed-%d-%t", nth+1, after)
			t.Run(fmt.Sprintf("%03d %s after=%t", nth+1, whole.writes[nth], after), func(t *testing.T) {
				t.Parallel()
				m := &mortal{Client: operatorClient(t), nth: nth + 1, after: after}
				life(t, name, m)
				if !m.dead {
					t.Errorf("the operator was not killed: it made %d writes", len(m.writes))
				}
			})
		}
	}
}
