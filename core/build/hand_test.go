// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
)

// What follows is the hand that plays kubelet and infrared-build.

// pod is the pod that the Job controller made for the newest run.
func (s *site) pod() *corev1.Pod {
	s.t.Helper()
	var found *corev1.Pod
	testenv.Eventually(s.t, func() error {
		var pods corev1.PodList
		err := env.Client.List(s.t.Context(), &pods, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: s.name})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if pods.Items[i].Annotations["infrared.darkshift.io/record"] == s.turn.Run.Record {
				found = &pods.Items[i]
				return nil
			}
		}
		return fmt.Errorf("no pod of %s is there", s.turn.Run.Record)
	})
	return found
}

// setPod is what a kubelet would say of the newest run's pod.
func (s *site) setPod(change func(*corev1.PodStatus)) {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		pod := s.pod()
		change(&pod.Status)
		return env.Client.Status().Update(s.t.Context(), pod)
	})
}

// phase sets a pod's phase.
func phase(p corev1.PodPhase) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) { s.Phase = p }
}

// tell is what infrared-build writes into the newest run's record.
func (s *site) tell(key string, value any) {
	s.t.Helper()
	packed, err := run.Pack(value)
	if err != nil {
		s.t.Fatal(err)
	}
	testenv.Eventually(s.t, func() error {
		stored := s.record(s.turn.Run.Record)
		stored.BinaryData[key] = packed
		return env.Client.Update(s.t.Context(), stored)
	})
}

// setLedger is what infrared-build writes into the ledger.
func (s *site) setLedger(ledger run.Ledger) {
	s.t.Helper()
	packed, err := run.Pack(ledger)
	if err != nil {
		s.t.Fatal(err)
	}
	testenv.Eventually(s.t, func() error {
		stored := s.record(s.names().Ledger())
		stored.BinaryData = map[string][]byte{run.KeyLedger: packed}
		return env.Client.Update(s.t.Context(), stored)
	})
}

func (s *site) names() run.Names {
	s.t.Helper()
	return run.NamesOf(s.name, s.cluster().Spec.Incarnation)
}

// begin waits until the newest run goes, and has its pod run.
func (s *site) begin() {
	s.t.Helper()
	s.until(s.is(v1alpha1.RunRunning, ""))
	s.setPod(phase(corev1.PodRunning))
}

// end has the newest run tell an outcome and its pod end.
func (s *site) end(outcome run.Outcome) {
	s.t.Helper()
	if outcome.EndedAt.IsZero() {
		outcome.EndedAt = s.clock.Now()
	}
	s.tell(run.KeyOutcome, outcome)
	p := corev1.PodSucceeded
	if outcome.Failure != nil {
		p = corev1.PodFailed
	}
	s.setPod(phase(p))
}

// complete makes one whole run that comes to an outcome.
func (s *site) complete(outcome run.Outcome) {
	s.t.Helper()
	s.begin()
	s.end(outcome)
	s.until(s.over)
}

func (s *site) over() error {
	if s.turn.Run == nil || s.turn.Run.Phase != v1alpha1.RunSucceeded && s.turn.Run.Phase != v1alpha1.RunFailed {
		return fmt.Errorf("the run has not ended: %+v", s.turn.Run)
	}
	return nil
}
