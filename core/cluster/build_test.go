// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// hand is a Builder that runs nothing: a test says what each look comes to.
type hand struct {
	mu    sync.Mutex
	turns map[string]build.Turn
	torn  map[string]build.Teardown
	// going are the Clusters of which a run goes.
	going map[string]bool
	// again are those of which a destroy was asked for once more, and forgotten those that were forgotten.
	again, forgotten map[string]bool
	// fails are the Clusters whose runs can't be looked after, and why.
	fails map[string]error
	// faults are what a Builder must never see.
	faults []string
}

func newHand() *hand {
	return &hand{
		turns: map[string]build.Turn{}, torn: map[string]build.Teardown{},
		going: map[string]bool{}, fails: map[string]error{}, again: map[string]bool{}, forgotten: map[string]bool{},
	}
}

func (h *hand) Advance(_ context.Context, c *v1alpha1.Cluster) (build.Turn, error) {
	live, err := getCluster(c.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if client.IgnoreNotFound(err) == nil && err == nil && !controllerutil.ContainsFinalizer(live, v1alpha1.FinalizerDeletion) {
		h.faults = append(h.faults, c.Name+" was to be built, and nothing kept it")
	}
	if err := h.fails[c.Name]; err != nil {
		return build.Turn{}, err
	}
	return h.turns[c.Name], nil
}

func (h *hand) Destroy(_ context.Context, c *v1alpha1.Cluster, again bool) (build.Teardown, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.again[c.Name] = h.again[c.Name] || again
	torn, told := h.torn[c.Name]
	if !told {
		return build.Teardown{Done: true, Nothing: true}, nil
	}
	return torn, nil
}

func (h *hand) Stop(_ context.Context, c *v1alpha1.Cluster) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.going[c.Name], nil
}

func (h *hand) Forget(_ context.Context, c *v1alpha1.Cluster) error {
	live, err := getCluster(c.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || !controllerutil.ContainsFinalizer(live, v1alpha1.FinalizerDeletion) {
		h.faults = append(h.faults, fmt.Sprintf("%s was forgotten after it went: %v", c.Name, err))
	}
	h.forgotten[c.Name] = true
	return nil
}

// turn has the Builder say something of a Cluster from now on.
func (h *hand) turn(t *testing.T, name string, turn build.Turn) {
	t.Helper()
	h.mu.Lock()
	h.turns[name] = turn
	h.mu.Unlock()
	if _, err := getCluster(name); err == nil {
		poke(t, name)
	}
}

// tear has the Builder say something of a Cluster's destroy from now on.
//
//nolint:unparam // the name belongs to it
func (h *hand) tear(t *testing.T, name string, torn build.Teardown) {
	t.Helper()
	h.mu.Lock()
	h.torn[name] = torn
	h.mu.Unlock()
	poke(t, name)
}

func (h *hand) was(what map[string]bool, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return what[name]
}

// acme is a cloud that makes the way into its clusters: the plugin of an operator whose runs are a hand's.
type acme struct {
	*cloud
	mu sync.Mutex
	// life is how long a token lasts; zero: a plugin that does not tell.
	life  time.Duration
	clock *testingclock.FakePassiveClock
	made  int
	fails error
	// blind is a plugin that does not try the token that it made.
	blind bool
}

// goodCredentials is what acme wants to see.
const goodCredentials = "S3CR3T.cloud"

// Connect makes a token where none is given, or a new one is asked for.
func (a *acme) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	a.cloud.mu.Lock()
	a.asked[req.Cluster.Name] = append(a.asked[req.Cluster.Name], req)
	a.cloud.mu.Unlock()
	var endpoint provider.Endpoint
	switch {
	case req.Endpoint != nil:
		endpoint = *req.Endpoint
	case req.Credentials.Values["ACME_TOKEN"].Reveal() != goodCredentials:
		return provider.Connection{}, provider.Errorf(provider.Unauthenticated, "acme does not know ACME_TOKEN: give one that is valid")
	default:
		var ca string
		if json.Unmarshal(req.Outputs["server"], &endpoint.Server) != nil || json.Unmarshal(req.Outputs["ca"], &ca) != nil {
			return provider.Connection{}, provider.Invalidf("outputs", "hold no server and ca")
		}
		endpoint.CA = []byte(ca)
	}
	if req.Endpoint == nil || req.RenewToken > 0 {
		a.mu.Lock()
		if a.fails != nil {
			defer a.mu.Unlock()
			return provider.Connection{}, a.fails
		}
		a.made++
		endpoint.Token = provider.NewSecret(fmt.Sprintf("S3CR3T.made-%d", a.made))
		if a.life > 0 {
			endpoint.Expiry = a.clock.Now().Add(a.life)
		}
		blind := a.blind
		a.mu.Unlock()
		if blind {
			return provider.Connection{Endpoint: endpoint, Version: "v1.31.4"}, nil
		}
	}
	req.Endpoint, req.RenewToken = &endpoint, 0
	return connect.Serve(ctx, req)
}

