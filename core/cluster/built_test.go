// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// cloudCredentials makes the Secret with the cloud's credentials, as a person does.
func cloudCredentials(t *testing.T, name, token string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(name)},
		Data:       map[string][]byte{"ACME_TOKEN": []byte(token)},
	}
	create(t, secret)
	t.Cleanup(func() { _ = env.Client.Delete(context.Background(), secret) })
}

// opensBy is nil when a Cluster's own kubeconfig Secret and Argo CD's have a token.
func opensBy(name, token string, wc *testcluster.Server) func() error {
	return func() error {
		secret, err := getSecret(v1alpha1.Namespace, v1alpha1.KubeconfigSecretName(name))
		if err != nil {
			return err
		}
		if text := string(secret.Data["kubeconfig"]); !strings.Contains(text, token) {
			return fmt.Errorf("the kubeconfig has no %s", token)
		}
		return argoConfig(name, tokenConfig(token, wc))()
	}
}

// oneToken is nil when Argo CD has the same token as the kubeconfig Secret.
func oneToken(name string, wc *testcluster.Server) func() error {
	return func() error {
		secret, err := getSecret(v1alpha1.Namespace, v1alpha1.KubeconfigSecretName(name))
		if err != nil {
			return err
		}
		config, err := kubeconfig.Read(secret.Data["kubeconfig"])
		if err != nil {
			return err
		}
		return argoConfig(name, tokenConfig(config.Token.Reveal(), wc))()
	}
}

// builtCluster has a cluster built and connected.
func builtCluster(t *testing.T, h *hand, name string) *testcluster.Server {
	t.Helper()
	wc := start(t, testcluster.Options{})
	h.turn(t, name, applied(wc))
	cloudCredentials(t, name, goodCredentials)
	toBuild(t, name)
	eventually(t, has(name, "Connected", "True", v1alpha1.ReasonConnected), argoIs(name, wc))
	return wc
}

// argoIs is nil when Argo CD knows the cluster at that server.
func argoIs(name string, wc *testcluster.Server) func() error {
	return func() error {
		data, err := argoData(name)
		if err == nil && data["server"] != wc.URL() {
			err = fmt.Errorf("Argo CD has %s at %s", name, data["server"])
		}
		return err
	}
}

// tokenOf is the token in use.
func tokenOf(t *testing.T, name string) string {
	t.Helper()
	data, err := argoData(name)
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ BearerToken string }
	if err := json.Unmarshal([]byte(data["config"]), &config); err != nil {
		t.Fatal(err)
	}
	return config.BearerToken
}

// lasts is nil when status.built says when a token was made and ends; zero: nothing.
func lasts(name string, made, ends time.Time) func() error {
	same := func(a *metav1.Time, b time.Time) bool { return a == nil && b.IsZero() || a != nil && a.Time.Equal(b) }
	return func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		if b := c.Status.Built; b == nil || !same(b.TokenMadeAt, made) || !same(b.TokenExpiresAt, ends) {
			return fmt.Errorf("status.built is %+v, want a token from %s to %s", b, made, ends)
		}
		return nil
	}
}

// TestConnectsWhatWasBuilt is the way from outputs to a cluster that Argo CD knows.
func TestConnectsWhatWasBuilt(t *testing.T) {
	h, a := withBuilds(t)
	wc := start(t, testcluster.Options{})
	h.turn(t, "built", applied(wc))
	toBuild(t, "built")
	eventually(t, has("built", "Connected", "False", v1alpha1.ReasonWaitingForCredentials, "kubectl -n infrared create secret generic cluster-built-credentials"))
	if asked := a.requests("built"); len(asked) > 0 {
		t.Errorf("nobody was to be asked without credentials: %d requests", len(asked))
	}
	cloudCredentials(t, "built", "S3CR3T.stale")
	eventually(t, has("built", "Connected", "False", v1alpha1.ReasonBadCredentials, "acme does not know ACME_TOKEN"), absent("infrared", "cluster-built-kubeconfig"))
	changeSecret(t, "infrared", "cluster-built-credentials", func(s *corev1.Secret) { s.Data["ACME_TOKEN"] = []byte(goodCredentials) })
	now := a.clock.Now()
	eventually(t, has("built", "Connected", "True", v1alpha1.ReasonConnected), opensBy("built", "S3CR3T.made-1", wc), lasts("built", now, now.Add(48*time.Hour)))

	got, err := getCluster("built")
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.Provider != "acmecloud" || got.Status.Region != "acme-1" {
		t.Errorf("it has no node that tells, and is where it was built: %q %q", got.Status.Provider, got.Status.Region)
	}
	secret, err := getSecret("infrared", "cluster-built-kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	if secret.Labels[v1alpha1.LabelIncarnation] != got.Spec.Incarnation || len(secret.OwnerReferences) != 1 || len(secret.Finalizers) != 1 {
		t.Errorf("it goes with the Cluster: %+v", secret.ObjectMeta)
	}
	making := a.making("built")
	req := making[len(making)-1]
	want := provider.Cluster{Name: "built", Incarnation: got.Spec.Incarnation, Region: "acme-1", Template: "acmecloud/cluster"}
	if req.Cluster != want || req.Endpoint != nil || req.RenewToken != 7*24*time.Hour || !req.PrivateAddresses || len(req.Outputs) != 2 {
		t.Errorf("it was asked %+v", req)
	}
	credentials, err := getSecret("infrared", "cluster-built-credentials")
	if err != nil || len(credentials.Labels)+len(credentials.Finalizers)+len(credentials.OwnerReferences) > 0 {
		t.Errorf("the credentials are the person's, and stay unmarked: %v %v", credentials, err)
	}
}

