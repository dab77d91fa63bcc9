// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

// setState is what OpenTofu writes.
func (s *site) setState(key string) {
	s.t.Helper()
	var state corev1.Secret
	if !exists(s.t, &state, s.names().State()) {
		s.t.Fatal("the state is not there")
	}
	state.Data = map[string][]byte{key: []byte("x")}
	if err := env.Client.Update(s.t.Context(), &state); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) done() error {
	if !s.teardown.Done {
		return fmt.Errorf("the destroy is not done: %+v", s.teardown.Run)
	}
	return nil
}

// TestNothingToDestroy is which Clusters are let go without a Job.
func TestNothingToDestroy(t *testing.T) {
	t.Parallel()
	planned := func(s *site) { s.complete(run.Outcome{Digest: digestA}) }
	failed := func(s *site) {
		s.change(apply)
		s.complete(failure(v1alpha1.ReasonCloudUnavailable, "The provider can't be had."))
	}
	cases := map[string]struct {
		reason  string
		before  func(*site)
		nothing bool
	}{
		"no run":         {"nothing ever ran", func(*site) {}, true},
		"a plan":         {"a plan makes nothing", planned, true},
		"failed at init": {"it told its outcome, and neither state nor ledger has anything", failed, true},
		"a state":        {"it lists things", func(s *site) { failed(s); s.setState("tfstate") }, false},
		"state in parts": {"it lists many things", func(s *site) { failed(s); s.setState("parts") }, false},
		"a ledger":       {"the state was lost and the ledger knows", func(s *site) { failed(s); s.setLedger(run.Ledger{Made: []provider.Resource{{ID: "n-1"}}}) }, false},
		"left behind":    {"somebody has to see to it", func(s *site) { failed(s); s.setLedger(run.Ledger{LeftBehind: []provider.Resource{{ID: "n-1"}}}) }, false},
		"a plan lost":    {"a plan makes nothing, however it ended", func(s *site) { s.begin(); s.setPod(terminated("tofu", "Error", 137)); s.until(s.over) }, true},
		"unsettled plan": {"the ledger names the plan as running", func(s *site) {
			s.begin()
			s.setLedger(run.Ledger{Running: s.turn.Run.Record})
			s.setPod(terminated("tofu", "Error", 137))
			s.until(s.over)
		}, true},
		"unsettled":     {"it told its end, and nothing was begun", func(s *site) { failed(s); s.setLedger(run.Ledger{Unsettled: true}) }, true},
		"begun":         {"an apply began to change something", func(s *site) { failed(s); s.setLedger(run.Ledger{Order: &run.Order{}}) }, false},
		"an apply lost": {"nobody knows what it made", func(s *site) { s.change(apply); s.begin(); s.setPod(terminated("tofu", "Error", 137)); s.until(s.over) }, false},
		"an apply":      {"it succeeded", func(s *site) { s.change(apply); s.complete(run.Outcome{}) }, false},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "nothing-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id)
			tc.before(s)
			jobs := len(s.jobs())
			teardown := s.destroy(false)
			if teardown.Nothing != tc.nothing || teardown.Done != tc.nothing {
				t.Errorf("nothing %t, done %t, want both %t: %s", teardown.Nothing, teardown.Done, tc.nothing, tc.reason)
			}
			if made := len(s.jobs()) - jobs; (made == 0) != tc.nothing {
				t.Errorf("%d Jobs are made for the destroy: %s", made, tc.reason)
			}
		})
	}
}

// TestDestroy waits for a run that goes, fails, is asked for again, and forgets all at its end (H06, D07).
func TestDestroy(t *testing.T) {
	t.Parallel()
	s := newSite(t, "ends", apply)
	s.begin()
	s.destroy(false)
	if len(s.jobs()) != 1 || s.teardown.Run.Phase != v1alpha1.RunRunning || s.teardown.Done || s.teardown.Failed {
		t.Fatalf("the apply is not waited for: %v, %+v", s.jobNames(), s.teardown)
	}
	s.end(run.Outcome{Changes: changes(provider.OperationCreate)})
	s.setState("tfstate")
	s.setLedger(run.Ledger{Made: []provider.Resource{{ID: "n-1"}}, Applied: &run.Outcome{}})
	// What the Cluster asks for by now was never applied, and its new region has nothing.
	s.change(func(c *v1alpha1.Cluster) { set("region", "r2")(c); set("nope", "1")(c) })
	s.untilDestroy(false, s.job("tofu-ends-2-destroy"))
	order := s.order()
	if string(order.Variables["region"]) != `"r1"` || order.Action != provider.ActionDestroy || order.Cluster.Region != "r1" {
		t.Errorf("the destroy goes by %+v, want what was applied", order)
	}
	s.setPod(phase(corev1.PodRunning))
	s.end(failure(v1alpha1.ReasonProviderFailed, "DependencyViolation: The subnet 'subnet-0aaa' has dependencies"))
	s.untilDestroy(false, s.is(v1alpha1.RunFailed, v1alpha1.ReasonProviderFailed, "subnet-0aaa"))
	for range 3 {
		s.destroy(false)
	}
	if !s.teardown.Failed || s.teardown.Done || s.teardown.Run.Attempt != 1 {
		t.Fatalf("a destroy that failed is %+v", s.teardown)
	}
	s.untilDestroy(true, func() error {
		if s.teardown.Run.Attempt != 2 {
			return errors.New("it is not tried again")
		}
		return s.job("tofu-ends-2-destroy")()
	})
	s.setPod(phase(corev1.PodRunning))
	s.end(run.Outcome{Changes: changes(provider.OperationDelete)})
	s.untilDestroy(false, s.done)
	if s.turn.Built != nil || s.turn.Applied != nil || s.teardown.Nothing {
		t.Errorf("after the destroy something is built: %+v", s.teardown)
	}
	s.forget()
}

