// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	ofrun "darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/deletion"
	"darkshift.io/infrared/internal/testenv"
)

// life is the life of one Cluster.
type life struct {
	w    *world
	name string
	edge string
	// variables of the module beside control_plane.
	variables map[string]string

	incarnation string
	// accounted is the record of the run that account was taken of last.
	accounted string
	// failures counts the failed runs since the newest kill, killsThen the kills at the last of them.
	failures, killsThen int
	// tokens were granted, and are secret.
	tokens []string
	// again is how many runs were begun again, forced the record of the destroy that was.
	again  int
	forced string
	// digest is that of the newest plan, againThen is again when it was made.
	digest    string
	againThen int
	// left is how many things the life left behind, and said so.
	left int
}

// newLife is a life that has not begun.
func (w *world) newLife(number int, edge string) *life {
	return &life{w: w, name: fmt.Sprintf("life%d-%d", os.Getpid(), number), edge: edge}
}

// step is one thing that a person does, and waits for.
type step struct {
	name string
	do   func(context.Context) error
}

func (l *life) steps() []step {
	return []step{
		{"create", l.create},
		{"plan", func(ctx context.Context) error { return l.run(ctx, v1alpha1.ActionPlan, "2") }},
		{"apply", func(ctx context.Context) error { return l.run(ctx, v1alpha1.ActionApply, "2") }},
		{"connect", l.connected},
		{"plan a change", func(ctx context.Context) error { return l.run(ctx, v1alpha1.ActionPlan, "3") }},
		{"apply the change", func(ctx context.Context) error { return l.run(ctx, v1alpha1.ActionApply, "3") }},
		{"destroy", l.destroy},
		{"nothing is left", l.nothingLeft},
	}
}

// live lives the whole life.
func (l *life) live(ctx context.Context) error {
	for _, s := range l.steps() {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s, %s: %w", lifeNumber(l.name), s.name, err)
		}
	}
	return nil
}

func (l *life) cluster(ctx context.Context) (*v1alpha1.Cluster, error) {
	var c v1alpha1.Cluster
	err := l.w.Client.Get(ctx, types.NamespacedName{Name: l.name}, &c)
	return &c, err
}

// create makes the Cluster, which asks for a plan, and the credentials.
func (l *life) create(ctx context.Context) error {
	credentials := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(l.name)},
		Data:       map[string][]byte{"FAKE_ENDPOINT": []byte(l.w.cloudEndpoint), "FAKE_TOKEN": []byte(cloudToken)},
	}
	if err := l.w.Client.Create(ctx, credentials); err != nil {
		return err
	}
	variables := map[string]v1alpha1.VariableValue{"node_count": "2", "control_plane": v1alpha1.VariableValue(l.edge)}
	for name, value := range l.variables {
		variables[name] = v1alpha1.VariableValue(value)
	}
	return l.w.Client.Create(ctx, &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: l.name},
		Spec: v1alpha1.ClusterSpec{
			Provider: "fake", Template: &v1alpha1.Template{Module: "fake/cluster", Version: "v0.1.0"},
			Provision: &v1alpha1.Provision{Action: v1alpha1.ActionPlan, Variables: variables},
		},
	})
}