func (a *acme) For(ctx context.Context, name string) (string, provider.Provider, error) {
	found, plugin, err := a.cloud.For(ctx, name)
	if plugin != nil {
		plugin = a
	}
	return found, plugin, err
}

// making are the requests about a Cluster by which a token was asked for.
func (a *acme) making(name string) []provider.ConnectRequest {
	return slices.DeleteFunc(slices.Clone(a.requests(name)), func(req provider.ConnectRequest) bool {
		return req.Endpoint != nil && req.RenewToken == 0
	})
}

func (a *acme) refuse(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = err
}

// withBuilds runs an operator whose runs and whose cloud are in the test's hands.
func withBuilds(t *testing.T) (*hand, *acme) {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Now().Truncate(time.Second))
	h, a := newHand(), &acme{cloud: newCloud(), clock: clock, life: 48 * time.Hour}
	env.RunOperator(t, func(o *operator.Options) { o.Builder, o.Providers, o.Clock = h, a, clock })
	t.Cleanup(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, fault := range h.faults {
			t.Error(fault)
		}
	})
	return h, a
}

// toBuild makes a Cluster of acme's template, and lets it go at the end of the test.
func toBuild(t *testing.T, name string) {
	t.Helper()
	create(t, &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			Template:  &v1alpha1.Template{Module: "acmecloud/cluster", Version: "v1"},
			Provision: &v1alpha1.Provision{Action: v1alpha1.ActionPlan, Variables: map[string]v1alpha1.VariableValue{"region": "acme-1"}},
		},
	})
	t.Cleanup(func() { letGo(t, name) })
}

// ran is a run in short.
func ran(action v1alpha1.Action, phase v1alpha1.RunPhase, reason, message string) *v1alpha1.RunStatus {
	status := &v1alpha1.RunStatus{Action: action, Phase: phase, Reason: reason, Message: message, Generation: 1, Attempt: 1}
	if phase != v1alpha1.RunWaitingForCredentials && reason != v1alpha1.ReasonProviderUnavailable {
		status.Job, status.Record = "tofu-x-1-"+string(action), "record-x"
	}
	return status
}

// applied is a look at a cluster that an apply has built, found at a server.
func applied(wc *testcluster.Server) build.Turn {
	outputs := map[string]json.RawMessage{}
	for name, value := range map[string]string{"server": wc.URL(), "ca": string(wc.CA().PEM())} {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // a string
		}
		outputs[name] = text
	}
	return build.Turn{
		Run:     ran(v1alpha1.ActionApply, v1alpha1.RunSucceeded, "", "It is built."),
		Built:   &v1alpha1.BuiltStatus{Generation: 1, Version: "v1", At: metav1.NewTime(time.Unix(1_800_000_000, 0))},
		Applied: &run.Outcome{Outputs: outputs},
	}
}