// forget has the operator forget, and looks that all is gone but what tells of the runs.
func (s *site) forget() {
	s.t.Helper()
	for range 2 {
		if err := s.builder.Forget(s.t.Context(), s.cluster()); err != nil {
			s.t.Fatal(err)
		}
	}
	n := s.names()
	for name, obj := range map[string]client.Object{
		n.State(): &corev1.Secret{}, n.AllParts()[0]: &corev1.Secret{}, n.Plan(): &corev1.Secret{}, n.Lease(): &coordinationv1.Lease{},
		n.Ledger(): &corev1.ConfigMap{}, n.Account(): &rbacv1.Role{},
	} {
		if exists(s.t, obj, name) {
			s.t.Errorf("%T %s is still there", obj, name)
		}
	}
	if exists(s.t, &rbacv1.RoleBinding{}, n.Account()) || exists(s.t, &corev1.ServiceAccount{}, n.Account()) {
		s.t.Error("the runs' rights are still there")
	}
	var records corev1.ConfigMapList
	err := env.Client.List(s.t.Context(), &records, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: s.name})
	if err != nil || len(records.Items) == 0 {
		s.t.Fatalf("%d records stay, %v", len(records.Items), err)
	}
	for _, r := range records.Items {
		if len(r.OwnerReferences) != 1 || r.OwnerReferences[0].Kind != "Job" {
			s.t.Errorf("record %s does not go with a Job: %+v", r.Name, r.OwnerReferences)
		}
	}
	for _, job := range s.jobs() {
		if *job.Spec.TTLSecondsAfterFinished != 604800 || len(job.OwnerReferences) > 0 {
			s.t.Errorf("Job %s does not stay for its week", job.Name)
		}
	}
}

// TestDestroyWaits is for credentials, and is no failure.
func TestDestroyWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t, "destroy-waits", apply)
	s.complete(run.Outcome{})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.name)}}
	if err := env.Client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s.destroy(false)
	if err := s.is(v1alpha1.RunWaitingForCredentials, v1alpha1.ReasonWaitingForCredentials, "kubectl -n infrared create secret")(); err != nil || s.teardown.Failed {
		t.Errorf("failed %t: %v", s.teardown.Failed, err)
	}
	s.credentials("FAKE_TOKEN", "FAKE_ENDPOINT")
	s.untilDestroy(false, s.job("tofu-destroy-waits-1-destroy"))
}

// TestDestroyByANewerPlugin still destroys what an older one has built.
func TestDestroyByANewerPlugin(t *testing.T) {
	t.Parallel()
	s := newSite(t, "newer", apply, set("note", "x"))
	s.complete(run.Outcome{})
	s.catalogue.change(func(f *build.Found) {
		f.Facts.Version = "v2.0.0"
		f.Template = &provider.Template{Name: "fake/cluster", Variables: []byte(strings.ReplaceAll(schema, `"note"`, `"remark"`))}
	})
	s.untilDestroy(false, s.job("tofu-newer-1-destroy"))
	order := s.order()
	if _, found := order.Variables["note"]; found || order.Version != "v2.0.0" || string(order.Variables["region"]) != `"r1"` {
		t.Errorf("the order is %+v", order)
	}
}

// TestSameNameAgain makes a Cluster anew under the name of one that is gone (H06).
func TestSameNameAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, "twice", apply)
	s.complete(run.Outcome{})
	s.setState("tfstate")
	old, oldJob := s.names(), s.jobs()[0]
	oldRecord := s.turn.Run.Record
	if err := env.Client.Delete(t.Context(), s.cluster(), client.PropagationPolicy("Background")); err != nil && !strings.Contains(err.Error(), "confirmed") {
		t.Fatal(err)
	}
	s.remove()
	s.create(apply)
	s.begin()
	if s.turn.Run.Job != oldJob.Name || s.turn.Run.Attempt != 1 || s.turn.Built != nil || s.turn.Applied != nil {
		t.Errorf("the new Cluster begins with %+v", s.turn)
	}
	if jobs := s.jobs(); len(jobs) != 1 || jobs[0].UID == oldJob.UID {
		t.Errorf("the old Job is taken for the new one's: %v", s.jobNames())
	}
	if s.turn.Run.Record == oldRecord || s.record(oldRecord).BinaryData[run.KeyOutcome] == nil {
		t.Error("the old run's record is not kept")
	}
	if now := s.names(); now.State() == old.State() || !exists(t, &corev1.Secret{}, old.State()) {
		t.Error("the old state is not left alone")
	}
	if s.order().Interrupted {
		t.Error("the new Cluster looks for what an old one left")
	}
	if running, err := s.builder.Stop(t.Context(), s.cluster()); err != nil || !running {
		t.Errorf("the run does not count as going: %v", err)
	}
}

