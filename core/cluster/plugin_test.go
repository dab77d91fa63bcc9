// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// cloud is a provider that has one plugin, which answers by what the cluster tells unless a Cluster's name is in answers. It is the
// Providers of an operator, too.
type cloud struct {
	provider.Provider // the other verbs are never called

	mu      sync.Mutex
	answers map[string]func(provider.Connection, error) (provider.Connection, error)
	asked   map[string][]provider.ConnectRequest
}

func newCloud() *cloud {
	return &cloud{
		answers: map[string]func(provider.Connection, error) (provider.Connection, error){},
		asked:   map[string][]provider.ConnectRequest{},
	}
}

func (c *cloud) For(_ context.Context, name string) (string, provider.Provider, error) {
	if name != "acmecloud" && name != "incluster" {
		return "", nil, nil
	}
	return "acme", c, nil
}

func (c *cloud) NodePrefixes(context.Context) map[string]string {
	return map[string]string{"acme://": "acmecloud"}
}

func (c *cloud) Kinds(string) []string { return []string{"balloon"} }

func (c *cloud) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	c.mu.Lock()
	c.asked[req.Cluster.Name] = append(c.asked[req.Cluster.Name], req)
	change := c.answers[req.Cluster.Name]
	c.mu.Unlock()
	answer, err := connect.Serve(ctx, req)
	if change != nil {
		return change(answer, err)
	}
	return answer, err
}

// set makes the plugin answer for a Cluster; nil is the right answer again.
func (c *cloud) set(name string, change func(provider.Connection, error) (provider.Connection, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[name] = change
}

// fail makes the plugin fail for a Cluster.
func (c *cloud) fail(name string, err error) {
	c.set(name, func(provider.Connection, error) (provider.Connection, error) { return provider.Connection{}, err })
}

// requests are those about a Cluster, up to now.
func (c *cloud) requests(name string) []provider.ConnectRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[name]
}

// down is the error of a plugin that does not run.
func down() error {
	return &provider.Error{
		Kind: provider.Unavailable, After: time.Second, Err: pluginhost.ErrUnusable,
		Message: `plugin "acme" is not running (ChecksumMismatch): its SHA-256 is another`,
	}
}

func inAcme(c *v1alpha1.Cluster) { c.Spec.Provider = "acmecloud" }

// withCloud runs an operator whose only plugin is the cloud's, by a clock in the test's hands.
func withCloud(t *testing.T) (*cloud, *testingclock.FakePassiveClock) {
	t.Helper()
	c := newCloud()
	clock := testingclock.NewFakePassiveClock(time.Now())
	env.RunOperator(t, func(o *operator.Options) { o.Providers, o.Clock = c, clock })
	return c, clock
}

// looked waits until a Cluster was looked at again, whenever that was due.
func looked(t *testing.T, c *cloud, clock *testingclock.FakePassiveClock, name string) {
	t.Helper()
	asked, tries := len(c.requests(name)), 0
	testenv.Eventually(t, func() error {
		// Again after a while, in case the answer before was written down after the clock had been set.
		if tries%10 == 0 {
			clock.SetTime(clock.Now().Add(2 * time.Hour))
		}
		tries++
		poke(t, name)
		if len(c.requests(name)) == asked {
			return errors.New("the cluster was not looked at")
		}
		return nil
	})
}

