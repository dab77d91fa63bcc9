// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

var env *testenv.Env

func TestMain(m *testing.M) {
	// Cases mostly wait for the controller manager, so many can run at once on a small machine.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(testenv.Main(m, &env))
}

const (
	secretToken = "S3CR3T-token-of-the-cloud"
	digestA     = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB     = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// schema are the inputs of the template of these tests.
const schema = `{"type": "object", "required": ["region", "name", "labels"], "properties": {
	"name": {"type": "string"}, "region": {"type": "string"}, "labels": {"type": "object"}, "node_count": {"type": "number"},
	"spot": {"type": "boolean"}, "cidrs": {"type": "array", "items": {"type": "string"}}, "tags": {"type": "object"}, "note": {"type": "string"}}}`

// catalogue is what plugins there are.
type catalogue struct {
	mu    sync.Mutex
	found build.Found
}

func newCatalogue() *catalogue {
	template := provider.Template{Name: "fake/cluster", Title: "Fake", Variables: json.RawMessage(schema)}
	return &catalogue{found: build.Found{
		Provider: "fake", Binary: "fake", SHA256: strings.Repeat("0", 64), Healthy: true, Template: &template,
		Facts: provider.Facts{
			Name: "fake", Version: "v1.0.0", Templates: []provider.Template{template}, Credentials: []string{"FAKE_TOKEN", "FAKE_ENDPOINT"},
			Names: []provider.NameRule{{What: "a network", MaxLength: 30, Why: "the cloud takes 30 characters"}},
		},
	}}
}

// Template implements build.Templates.
func (s *catalogue) Template(context.Context, string, string) (build.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found, nil
}

func (s *catalogue) change(f func(*build.Found)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.found)
}

// site is one Cluster, what an operator would do with it, and a hand that plays kubelet and infrared-build.
type site struct {
	t         *testing.T
	name      string
	builder   *build.Builder
	catalogue *catalogue
	clock     *clocktesting.FakePassiveClock
	turn      build.Turn
	teardown  build.Teardown
}

// newSite makes a Cluster with the template of these tests, and its credentials.
func newSite(t *testing.T, name string, change ...func(*v1alpha1.Cluster)) *site {
	t.Helper()
	s := &site{t: t, name: name, catalogue: newCatalogue(), clock: clocktesting.NewFakePassiveClock(time.Now())}
	s.builder = s.newBuilder(operatorClient(t))
	s.credentials("FAKE_TOKEN", "FAKE_ENDPOINT")
	s.create(change...)
	return s
}

func operatorClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(env.Operator, client.Options{Scheme: env.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *site) newBuilder(c client.Client) *build.Builder {
	return &build.Builder{
		Client: c, Live: c, Clock: s.clock, Templates: s.catalogue, BuildImage: "infrared-build:dev", TofuImage: "opentofu:dev",
	}
}

func (s *site) create(change ...func(*v1alpha1.Cluster)) {
	s.t.Helper()
	c := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: v1alpha1.ClusterSpec{
			Incarnation: string(uuid.NewUUID()),
			Template:    &v1alpha1.Template{Module: "fake/cluster", Version: "v1.0.0"},
			Provision:   &v1alpha1.Provision{Variables: map[string]v1alpha1.VariableValue{"region": "r1"}},
		},
	}
	for _, f := range change {
		f(c)
	}
	if err := env.Client.Create(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) credentials(keys ...string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.name)}}
	secret.Data = map[string][]byte{}
	for _, key := range keys {
		secret.Data[key] = []byte(secretToken)
	}
	if err := env.Client.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) cluster() *v1alpha1.Cluster {
	s.t.Helper()
	var c v1alpha1.Cluster
	if err := env.Client.Get(s.t.Context(), types.NamespacedName{Name: s.name}, &c); err != nil {
		s.t.Fatal(err)
	}
	return &c
}