// TestTokenRenewed is that a token is renewed at half of its life, with the old one, and made anew when it has ended.
func TestTokenRenewed(t *testing.T) {
	h, a := withBuilds(t)
	wc := builtCluster(t, h, "renewed")
	first := tokenOf(t, "renewed")
	made := len(a.making("renewed"))
	a.clock.SetTime(a.clock.Now().Add(23 * time.Hour))
	looked(t, a.cloud, a.clock, "renewed") // two hours later at the least
	eventually(t, func() error {
		poke(t, "renewed")
		if token := tokenOf(t, "renewed"); token == first {
			return errors.New("the token is still the first")
		}
		return nil
	})
	renewal := a.making("renewed")[made]
	if renewal.Endpoint == nil || renewal.Endpoint.Token.Reveal() != first || !renewal.Credentials.IsZero() || renewal.RenewToken == 0 {
		t.Errorf("a renewal goes by the old token alone: %+v", renewal)
	}
	if err := has("renewed", "Connected", "True", v1alpha1.ReasonConnected)(); err != nil {
		t.Error(err)
	}

	second, made := tokenOf(t, "renewed"), len(a.making("renewed"))
	a.clock.SetTime(a.clock.Now().Add(100 * time.Hour)) // the operator was down for long
	eventually(t, func() error {
		poke(t, "renewed")
		if token := tokenOf(t, "renewed"); token == second {
			return errors.New("the token is still the second")
		}
		return nil
	}, oneToken("renewed", wc))
	if anew := a.making("renewed")[made]; anew.Endpoint != nil || anew.Credentials.IsZero() {
		t.Errorf("one that has ended is made by the outputs and the cloud's credentials: %+v", anew)
	}
}

// TestRenewalFails is that a cluster stays Connected while its token lasts.
func TestRenewalFails(t *testing.T) {
	h, a := withBuilds(t)
	builtCluster(t, h, "not-renewed")
	a.refuse(provider.Errorf(provider.Unavailable, "acme is away"))
	made := len(a.making("not-renewed"))
	eventually(t, func() error {
		a.clock.SetTime(a.clock.Now().Add(time.Hour))
		poke(t, "not-renewed")
		if len(a.making("not-renewed")) == made {
			return errors.New("no renewal was tried")
		}
		return nil
	})
	looked(t, a.cloud, a.clock, "not-renewed")
	eventually(t, has("not-renewed", "Connected", "True", v1alpha1.ReasonConnected))
	a.refuse(nil)
}

// TestTokenRefused is that a token which the cluster does not take any more is made anew, if there are credentials, and not again and again.
func TestTokenRefused(t *testing.T) {
	h, a := withBuilds(t)
	wc := builtCluster(t, h, "refused")
	first, made := tokenOf(t, "refused"), len(a.making("refused"))
	wc.Change(func(b *testcluster.Behaviour) { b.Token = "S3CR3T.other" })
	a.mu.Lock()
	a.blind = true
	a.mu.Unlock()
	looked(t, a.cloud, a.clock, "refused")
	eventually(t, func() error {
		poke(t, "refused")
		secret, err := getSecret("infrared", "cluster-refused-kubeconfig")
		if err == nil && strings.Contains(string(secret.Data["kubeconfig"]), first) {
			err = errors.New("none was made")
		}
		return err
	}, has("refused", "Connected", "False", v1alpha1.ReasonUnauthorized))
	for range 5 {
		poke(t, "refused")
	}
	if n := len(a.making("refused")) - made; n != 1 {
		t.Errorf("a token that is refused at once is made again and again: %d times", n)
	}
	deleteSecret(t, "infrared", "cluster-refused-credentials")
	eventually(t, absent("infrared", "cluster-refused-credentials"), func() error {
		a.clock.SetTime(a.clock.Now().Add(10 * time.Minute))
		poke(t, "refused")
		return has("refused", "Connected", "False", v1alpha1.ReasonWaitingForCredentials, "create secret generic cluster-refused-credentials")()
	})
	wc.Change(func(b *testcluster.Behaviour) { b.Token = "" })
	cloudCredentials(t, "refused", goodCredentials)
	eventually(t, has("refused", "Connected", "True", v1alpha1.ReasonConnected))
}