// remove takes the Cluster away, as the end of a deletion would.
func (s *site) remove() {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		var list v1alpha1.ClusterList
		if err := env.Client.List(s.t.Context(), &list); err != nil {
			return err
		}
		i := slices.IndexFunc(list.Items, func(c v1alpha1.Cluster) bool { return c.Name == s.name })
		if i < 0 {
			return nil
		}
		c := &list.Items[i]
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, v1alpha1.AnnotationConfirmDelete, s.name)
		if err := env.Client.Update(s.t.Context(), c); err != nil {
			return err
		}
		return errors.Join(env.Client.Delete(s.t.Context(), c), errors.New("it was just deleted"))
	})
	// The credentials that an earlier Cluster used are not another's.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.name)}}
	if err := env.Client.Delete(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
	s.credentials("FAKE_TOKEN", "FAKE_ENDPOINT")
}

// TestEarlierRunStillGoes waits for the Job of an earlier Cluster of the name.
func TestEarlierRunStillGoes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "earlier")
	s.begin()
	s.remove()
	s.create()
	for range 3 {
		s.look()
	}
	if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonBusy, "Job tofu-earlier-1-plan of an earlier Cluster")(); err != nil {
		t.Error(err)
	}
	var pods corev1.PodList
	if err := env.Client.List(t.Context(), &pods, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: s.name}); err != nil {
		t.Fatal(err)
	}
	pods.Items[0].Status.Phase = corev1.PodSucceeded
	if err := env.Client.Status().Update(t.Context(), &pods.Items[0]); err != nil {
		t.Fatal(err)
	}
	s.begin()
}

// TestForeignObjects has somebody else's objects under our names.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	other := map[string]string{v1alpha1.LabelCluster: "other", v1alpha1.LabelIncarnation: "0e984725-c51c-4bf4-9960-e1c80e27aba0"}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name, Labels: other}
	}
	cases := map[string]struct {
		obj   func(run.Names, string) client.Object
		words []string
	}{
		"state":  {func(n run.Names, _ string) client.Object { return &corev1.Secret{ObjectMeta: meta(n.State())} }, words("Secret infrared/tfstate-default-", "belongs to Cluster other")},
		"lease":  {func(n run.Names, _ string) client.Object { return &coordinationv1.Lease{ObjectMeta: meta(n.Lease())} }, words("Lease infrared/lock-", "belongs to Cluster other")},
		"ledger": {func(n run.Names, _ string) client.Object { return &corev1.ConfigMap{ObjectMeta: meta(n.Ledger())} }, words("ConfigMap infrared/infrared-ledger-")},
		"role":   {func(n run.Names, _ string) client.Object { return &rbacv1.Role{ObjectMeta: meta(n.Account())} }, words("Role infrared/infrared-build-")},
		"record": {func(_ run.Names, record string) client.Object { return &corev1.ConfigMap{ObjectMeta: meta(record)} }, words("ConfigMap infrared/tofu-foreign-")},
		"nobody's": {func(n run.Names, _ string) client.Object {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: n.Plan()}}
		}, words("Secret infrared/infrared-plan-", "Infrared has not made it")},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "foreign-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id)
			record := run.RecordName("tofu-"+id+"-1-plan", s.cluster().Spec.Incarnation, 1)
			obj := tc.obj(s.names(), record)
			if err := env.Client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			before := obj.GetResourceVersion()
			s.look()
			if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStartRefused, tc.words...)(); err != nil {
				t.Error(err)
			}
			if err := s.builder.Forget(t.Context(), s.cluster()); err != nil {
				t.Error(err)
			}
			if !exists(t, obj, obj.GetName()) || obj.GetResourceVersion() != before {
				t.Error("somebody else's object is changed")
			}
			if err := env.Client.Delete(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			s.begin()
		})
	}
}

// TestForeignJob has somebody's own Job under the name of a run.
func TestForeignJob(t *testing.T) {
	t.Parallel()
	s := newSite(t, "own-job")
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "x", Image: "x"}}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "tofu-own-job-1-plan"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
	}
	if err := env.Client.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.look()
	}
	if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStartRefused, "Job infrared/tofu-own-job-1-plan", "has not made it")(); err != nil {
		t.Error(err)
	}
}