// TestThroughPlugin is what the plugin is asked, and what becomes of its answer.
func TestThroughPlugin(t *testing.T) {
	c, _ := withCloud(t)
	wc := start(t, testcluster.Options{})
	wc.Change(func(b *testcluster.Behaviour) {
		b.Nodes = []testcluster.Node{{Name: "a", ProviderID: "other://1", Labels: map[string]string{"topology.kubernetes.io/region": "acme-1"}}}
	})
	register(t, "acme-good", k0{}.text(wc), inAcme)
	eventually(t, has("acme-good", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("acme-good", tokenConfig("S3CR3T.abc", wc)))
	got, err := getCluster("acme-good")
	if err != nil {
		t.Fatal(err)
	}
	one := int32(1)
	want := v1alpha1.ClusterStatus{
		Provider: "acmecloud", Region: "acme-1", KubernetesVersion: "v1.31.4", Nodes: &v1alpha1.NodeCount{Total: &one},
		Identity: &v1alpha1.Identity{KubeSystemUID: wc.Behaviour().UID, Region: "acme-1"},
	}
	status := got.Status
	status.Conditions, status.ObservedGeneration = nil, 0
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("what is known of the cluster (-want +got):\n%s", diff)
	}
	req := c.requests("acme-good")[0]
	if req.Cluster != (provider.Cluster{Name: "acme-good", Incarnation: got.Spec.Incarnation}) || !req.PrivateAddresses || len(req.Allow) == 0 ||
		req.Endpoint.Server != wc.URL() || req.Endpoint.Token.Reveal() != "S3CR3T.abc" || !req.Credentials.IsZero() || req.RenewToken != 0 {
		t.Errorf("it was asked %+v", req)
	}

	register(t, "acme-org", k0{Server: "https://127.0.0.2:6443"}.text(wc), inAcme, ofOrg("acme"))
	eventually(t, has("acme-org", "Connected", "False", v1alpha1.ReasonAddressRefused, "address can't be used"), absent("argocd", "cluster-acme-org"))
	if req := c.requests("acme-org")[0]; req.PrivateAddresses || len(req.Allow) > 0 || req.Cluster.Org != "acme" {
		t.Errorf("for an org it was asked %+v", req)
	}
}

// TestProviderOfNodes is a cluster whose nodes tell by a plugin's own prefix which provider's it is, and that from then on goes through
// the plugin.
func TestProviderOfNodes(t *testing.T) {
	c, _ := withCloud(t)
	wc := start(t, testcluster.Options{})
	wc.Change(func(b *testcluster.Behaviour) { b.Nodes[0].ProviderID = "acme://1" })
	register(t, "acme-nodes", k0{}.text(wc))
	eventually(t, has("acme-nodes", "Connected", "True", v1alpha1.ReasonConnected), func() error {
		got, err := getCluster("acme-nodes")
		if err == nil && got.Status.Provider != "acmecloud" {
			err = fmt.Errorf("the provider is %q", got.Status.Provider)
		}
		return err
	})
	tries := 0
	testenv.Eventually(t, func() error {
		if tries++; tries%10 == 1 {
			poke(t, "acme-nodes")
		}
		if len(c.requests("acme-nodes")) == 0 {
			return errors.New("the plugin was not asked")
		}
		return has("acme-nodes", "Connected", "True", v1alpha1.ReasonConnected)()
	})
}

// TestNotLooked is that what a plugin could not look at is said, in its words.
func TestNotLooked(t *testing.T) {
	c, _ := withCloud(t)
	wc := start(t, testcluster.Options{})
	c.set("acme-partly", func(answer provider.Connection, err error) (provider.Connection, error) {
		answer.Nodes = nil
		answer.NotLooked = []provider.NotLooked{
			{What: "nodes", Why: "the account may not list nodes"},
			{What: "disks", Where: "acme-1", Why: "there are no credentials"},
			{What: "balloon", Why: "a kind of the plugin's own, for which nobody gave it credentials"},
			{What: connect.PartReadyNodes, Why: "in no status"},
		}
		return answer, err
	})
	register(t, "acme-partly", k0{}.text(wc), inAcme)
	eventually(t, has("acme-partly", "Connected", "True", v1alpha1.ReasonLimitedAccess,
		"Not looked at: disks in acme-1 (there are no credentials), nodes (the account may not list nodes)."))
	got, err := getCluster("acme-partly")
	if err != nil || got.Status.Nodes == nil || got.Status.Nodes.Total != nil || got.Status.Nodes.Unknown != "the account may not list nodes" {
		t.Errorf("the nodes are %+v %v, want none, with why", got.Status.Nodes, err)
	}
}

