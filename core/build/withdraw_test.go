// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// noImage is a pod whose first step has ended, and whose OpenTofu can't be pulled.
func noImage(s *corev1.PodStatus) {
	s.Phase = corev1.PodPending
	s.InitContainerStatuses = []corev1.ContainerStatus{{Name: "install", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	s.ContainerStatuses = []corev1.ContainerStatus{{Name: "tofu", Image: "opentofu:nope", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"},
	}}}
}

// TestWrongImageIsCorrected takes the Job back that can never start, once another image is asked for.
func TestWrongImageIsCorrected(t *testing.T) {
	t.Parallel()
	s := newSite(t, "corrected", apply, func(c *v1alpha1.Cluster) { c.Spec.Provision.Image = "opentofu:nope" })
	s.until(s.is(v1alpha1.RunRunning, ""))
	s.setPod(noImage)
	s.until(s.is(v1alpha1.RunRunning, "", "can't be had"))
	old := s.cluster()
	s.change(func(c *v1alpha1.Cluster) { c.Spec.Provision.Image = "opentofu:right" })
	if _, err := s.builder.Advance(t.Context(), old); err != nil || len(s.jobs()) != 1 {
		t.Fatalf("an old copy of the Cluster has the Jobs be %v, %v", s.jobNames(), err)
	}
	s.until(s.job("tofu-corrected-2-apply"))
	if got := s.jobNames(); !slices.Equal(got, []string{"tofu-corrected-2-apply"}) {
		t.Errorf("the Jobs are %v", got)
	}
	if order := s.order(); order.Image != "opentofu:right" || order.Interrupted {
		t.Errorf("the next run has image %s and looks for what never began: %t", order.Image, order.Interrupted)
	}
}

// TestStartedIsNotTakenBack leaves a run alone whose OpenTofu may have begun.
func TestStartedIsNotTakenBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, "started", apply)
	s.until(s.is(v1alpha1.RunRunning, ""))
	s.setPod(func(s *corev1.PodStatus) {
		s.Phase = corev1.PodPending
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "tofu", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	s.change(again)
	for range 3 {
		s.look()
	}
	if got := s.jobs(); len(got) != 1 || !got[0].DeletionTimestamp.IsZero() || s.turn.Run.Job != "tofu-started-1-apply" {
		t.Errorf("the Jobs are %v", s.jobNames())
	}
}

// TestDeletionWithAWrongImage ends, for nothing was ever made.
func TestDeletionWithAWrongImage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "nowhere", apply, func(c *v1alpha1.Cluster) { c.Spec.Provision.Image = "opentofu:nope" })
	s.until(s.is(v1alpha1.RunRunning, ""))
	s.setPod(noImage)
	s.untilDestroy(false, s.done)
	if !s.teardown.Nothing || len(s.jobs()) > 0 {
		t.Errorf("nothing %t, Jobs %v", s.teardown.Nothing, s.jobNames())
	}
	if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStartRefused, "Job tofu-nowhere-1-apply was taken back before OpenTofu had begun")(); err != nil {
		t.Error(err)
	}
}
