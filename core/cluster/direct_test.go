// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/inflight"
	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// serving is a plugin that looks as the core does.
type serving struct {
	provider.Provider // the other verbs are never called
}

func (serving) Connect(ctx context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	return connect.Serve(ctx, req)
}

// closedPort is an address of this machine at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestSameReasons is that a person reads the same reason and words whether the core looks at a cluster or a plugin does.
func TestSameReasons(t *testing.T) {
	type behaviour = testcluster.Behaviour
	other := testcluster.Start(t, testcluster.Options{})
	cases := map[string]struct {
		reason string
		set    func(*behaviour)
		change func(*target)
		closed bool
		within time.Duration // the look is cut; zero is the usual
		kind   connect.Kind
		want   string
	}{
		"closed port": {
			reason: "nobody listens", closed: true, kind: connect.Unreachable, want: v1alpha1.ReasonUnreachable,
		},
		"503": {
			reason: "it can't serve now", set: func(b *behaviour) { b.Status = 503 }, kind: connect.Unreachable, want: v1alpha1.ReasonUnreachable,
		},
		"hangs": {
			reason: "it does not answer in time", set: func(b *behaviour) { b.Hang = true }, within: 500 * time.Millisecond,
			kind: connect.Timeout, want: v1alpha1.ReasonUnreachable,
		},
		"an org's private address": {
			reason: "an org chose it", change: func(t *target) { t.private, t.allow = false, nil },
			kind: connect.AddressRefused, want: v1alpha1.ReasonAddressRefused,
		},
		"another CA": {
			reason: "somebody else may be answering", change: func(t *target) { t.config.CAData = other.CA().PEM() },
			kind: connect.CertificateInvalid, want: v1alpha1.ReasonCertificateInvalid,
		},
		"expired": {
			reason: "the certificate has ended", set: func(b *behaviour) { b.ExpiredCertificate = true },
			kind: connect.CertificateInvalid, want: v1alpha1.ReasonCertificateInvalid,
		},
		"another token": {
			reason: "it was withdrawn", set: func(b *behaviour) { b.Token = "S3CR3T.other" },
			kind: connect.Unauthorized, want: v1alpha1.ReasonUnauthorized,
		},
		"no rights": {
			reason: "it may not even read /version", set: func(b *behaviour) { b.Forbidden = []string{"/version"} },
			kind: connect.Forbidden, want: v1alpha1.ReasonUnauthorized,
		},
		"a web page": {
			reason: "something else answers", set: func(b *behaviour) { b.Body = "<html>" },
			kind: connect.NotKubernetes, want: v1alpha1.ReasonNotKubernetes,
		},
		"a redirect": {
			reason: "it leads where the policy was not asked", set: func(b *behaviour) { b.Redirect = "https://192.0.2.1/" },
			kind: connect.NotKubernetes, want: v1alpha1.ReasonNotKubernetes,
		},
		"half a CA": {
			reason: "it can't be read", change: func(t *target) { t.config.CAData = []byte("-----BEGIN") },
			kind: connect.Invalid, want: v1alpha1.ReasonKubeconfigInvalid,
		},
	}
	r := &Reconciler{Connect: connect.Connect, Clock: testingclock.NewFakePassiveClock(time.Now())}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := testcluster.Good()
			if tc.set != nil {
				tc.set(&b)
			}
			s := testcluster.Start(t, testcluster.Options{Behaviour: &b})
			config, err := kubeconfig.Reader{}.Read(s.Kubeconfig(testcluster.KubeconfigOptions{Token: "S3CR3T.abc"}))
			if err != nil {
				t.Fatal(err)
			}
			if tc.closed {
				config.Server = "https://" + closedPort(t)
			}
			to := target{config: *config, private: true, allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
			if tc.change != nil {
				tc.change(&to)
			}
			reach := func(w way) finding {
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tc.within, time.Minute))
				defer cancel()
				return r.reach(ctx, w, to)
			}
			direct, through := reach(way{}), reach(way{name: "acme", plugin: serving{}})
			var e *connect.Error
			if !errors.As(direct.err, &e) || e.Kind != tc.kind {
				t.Fatalf("the core finds %v, want %s: %s", direct.err, tc.kind, tc.reason)
			}
			want := refusal{tc.want, e.Message}
			if diff := gocmp.Diff(want, *refusalOf(direct.err), gocmp.AllowUnexported(refusal{})); diff != "" {
				t.Errorf("the core's reason (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(want, *refusalOf(through.err), gocmp.AllowUnexported(refusal{})); diff != "" {
				t.Errorf("%s: the plugin's reason (-want +got):\n%s", tc.reason, diff)
			}
			if direct.soft() != through.soft() {
				t.Errorf("the core has patience: %v, with a plugin: %v", direct.soft(), through.soft())
			}
		})
	}
}