// TestPluginErrors is that each kind of error is a reason of its own, and a plugin that can't be used none of the cluster's.
func TestPluginErrors(t *testing.T) {
	c, _ := withCloud(t)
	failures := map[string]struct {
		reason  string // why it is so
		err     error
		status  metav1.ConditionStatus
		because string
		words   string
	}{
		"acme-field": {
			"the field of a request that is no kubeconfig's is named",
			provider.Invalidf("outputs.endpoint", "is no address"), "False", v1alpha1.ReasonInvalidSpec, "outputs.endpoint: is no address.",
		},
		"acme-down": {
			"it is the plugin that is away, and not the cluster",
			down(), "Unknown", v1alpha1.ReasonProviderUnavailable, `plugin "acme" is not running (ChecksumMismatch): its SHA-256 is another. The cluster is left as it is`,
		},
		"acme-breach": {
			"an answer that no plugin may give is no answer",
			&provider.Error{Kind: provider.Other, Err: pluginhost.ErrUnusable, Message: `plugin "acme" broke the contract in Connect`},
			"Unknown", v1alpha1.ReasonProviderUnavailable, "broke the contract",
		},
		"acme-bare": {
			"an error of no kind is Other",
			&provider.Error{Kind: "Strange", Message: "something else"}, "Unknown", v1alpha1.ReasonProviderFailed, "something else.",
		},
		"acme-token": {
			"a field of the way in is the kubeconfig's",
			provider.Invalidf("endpoint.token", "is no token"), "False", v1alpha1.ReasonKubeconfigInvalid, "is no token",
		},
	}
	// There are no cloud credentials, so that only the API server can have refused, or not have answered.
	ofServer := map[provider.ErrorKind]string{
		provider.Unauthenticated: v1alpha1.ReasonUnauthorized, provider.Denied: v1alpha1.ReasonUnauthorized,
		provider.Unavailable: v1alpha1.ReasonUnreachable,
	}
	for _, row := range provider.Kinds() {
		name, status, reason := fmt.Sprintf("acme-kind-%d", row.Code), metav1.ConditionFalse, row.Reason
		if row.Kind == provider.Other {
			status = metav1.ConditionUnknown
		}
		if of, ok := ofServer[row.Kind]; ok {
			reason = of
		}
		failures[name] = struct {
			reason  string
			err     error
			status  metav1.ConditionStatus
			because string
			words   string
		}{"its reason is the table's, or the API server's", provider.Errorf(row.Kind, "said by the cloud"), status, reason, "said by the cloud"}
	}
	for name, f := range failures {
		c.fail(name, f.err)
		wc := start(t, testcluster.Options{})
		register(t, name, k0{}.text(wc), inAcme)
	}
	for name, f := range failures {
		eventually(t, has(name, "Connected", f.status, f.because, f.words), absent("argocd", "cluster-"+name))
		if t.Failed() {
			t.Fatalf("%s: %s", name, f.reason)
		}
	}
	if told := events(t, "acme-down"); !contains(told, v1alpha1.ReasonProviderUnavailable) {
		t.Errorf("no event says that the plugin is away: %s", told)
	}
	for name := range failures {
		c.set(name, nil)
		poke(t, name)
	}
}