// TestOwnKubeconfig is what others may do with the kubeconfig Secret of a built cluster.
func TestOwnKubeconfig(t *testing.T) {
	h, a := withBuilds(t)
	t.Run("taken", func(t *testing.T) {
		wc := start(t, testcluster.Options{})
		foreign := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "infrared", Name: "cluster-taken-kubeconfig"},
			Data:       map[string][]byte{"kubeconfig": []byte("S3CR3T of a person")},
		}
		create(t, foreign)
		h.turn(t, "taken", applied(wc))
		cloudCredentials(t, "taken", goodCredentials)
		toBuild(t, "taken")
		eventually(t, has("taken", "Connected", "False", v1alpha1.ReasonKubeconfigTaken, "cluster-taken-kubeconfig", "delete it"))
		after, err := getSecret("infrared", foreign.Name)
		if err != nil || after.ResourceVersion != foreign.ResourceVersion {
			t.Errorf("somebody else's Secret was touched: %v %v", after, err)
		}
		deleteSecret(t, "infrared", foreign.Name)
		eventually(t, has("taken", "Connected", "True", v1alpha1.ReasonConnected))
	})
	t.Run("replaced", func(t *testing.T) {
		wc := builtCluster(t, h, "by-hand")
		changeSecret(t, "infrared", "cluster-by-hand-kubeconfig", func(s *corev1.Secret) {
			s.Data["kubeconfig"] = k0{User: `{token: "S3CR3T.by-hand"}`}.text(wc)
		})
		// Nothing tells when that token ends, so nobody renews it.
		eventually(t, opensBy("by-hand", "S3CR3T.by-hand", wc), has("by-hand", "Connected", "True", v1alpha1.ReasonConnected), lasts("by-hand", time.Time{}, time.Time{}))
	})
	t.Run("deleted", func(t *testing.T) {
		wc := builtCluster(t, h, "lost-own")
		before := tokenOf(t, "lost-own")
		deleteSecret(t, "infrared", "cluster-lost-own-kubeconfig")
		eventually(t, func() error {
			if tokenOf(t, "lost-own") == before {
				return errors.New("it is not made again")
			}
			return nil
		}, oneToken("lost-own", wc))
	})
	t.Run("by hand and alone", func(t *testing.T) {
		wc := builtCluster(t, h, "by-hand-alone")
		changeSecret(t, "infrared", "cluster-by-hand-alone-kubeconfig", func(s *corev1.Secret) {
			s.Data = map[string][]byte{"kubeconfig": k0{User: `{token: "S3CR3T.alone"}`}.text(wc)} // nothing of ours is left
		})
		eventually(t, opensBy("by-hand-alone", "S3CR3T.alone", wc), has("by-hand-alone", "Connected", "True", v1alpha1.ReasonConnected))
	})
	t.Run("ledger lost", func(t *testing.T) {
		wc := builtCluster(t, h, "no-ledger")
		turn := applied(wc)
		turn.Applied = nil
		h.turn(t, "no-ledger", turn)
		deleteSecret(t, "infrared", "cluster-no-ledger-kubeconfig")
		eventually(t, absent("infrared", "cluster-no-ledger-kubeconfig"), has("no-ledger", "Connected", "True", v1alpha1.ReasonReplacementRefused, "Apply again", `"run":1`))
	})
	t.Run("another cluster", func(t *testing.T) {
		builtCluster(t, h, "rebuilt")
		two := start(t, testcluster.Options{})
		a.clock.SetTime(a.clock.Now().Add(time.Hour))
		h.turn(t, "rebuilt", applied(two)) // an approved plan has replaced it
		eventually(t, has("rebuilt", "Connected", "True", v1alpha1.ReasonConnected), argoIs("rebuilt", two), func() error {
			c, err := getCluster("rebuilt")
			if err == nil && c.Status.Identity.KubeSystemUID != two.Behaviour().UID {
				err = errors.New("it is still known as the old one")
			}
			return err
		})
	})
}