// run asks for an action with so many nodes, and for another run whenever one failed, until one has succeeded.
func (l *life) run(ctx context.Context, action v1alpha1.Action, nodes string) error {
	generation, err := l.ask(ctx, fmt.Sprintf(`{"spec":{"provision":{"action":%q,"variables":{"node_count":%q}}}}`, action, nodes))
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		c, err := l.cluster(ctx)
		if err != nil {
			return err
		}
		r := c.Status.Run
		if r == nil || r.Generation < generation || r.Action != action || r.EndedAt == nil {
			return fmt.Errorf("the run is %s", inShort(r))
		}
		if err := l.account(ctx, c); err != nil {
			return err
		}
		if r.Phase == v1alpha1.RunSucceeded {
			return l.asPlanned(ctx, c)
		}
		if err := l.failed(r); err != nil {
			return err
		}
		l.again++
		generation, err = l.ask(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"provision":{"run":%d}}}`,
			v1alpha1.AnnotationApprovePlan, digestOf(c), l.again))
		if err != nil {
			return err
		}
		return fmt.Errorf("the run has failed and is begun again: %s", inShort(r))
	})
}

// asPlanned compares what an apply was told with the plan that a person has seen. One that was begun again made a plan of its own.
func (l *life) asPlanned(ctx context.Context, c *v1alpha1.Cluster) error {
	r := c.Status.Run
	if r.Action == v1alpha1.ActionPlan {
		l.digest, l.againThen = digestOf(c), l.again
		return nil
	}
	var order ofrun.Order
	var record corev1.ConfigMap
	err := l.w.Client.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: r.Record}, &record)
	if err == nil {
		err = ofrun.Unpack(record.BinaryData[ofrun.KeyOrder], &order)
	}
	if err != nil {
		return err
	}
	if l.again == l.againThen && (l.digest == "" || order.Digest != l.digest) {
		return fmt.Errorf("the plan was %q, and what was applied is %q: %w", l.digest, order.Digest, errHopeless)
	}
	return nil
}

func digestOf(c *v1alpha1.Cluster) string {
	if c.Status.Plan == nil {
		return ""
	}
	return c.Status.Plan.Digest
}

// ask changes the Cluster, and returns its new generation.
func (l *life) ask(ctx context.Context, patch string) (int64, error) {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	err := l.w.Client.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(patch)))
	return c.Generation, err
}

// mostFailures is how many runs in a row may fail after a kill: the one that was killed, and one whose plan is no longer good.
const mostFailures = 2

// errHopeless is an error that no waiting mends.
var errHopeless = errors.New("no waiting mends it")

// poll is testenv.Poll, and ends at what no waiting mends.
func poll(ctx context.Context, check func() error) error {
	var hopeless error
	err := testenv.Poll(ctx, func() error {
		err := check()
		if errors.Is(err, errHopeless) {
			hopeless, err = err, nil
		}
		return err
	})
	return errors.Join(hopeless, err)
}

// failed is nil where a run may have failed because of a kill.
func (l *life) failed(r *v1alpha1.RunStatus) error {
	kills := l.w.killer.count()
	if kills > l.killsThen {
		l.killsThen, l.failures = kills, 0
	}
	if l.failures++; l.failures > mostFailures || kills == 0 {
		return fmt.Errorf("a run has failed, and nobody was killed since the last time: %s: %w", inShort(r), errHopeless)
	}
	return nil
}

func inShort(r *v1alpha1.RunStatus) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s of generation %d, attempt %d, %s %s: %s", r.Action, r.Generation, r.Attempt, r.Phase, r.Reason, r.Message)
}

// connected waits until the built cluster is connected by a token of its own.
func (l *life) connected(ctx context.Context) error {
	return poll(ctx, func() error {
		c, err := l.cluster(ctx)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionConnected)
		if found == nil || found.Status != metav1.ConditionTrue {
			return fmt.Errorf("it is not connected: %+v", found)
		}
		if c.Status.Built == nil || c.Status.Built.TokenExpiresAt == nil {
			return fmt.Errorf("nobody knows when its token ends: %+v", c.Status.Built)
		}
		return l.noteToken(ctx)
	})
}

// destroy confirms and asks for the deletion, and for another destroy whenever one failed, until the Cluster is gone.
func (l *life) destroy(ctx context.Context) error {
	return poll(ctx, func() error {
		c, err := l.cluster(ctx)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if c.DeletionTimestamp.IsZero() {
			if _, err := l.ask(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationConfirmDelete, l.name)); err != nil {
				return err
			}
			if err := l.w.Client.Delete(ctx, c); err != nil {
				return err
			}
			return errors.New("it was asked to go just now")
		}
		if r := c.Status.Run; r != nil && r.Action == v1alpha1.ActionDestroy && r.EndedAt != nil {
			if err := l.account(ctx, c); err != nil {
				return err
			}
		}
		d := c.Status.Deletion
		if d == nil || d.Step != deletion.StepDestroy || d.State != v1alpha1.StepFailed || c.Annotations[v1alpha1.AnnotationForce] != "" {
			return fmt.Errorf("the deletion is at %+v, the run is %s", d, inShort(c.Status.Run))
		}
		if c.Status.Run.Record == l.forced {
			return fmt.Errorf("the destroy was asked for again, and has not begun: %s", inShort(c.Status.Run))
		}
		if err := l.failed(c.Status.Run); err != nil {
			return err
		}
		l.forced = c.Status.Run.Record
		_, err = l.ask(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
			v1alpha1.AnnotationForce, l.name+"/"+deletion.StepDestroy, v1alpha1.AnnotationForceBy, l.w.admin))
		if err != nil {
			return err
		}
		return errors.New("the destroy was asked for again just now")
	})
}

// limit bounds a whole life.
func limit(ctx context.Context, minutes int) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, time.Duration(minutes)*time.Minute, errors.New("the life was not over within "+strconv.Itoa(minutes)+" minutes"))
}