// TestNotBuilt is what Connected says while no apply has succeeded.
func TestNotBuilt(t *testing.T) {
	h, _ := withBuilds(t)
	plan := &v1alpha1.PlanStatus{Digest: "sha256:1", Inputs: "i", Generation: 1, Counts: v1alpha1.ChangeCounts{Create: 7, Replace: 1},
		MadeAt: metav1.Now(), ExpiresAt: metav1.Now(), Approve: "infrared.darkshift.io/approve-plan=sha256:1"}
	failed := func(reason, message string) *v1alpha1.RunStatus {
		return ran(v1alpha1.ActionApply, v1alpha1.RunFailed, reason, message)
	}
	for name, tc := range map[string]struct {
		reason  string // why it is so
		turn    build.Turn
		status  metav1.ConditionStatus
		because string
		words   []string
	}{
		"new":  {"nothing is wrong yet", build.Turn{}, "Unknown", v1alpha1.ReasonBuilding, []string{"prepared"}},
		"plan": {"a plan goes", build.Turn{Run: ran("plan", "Running", "", "")}, "Unknown", v1alpha1.ReasonBuilding, []string{"nothing is made", "logs job/tofu-x-1-plan"}},
		"planned": {"it waits for a person to read it", build.Turn{Run: ran("plan", "Succeeded", "", ""), Plan: plan}, "False", v1alpha1.ReasonNotBuilt,
			[]string{"create 7", "replace 1", `"action":"apply"`, "approve-plan=sha256:1", "record-x"}},
		"expired":  {"a plan has an end", build.Turn{Run: ran("plan", "Succeeded", "", "")}, "False", v1alpha1.ReasonNotBuilt, []string{`"run":1`}},
		"building": {"an apply goes", build.Turn{Run: ran("apply", "Running", "", "")}, "Unknown", v1alpha1.ReasonBuilding, []string{"OpenTofu builds the cluster", "logs job/tofu-x-1-apply"}},
		"waiting": {"the command is the run's", build.Turn{Run: ran("plan", "WaitingForCredentials", v1alpha1.ReasonWaitingForCredentials, "make it so")},
			"False", v1alpha1.ReasonWaitingForCredentials, []string{"make it so."}},
		"quota":   {"the cloud's word, and where to read on", build.Turn{Run: failed(v1alpha1.ReasonQuotaExceeded, "no more nodes")}, "False", v1alpha1.ReasonQuotaExceeded, []string{"no more nodes.", "logs job/"}},
		"cut":     {"it was cut off", build.Turn{Run: failed(v1alpha1.ReasonInterrupted, "evicted")}, "False", v1alpha1.ReasonInterrupted, []string{"evicted."}},
		"no plug": {"no Job was made, so there is no log", build.Turn{Run: failed(v1alpha1.ReasonProviderUnavailable, "no plugin")}, "False", v1alpha1.ReasonProviderUnavailable, []string{"no plugin."}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := "not-" + objectName(name)
			h.turn(t, cluster, tc.turn)
			toBuild(t, cluster)
			eventually(t, has(cluster, "Connected", tc.status, tc.because, tc.words...), has(cluster, "Registered", "False", v1alpha1.ReasonNotConnected))
			got, err := getCluster(cluster)
			if err != nil || got.Status.Provider != "acmecloud" || got.Status.Region != "acme-1" {
				t.Errorf("%s: where it is to be is known before it is there: %q %q %v", tc.reason, got.Status.Provider, got.Status.Region, err)
			}
			if (got.Status.Run == nil) != (tc.turn.Run == nil) || (got.Status.Plan == nil) != (tc.turn.Plan == nil) {
				t.Errorf("%s: run and plan stand in the status: %+v", tc.reason, got.Status)
			}
		})
	}
}

// TestFinishesDespiteTurns is that what was built stays Connected by looks, whatever a later run comes to.
func TestFinishesDespiteTurns(t *testing.T) {
	h, _ := withBuilds(t)
	wc := start(t, testcluster.Options{})
	turn := applied(wc)
	h.turn(t, "built-later", turn)
	toBuild(t, "built-later")
	cloudCredentials(t, "built-later", goodCredentials)
	eventually(t, has("built-later", "Connected", "True", v1alpha1.ReasonConnected))
	for _, later := range []*v1alpha1.RunStatus{
		ran("plan", "Succeeded", "", ""), ran("apply", "Running", "", ""), ran("apply", "Failed", v1alpha1.ReasonQuotaExceeded, "no more"),
	} {
		turn.Run = later
		h.turn(t, "built-later", turn)
		eventually(t, func() error {
			got, err := getCluster("built-later")
			if err == nil && (got.Status.Run.Phase != later.Phase || got.Status.Run.Action != later.Action) {
				err = errors.New("the run is not told yet")
			}
			return err
		})
		if err := has("built-later", "Connected", "True", v1alpha1.ReasonConnected)(); err != nil {
			t.Errorf("after a %s that is %s: %v", later.Action, later.Phase, err)
		}
	}
}
