// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

func terminated(name, reason string, code int32) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: name, Image: "opentofu:dev", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason},
		}}}
	}
}

// TestRunsThatDie end without an outcome (D07).
func TestRunsThatDie(t *testing.T) {
	t.Parallel()
	installFailed := func(s *corev1.PodStatus) {
		terminated("install", "Error", 1)(s)
		s.InitContainerStatuses, s.ContainerStatuses = s.ContainerStatuses, nil
	}
	evicted := func(s *corev1.PodStatus) {
		s.Phase, s.Reason, s.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
	}
	disrupted := func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC"})
	}
	cases := map[string]struct {
		reason string
		pod    func(*corev1.PodStatus)
		says   string
		words  []string
		looks  bool // the next run looks for what this one left
	}{
		"killed":      {"137 is SIGKILL", terminated("tofu", "Error", 137), v1alpha1.ReasonInterrupted, words("killed (exit code 137)", "raise spec.provision.run"), true},
		"no memory":   {"the kernel killed it", terminated("tofu", "OOMKilled", 137), v1alpha1.ReasonInterrupted, words("OOMKilled"), true},
		"evicted":     {"the node was full", evicted, v1alpha1.ReasonInterrupted, words("evicted", "low on resource"), true},
		"node gone":   {"its node was deleted", disrupted, v1alpha1.ReasonInterrupted, words("taken off its node (DeletionByPodGC)"), true},
		"no outcome":  {"infrared-build itself failed", terminated("tofu", "Error", 2), v1alpha1.ReasonInterrupted, words("exit code 2", "told no outcome"), true},
		"no install":  {"OpenTofu never began", installFailed, v1alpha1.ReasonStartRefused, words("step install failed with exit code 1", "never began"), false},
		"no program":  {"OpenTofu never began", terminated("tofu", "StartError", 128), v1alpha1.ReasonStartRefused, words("tofu could not start"), false},
		"only failed": {"nobody said why", phase(corev1.PodFailed), v1alpha1.ReasonInterrupted, words("told no outcome"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "dies-"+strings.ReplaceAll(name, " ", "-"), apply)
			s.begin()
			s.setPod(tc.pod)
			s.until(s.is(v1alpha1.RunFailed, tc.says, tc.words...))
			for range 3 {
				s.look()
			}
			if len(s.jobs()) != 1 || s.turn.Run.Attempt != 1 {
				t.Errorf("it is applied anew unasked: %v", s.jobNames())
			}
			if s.turn.Run.EndedAt == nil {
				t.Error("nothing says when it ended")
			}
			s.change(again)
			s.begin()
			if got := s.order().Interrupted; got != tc.looks {
				t.Errorf("the next run looks for what was left: %t, want %t: %s", got, tc.looks, tc.reason)
			}
			s.setLedger(run.Ledger{Applied: &run.Outcome{}})
			s.end(run.Outcome{})
			s.until(s.over)
			s.change(again)
			s.begin()
			if s.order().Interrupted {
				t.Error("a run that succeeded has looked, and the one after it looks again")
			}
		})
	}
}

// TestJobDeletedByHand takes a Job away while it goes, and its record as well.
func TestJobDeletedByHand(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		record bool
		tells  bool
		says   string
	}{
		"the Job":             {"nobody knows what it did", false, false, v1alpha1.ReasonRunLost},
		"Job and record":      {"the status alone tells of it, and must not be taken for nothing", true, false, v1alpha1.ReasonRunLost},
		"one that winds down": {"it told its outcome before its pod was gone", false, true, v1alpha1.ReasonInterrupted},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "by-hand-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, apply)
			s.begin()
			s.look()
			if tc.tells {
				s.tell(run.KeyOutcome, failure(v1alpha1.ReasonInterrupted, "Told to end."))
			}
			if tc.record {
				if err := env.Client.Delete(t.Context(), s.record(s.turn.Run.Record)); err != nil {
					t.Fatal(err)
				}
			}
			if err := env.Client.Delete(t.Context(), &s.jobs()[0], client.PropagationPolicy("Background")); err != nil {
				t.Fatal(err)
			}
			s.until(s.is(v1alpha1.RunFailed, tc.says))
			for range 3 {
				s.look()
			}
			if len(s.jobs()) > 0 {
				t.Errorf("it is applied anew unasked: %v (%s)", s.jobNames(), tc.reason)
			}
			s.change(again)
			s.begin()
			if !s.order().Interrupted {
				t.Error("the next run does not look for what was left")
			}
		})
	}
}