// TestPluginDown is that a plugin which is away for a while changes nothing but the condition, and that only after several looks.
func TestPluginDown(t *testing.T) {
	c, clock := withCloud(t)
	wc := start(t, testcluster.Options{})
	register(t, "acme-away", k0{}.text(wc), inAcme)
	eventually(t, has("acme-away", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("acme-away", tokenConfig("S3CR3T.abc", wc)))
	secrets, before := contentOf(t, "acme-away"), statusOf(t, "acme-away")

	c.fail("acme-away", down())
	for range 2 {
		looked(t, c, clock, "acme-away")
	}
	if err := has("acme-away", "Connected", "True", v1alpha1.ReasonConnected)(); err != nil {
		t.Errorf("a plugin that is started again turns the condition: %v", err)
	}
	looked(t, c, clock, "acme-away")
	eventually(t, has("acme-away", "Connected", "Unknown", v1alpha1.ReasonProviderUnavailable, `plugin "acme"`),
		has("acme-away", "Registered", "False", v1alpha1.ReasonAppOfAppsMissing))
	if diff := cmp.Diff(before, statusOf(t, "acme-away")); diff != "" {
		t.Errorf("what is known of the cluster is lost with the plugin (-before +after):\n%s", diff)
	}
	if after := contentOf(t, "acme-away"); after != secrets {
		t.Error("a plugin that is away changed the Secrets")
	}

	// A new kubeconfig meanwhile is not taken, since nobody can tell whose it is, and does no harm.
	other := start(t, testcluster.Options{})
	replace(t, "acme-away", k0{}.text(other))
	eventually(t, has("acme-away", "Connected", "Unknown", v1alpha1.ReasonProviderUnavailable), argoConfig("acme-away", tokenConfig("S3CR3T.abc", wc)))
	replace(t, "acme-away", k0{}.text(wc))

	c.set("acme-away", nil)
	looked(t, c, clock, "acme-away")
	eventually(t, has("acme-away", "Connected", "True", v1alpha1.ReasonConnected))

	// A Cluster is let go without its plugin, where nothing of the cloud is its own.
	c.fail("acme-away", down())
	letGo(t, "acme-away")
}

// TestPluginCrashes is that a fault of the plugin in a call says nothing about a cluster that was connected.
func TestPluginCrashes(t *testing.T) {
	c, clock := withCloud(t)
	wc := start(t, testcluster.Options{})
	register(t, "acme-crash", k0{}.text(wc), inAcme)
	eventually(t, has("acme-crash", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("acme-crash", tokenConfig("S3CR3T.abc", wc)))

	c.fail("acme-crash", provider.Errorf(provider.Other, "the provider crashed in Connect; its log has the stack"))
	for range 2 {
		looked(t, c, clock, "acme-crash")
	}
	if err := has("acme-crash", "Connected", "True", v1alpha1.ReasonConnected)(); err != nil {
		t.Errorf("a crash of the plugin turns the condition: %v", err)
	}
	looked(t, c, clock, "acme-crash")
	eventually(t, has("acme-crash", "Connected", "Unknown", v1alpha1.ReasonProviderFailed, "crashed in Connect"),
		argoConfig("acme-crash", tokenConfig("S3CR3T.abc", wc)))
	if told := events(t, "acme-crash"); !contains(told, v1alpha1.ReasonProviderFailed) {
		t.Errorf("no event says that the plugin fails: %s", told)
	}
	c.set("acme-crash", nil)
	looked(t, c, clock, "acme-crash")
	eventually(t, has("acme-crash", "Connected", "True", v1alpha1.ReasonConnected))
}

// statusOf is what is known of a Cluster, without its conditions.
func statusOf(t *testing.T, name string) v1alpha1.ClusterStatus {
	t.Helper()
	c, err := getCluster(name)
	if err != nil {
		t.Fatal(err)
	}
	c.Status.Conditions = nil
	return c.Status
}

// TestInClusterThroughPlugin is that the management cluster under another name is reached through the plugin, and the Cluster of type
// management never.
func TestInClusterThroughPlugin(t *testing.T) {
	c, _ := withCloud(t)
	create(t, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "acme-inside"}, Spec: v1alpha1.ClusterSpec{InCluster: true}})
	t.Cleanup(func() { letGo(t, "acme-inside") })
	eventually(t, has("acme-inside", "Connected", "True", v1alpha1.ReasonConnected), has("management", "Connected", "True", v1alpha1.ReasonConnected))
	got, err := getCluster("acme-inside")
	if err != nil {
		t.Fatal(err)
	}
	var kubeSystem corev1.Namespace
	if err := env.Client.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, &kubeSystem); err != nil {
		t.Fatal(err)
	}
	if got.Status.Provider != "incluster" || got.Status.Identity.KubeSystemUID != string(kubeSystem.UID) || !got.Status.Identity.ManagementCluster {
		t.Errorf("what is known of it: %+v %+v", got.Status, got.Status.Identity)
	}
	if asked := len(c.requests("management")); asked > 0 {
		t.Errorf("the operator reached its own cluster through a plugin, %d times", asked)
	}
	if asked := c.requests("acme-inside"); len(asked) == 0 || asked[0].Endpoint.Token.IsZero() {
		t.Errorf("the plugin was asked %+v", asked)
	}
}
