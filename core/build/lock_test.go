// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
)

const lockID = "f2ab685b-0000-0000-0000-000000000001"

// lock has somebody hold OpenTofu's lock.
func (s *site) lock(who string, stamps map[string]string) {
	s.t.Helper()
	var lease coordinationv1.Lease
	if !exists(s.t, &lease, s.names().Lease()) {
		s.t.Fatal("the Lease is not there")
	}
	lease.Spec.HolderIdentity = ptr.To(lockID)
	lease.Annotations = map[string]string{"app.terraform.io/lock-info": `{"ID":"` + lockID + `","Operation":"OperationTypeApply","Who":"` + who + `"}`}
	for key, value := range stamps {
		lease.Annotations[key] = value
	}
	if err := env.Client.Update(s.t.Context(), &lease); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) locked() bool {
	s.t.Helper()
	var lease coordinationv1.Lease
	return exists(s.t, &lease, s.names().Lease()) && ptr.Deref(lease.Spec.HolderIdentity, "") != ""
}

// TestLocks is whose lock is released (D01). The holder is the pod of an apply that told no outcome.
func TestLocks(t *testing.T) {
	t.Parallel()
	stamps := func(pod *corev1.Pod, node string) map[string]string {
		return map[string]string{run.StampPod: pod.Name, run.StampPodUID: string(pod.UID), run.StampNode: node, run.StampLock: lockID}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "there"}}
	if err := env.Client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason   string
		stamps   func(*corev1.Pod) map[string]string
		podGone  bool
		who      string
		released bool
		words    []string
	}{
		"pod has failed": {"nothing of it can run", func(p *corev1.Pod) map[string]string { return stamps(p, "there") }, false, "", true, nil},
		"no stamps":      {"OpenTofu says on which host it was, which is the pod's name", nil, false, "", true, nil},
		"pod gone, node there": {"it may have been taken off by force, and run on", func(p *corev1.Pod) map[string]string { return stamps(p, "there") }, true, "", false,
			words("pod x is gone, but its node there is there")},
		"pod and node gone": {"there is nothing left to run it", func(p *corev1.Pod) map[string]string { return stamps(p, "gone") }, true, "", true, nil},
		"pod gone, no node": {"nobody knows where it was", nil, true, "", false, words("pod x is gone, and nothing tells which node")},
		"a person's":        {"somebody runs OpenTofu by hand", nil, false, "ann@laptop", false, words("ann@laptop", "pod laptop is gone")},
		"stale stamps": {"they are of the lock before", func(p *corev1.Pod) map[string]string {
			old := stamps(p, "there")
			old[run.StampLock] = "another"
			return old
		}, false, "ann@laptop", false, words("ann@laptop")},
		"another pod of the name": {"that one is gone, and its node is there", func(p *corev1.Pod) map[string]string {
			other := stamps(p, "there")
			other[run.StampPodUID] = "another"
			return other
		}, false, "", false, words("is gone, but its node")},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "lock-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, apply)
			s.begin()
			pod := s.pod()
			who := tc.who
			if who == "" {
				who = "root@" + pod.Name
			}
			var held map[string]string
			if tc.stamps != nil {
				held = tc.stamps(pod)
			}
			s.lock(who, held)
			s.setPod(phase(corev1.PodFailed))
			if tc.podGone {
				// The Job controller lets go of the pod first.
				s.until(func() error { return nil })
			}
			s.until(s.over)
			if tc.podGone {
				s.unlockedAgain(who, held)
				if err := env.Client.Delete(t.Context(), s.pod()); err != nil {
					t.Fatal(err)
				}
			}
			s.change(again)
			if tc.released {
				s.begin()
				if s.locked() {
					t.Errorf("the lock is still held: %s", tc.reason)
				}
				return
			}
			s.look()
			for i := range tc.words {
				tc.words[i] = strings.ReplaceAll(tc.words[i], "pod x", "pod "+pod.Name)
			}
			release := "kubectl annotate cluster " + id + " infrared.darkshift.io/release-lock=" + lockID
			if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStateLocked, append(tc.words, lockID, who, release)...)(); err != nil {
				t.Errorf("%v (%s)", err, tc.reason)
			}
			if len(s.jobs()) != 1 || !s.locked() {
				t.Errorf("Jobs %v, locked %t", s.jobNames(), s.locked())
			}
			s.change(func(c *v1alpha1.Cluster) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.AnnotationReleaseLock, "another-lock")
			})
			if s.look(); !s.locked() {
				t.Error("a person's word on another lock releases this one")
			}
			s.change(func(c *v1alpha1.Cluster) {
				metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.AnnotationReleaseLock, lockID)
			})
			s.begin()
			if s.locked() {
				t.Error("a person's word does not release the lock")
			}
		})
	}
}

// unlockedAgain puts the lock back that the end of the run may have released.
func (s *site) unlockedAgain(who string, stamps map[string]string) {
	s.t.Helper()
	s.lock(who, stamps)
}

// TestLockOfAPodThatIsCutOff never goes, and nothing is begun beside it (D01, second part).
func TestLockOfAPodThatIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, "cut-off", apply)
	s.begin()
	pod := s.pod()
	pod.Spec.NodeName = "far-away"
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: "far-away"}}
	if err := env.Client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "far-away"}}); err != nil {
		t.Fatal(err)
	}
	if err := env.Client.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
		t.Fatal(err)
	}
	s.lock("root@"+pod.Name, map[string]string{run.StampPod: pod.Name, run.StampPodUID: string(pod.UID), run.StampNode: "far-away"})
	s.setPod(phase(corev1.PodUnknown))
	s.change(func(c *v1alpha1.Cluster) {
		again(c)
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.AnnotationReleaseLock, lockID)
	})
	for range 3 {
		s.destroy(true)
		s.look()
	}
	if err := s.is(v1alpha1.RunRunning, "", "Node far-away does not answer", "kubectl delete node far-away")(); err != nil {
		t.Error(err)
	}
	if len(s.jobs()) != 1 || !s.locked() {
		t.Errorf("Jobs %v, locked %t: nobody knows that the first has ended", s.jobNames(), s.locked())
	}
	if running, err := s.builder.Stop(t.Context(), s.cluster()); err != nil || !running {
		t.Errorf("a run that may go on counts as ended: %v", err)
	}
}

// TestLockMetInARun is one that somebody took after the run had begun.
func TestLockMetInARun(t *testing.T) {
	t.Parallel()
	s := newSite(t, "met")
	s.begin()
	s.lock("ann@laptop", nil)
	s.end(failure(v1alpha1.ReasonBusy, "OpenTofu can't get the lock of its state."))
	s.until(s.is(v1alpha1.RunFailed, v1alpha1.ReasonStateLocked, lockID, "ann@laptop"))
	if !s.locked() {
		t.Error("a person's lock is released")
	}
}