// TestWhyItDoesNotStart says what keeps a Job from running, while it is Running.
func TestWhyItDoesNotStart(t *testing.T) {
	t.Parallel()
	waiting := func(reason, message string) func(*corev1.PodStatus) {
		return func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "tofu", Image: "opentofu:nope", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
			}}}
		}
	}
	unplaced := func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available."}}
	}
	cases := map[string]struct {
		reason string
		pod    func(*corev1.PodStatus)
		words  []string
	}{
		"image":    {"the image's name is wrong", waiting("ImagePullBackOff", "Back-off pulling"), words("opentofu:nope", "can't be had (ImagePullBackOff)")},
		"config":   {"the Secret is gone again", waiting("CreateContainerConfigError", "secret not found"), words("Container tofu can't start", "secret not found")},
		"no place": {"no node takes it", unplaced, words("can't be placed", "0/1 nodes")},
		"not yet":  {"nothing is wrong", waiting("PodInitializing", ""), words("pod starts")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "starts-"+strings.ReplaceAll(name, " ", "-"))
			s.until(s.is(v1alpha1.RunRunning, ""))
			s.setPod(tc.pod)
			s.until(s.is(v1alpha1.RunRunning, "", tc.words...))
			if s.turn.After == 0 || s.turn.After > time.Minute {
				t.Errorf("the next look is after %s", s.turn.After)
			}
		})
	}
}

// TestPodTakesLong says so, and how to see why.
func TestPodTakesLong(t *testing.T) {
	t.Parallel()
	s := newSite(t, "long")
	s.until(s.is(v1alpha1.RunRunning, "", "pod starts"))
	s.clock.SetTime(s.clock.Now().Add(5 * time.Minute))
	s.look()
	if err := s.is(v1alpha1.RunRunning, "", "more than a minute", "kubectl -n infrared describe pod -l batch.kubernetes.io/job-name=tofu-long-1-plan")(); err != nil {
		t.Error(err)
	}
}

// TestQuota is a Job for which no pod may be made.
func TestQuota(t *testing.T) {
	t.Parallel()
	s := newSite(t, "quota")
	s.builder = s.newBuilder(&mortal{Client: operatorClient(t)}) // nobody makes pods for its Jobs
	s.until(s.is(v1alpha1.RunRunning, "", "Waits for its pod"))
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	s.look()
	if err := s.is(v1alpha1.RunRunning, "", "No pod could be made", "kubectl -n infrared describe job tofu-quota-1-plan")(); err != nil {
		t.Error(err)
	}
}

// TestPodDeleted takes the pod of a run away.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "no-pod")
	s.until(s.is(v1alpha1.RunRunning, ""))
	pod := s.pod()
	if err := env.Client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	s.until(s.is(v1alpha1.RunFailed, v1alpha1.ReasonInterrupted, "is gone, and told no outcome"))
}

// TestOutcomeInStatus bounds what stands in the status.
func TestOutcomeInStatus(t *testing.T) {
	t.Parallel()
	s := newSite(t, "bounds", apply)
	s.begin()
	var progress run.Progress
	for range 100 {
		progress.Events = append(progress.Events, run.Event{Kind: provider.EventDone, At: s.clock.Now(), Message: strings.Repeat("ä", 5000)})
	}
	s.tell(run.KeyProgress, progress)
	s.look()
	outcome := failure(v1alpha1.ReasonProviderFailed, strings.Repeat("ä", 5000))
	for range 100 {
		outcome.Changes = append(outcome.Changes, changes(provider.OperationCreate, provider.OperationDelete)...)
		outcome.LeftBehind = append(outcome.LeftBehind, provider.Resource{Kind: "disk", ID: "d-1"})
	}
	outcome.Failure.Field = "variables.region"
	s.end(outcome)
	s.until(s.over)
	r := s.turn.Run
	if len(r.Events) != 20 || len(r.Changes) != 50 || len(r.LeftBehind) != 50 || len(r.Message) > 4096 {
		t.Errorf("%d events, %d changes, %d left behind, a message of %d bytes", len(r.Events), len(r.Changes), len(r.LeftBehind), len(r.Message))
	}
	if r.Changes[0].Operation != "Delete" || r.Changes[49].Operation != "Delete" {
		t.Errorf("those that destroy something are not first: %+v", r.Changes[0])
	}
	if r.Counts.Create != 100 || r.Counts.Delete != 100 {
		t.Errorf("counts %+v are of what is shown, want of all", r.Counts)
	}
	if !strings.HasPrefix(r.Message, "spec.provision.variables.region: ") {
		t.Errorf("the message does not begin with the field: %.60s", r.Message)
	}
}