// TestFailedBy is whose an error of a plugin is.
func TestFailedBy(t *testing.T) {
	const wait = 3 * time.Minute
	denied := provider.Errorf(provider.Denied, "no")
	throttled := provider.Unavailablef(wait, "not now")
	down := &provider.Error{Kind: provider.Unavailable, Err: pluginhost.ErrUnusable, Message: "not running"}
	for name, tc := range map[string]struct {
		reason      string
		err         error
		credentials bool
		want        string
		after       time.Duration
	}{
		"refused":              {"there is nobody but the API server", denied, false, v1alpha1.ReasonUnauthorized, 0},
		"refused, with cloud":  {"it may be the cloud", denied, true, v1alpha1.ReasonPermissionDenied, 0},
		"throttled":            {"what it asked for is heeded", throttled, false, v1alpha1.ReasonUnreachable, wait},
		"throttled by a cloud": {"as the contract's table says", throttled, true, v1alpha1.ReasonCloudUnavailable, wait},
		"plugin down":          {"the API server was not asked", down, false, v1alpha1.ReasonProviderUnavailable, 0},
		"a cloud's field":      {"it is no field of the way in", provider.Invalidf("region", "no"), false, v1alpha1.ReasonInvalidSpec, 0},
		"a field's namesake":   {"it only begins like one", provider.Invalidf("endpoints", "no"), false, v1alpha1.ReasonInvalidSpec, 0},
		"crash":                {"the plugin's own trouble", provider.Errorf(provider.Other, "no"), false, v1alpha1.ReasonProviderFailed, 0},
		"quota":                {"as the contract's table says", provider.Errorf(provider.Quota, "no"), false, v1alpha1.ReasonQuotaExceeded, 0},
	} {
		got := failedBy(tc.err, tc.credentials)
		if reason := refusalOf(got.err).reason; reason != tc.want {
			t.Errorf("%s: the reason is %s, want %s: %s", name, reason, tc.want, tc.reason)
		}
		if got.wait(0) < tc.after {
			t.Errorf("%s: it is asked again after %s, want %s at the soonest: %s", name, got.wait(0), tc.after, tc.reason)
		}
	}
}

// TestHurry is which looks are due at once when a plugin is back: those that only it has failed.
func TestHurry(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	woken := make(chan string, 10)
	group := inflight.New[lookKey, finding](t.Context(), inflight.Limits{All: looksAtOnce, Bucket: looksAtOnceOfOne}, clock.Now, func(key lookKey) { woken <- key.cluster })
	l := newLooks(group, clock.Now, resync)
	down := &provider.Error{Kind: provider.Unavailable, Err: pluginhost.ErrUnusable}
	answers := map[string]finding{
		"down":    {through: "acme", err: down},
		"well":    {through: "acme"},
		"refused": {through: "acme", err: &connect.Error{Kind: connect.Unauthorized}},
		"other":   {through: "other", err: down},
		"direct":  {err: &connect.Error{Kind: connect.Unreachable}},
	}
	see := func(cluster string) *view {
		return l.see(lookKey{cluster, offered}, "", "x", func(context.Context) finding { return answers[cluster] })
	}
	answered := func() string {
		t.Helper()
		select {
		case cluster := <-woken:
			return cluster
		case <-time.After(time.Minute):
			t.Fatal("no cluster was looked at")
			return ""
		}
	}
	for cluster := range answers {
		see(cluster)
		answered()
		if v := see(cluster); v == nil || v.next <= 0 {
			t.Fatalf("%s has no answer, or is due already: %+v", cluster, v)
		}
	}
	if got := l.hurry("acme"); !slices.Equal(got, []string{"down"}) {
		t.Fatalf("hurried are %v, want down alone", got)
	}
	answers["down"] = finding{through: "acme"}
	for cluster := range answers {
		see(cluster)
	}
	if again := answered(); again != "down" {
		t.Errorf("%s was looked at again", again)
	}
	group.Wait()
	if len(woken) > 0 {
		t.Errorf("%s was looked at again, too", <-woken)
	}
	if got := l.hurry("acme"); len(got) > 0 {
		t.Errorf("hurried are %v after a good answer, want none", got)
	}
}