func (s *site) change(f func(*v1alpha1.Cluster)) {
	s.t.Helper()
	c := s.cluster()
	f(c)
	if err := env.Client.Update(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
}

// look is one turn of the operator, with its write of the status.
func (s *site) look() build.Turn {
	s.t.Helper()
	c := s.cluster()
	turn, err := s.builder.Advance(s.t.Context(), c)
	if err != nil {
		s.t.Fatalf("advancing: %v", err)
	}
	s.write(c, turn)
	return turn
}

// destroy is one turn of a deletion.
func (s *site) destroy(again bool) build.Teardown {
	s.t.Helper()
	c := s.cluster()
	teardown, err := s.builder.Destroy(s.t.Context(), c, again)
	if err != nil {
		s.t.Fatalf("destroying: %v", err)
	}
	s.teardown = teardown
	s.write(c, teardown.Turn)
	return teardown
}

func (s *site) write(c *v1alpha1.Cluster, turn build.Turn) {
	s.t.Helper()
	if turn.Run != nil && strings.Contains(turn.Run.Message, secretToken) {
		s.t.Errorf("a secret is in the message %q", turn.Run.Message)
	}
	s.turn = turn
	c.Status.Run, c.Status.Plan, c.Status.Built = turn.Run, turn.Plan, turn.Built
	if err := env.Client.Status().Update(s.t.Context(), c); err != nil {
		s.t.Fatalf("writing the status: %v", err)
	}
}

// until makes turns until check is content.
func (s *site) until(check func() error) {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		s.look()
		return check()
	})
}

func (s *site) untilDestroy(again bool, check func() error) {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		s.destroy(again)
		return check()
	})
}

// is checks phase, reason and words of the run.
func (s *site) is(phase v1alpha1.RunPhase, reason string, words ...string) func() error {
	return func() error {
		r := s.turn.Run
		switch {
		case r == nil:
			return errors.New("there is no run")
		case r.Phase != phase || r.Reason != reason:
			return fmt.Errorf("the run is %s %q: %s", r.Phase, r.Reason, r.Message)
		}
		for _, word := range words {
			if !strings.Contains(r.Message, word) {
				return fmt.Errorf("%q is not in the message %q", word, r.Message)
			}
		}
		return nil
	}
}

// job checks which Job the run is.
func (s *site) job(name string) func() error {
	return func() error {
		if s.turn.Run == nil || s.turn.Run.Job != name {
			return fmt.Errorf("the run is %+v", s.turn.Run)
		}
		return nil
	}
}

// jobs are the Jobs of the Cluster's name, by name.
func (s *site) jobs() []batchv1.Job {
	s.t.Helper()
	var jobs batchv1.JobList
	err := env.Client.List(s.t.Context(), &jobs, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: s.name})
	if err != nil {
		s.t.Fatal(err)
	}
	return jobs.Items
}

func (s *site) jobNames() []string {
	s.t.Helper()
	var names []string
	for _, job := range s.jobs() {
		names = append(names, job.Name)
	}
	slices.Sort(names)
	return names
}

func (s *site) record(name string) *corev1.ConfigMap {
	s.t.Helper()
	var stored corev1.ConfigMap
	if err := env.Client.Get(s.t.Context(), types.NamespacedName{Namespace: v1alpha1.Namespace, Name: name}, &stored); err != nil {
		s.t.Fatal(err)
	}
	return &stored
}

// order is what the newest run is to do.
func (s *site) order() run.Order {
	s.t.Helper()
	var order run.Order
	if err := run.Unpack(s.record(s.turn.Run.Record).BinaryData[run.KeyOrder], &order); err != nil {
		s.t.Fatal(err)
	}
	return order
}

// apply has the Cluster ask for an apply.
func apply(c *v1alpha1.Cluster) { c.Spec.Provision.Action = v1alpha1.ActionApply }

// again asks for another run without any other change.
func again(c *v1alpha1.Cluster) { c.Spec.Provision.Run++ }

func set(name, value string) func(*v1alpha1.Cluster) {
	return func(c *v1alpha1.Cluster) { c.Spec.Provision.Variables[name] = v1alpha1.VariableValue(value) }
}

// exists says whether an object in namespace infrared is there.
func exists(t *testing.T, obj client.Object, name string) bool {
	t.Helper()
	err := env.Client.Get(t.Context(), types.NamespacedName{Namespace: v1alpha1.Namespace, Name: name}, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// changes are changes of as many things.
func changes(operations ...provider.Operation) []provider.Change {
	var all []provider.Change
	for i, operation := range operations {
		all = append(all, provider.Change{Address: fmt.Sprintf("terraform_data.thing[%d]", i), Type: "terraform_data", Operation: operation})
	}
	return all
}

// failure is an outcome of a run that failed.
func failure(reason, message string) run.Outcome {
	return run.Outcome{Failure: &run.Failure{Reason: reason, Message: message}}
}
