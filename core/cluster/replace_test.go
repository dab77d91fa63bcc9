// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testcluster"
)

// replacementCases are those in which the kubeconfig of a connected cluster changes.
func replacementCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"good":           replacedByAGoodOne,
		"bad":            replacedByBadOnes,
		"another":        replacedByAnotherCluster,
		"unknown":        replacedByAnUnknownCluster,
		"deleted":        kubeconfigDeleted,
		"other secret":   otherSecretNamed,
		"late":           kubeconfigMadeLater,
		"delete the bad": badKubeconfigDeleted,
		"limited":        limitedAccount,
	}
}

// change changes a Cluster, again where somebody else was faster.
func change(t *testing.T, name string, f func(*v1alpha1.Cluster)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		c, err := getCluster(name)
		if err != nil {
			return err
		}
		f(c)
		return env.Client.Update(t.Context(), c)
	})
	if err != nil {
		t.Fatalf("changing Cluster %s: %v", name, err)
	}
}

// replace changes what a Cluster's kubeconfig Secret holds.
func replace(t *testing.T, cluster string, kubeconfig []byte) {
	t.Helper()
	changeSecret(t, v1alpha1.Namespace, cluster+"-kubeconfig", func(s *corev1.Secret) { s.Data["kubeconfig"] = kubeconfig })
}

func changeSecret(t *testing.T, namespace, name string, f func(*corev1.Secret)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		s, err := getSecret(namespace, name)
		if err != nil {
			return err
		}
		f(s)
		return env.Client.Update(t.Context(), s)
	})
	if err != nil {
		t.Fatalf("changing Secret %s/%s: %v", namespace, name, err)
	}
}

// argoConfig is nil when Argo CD's Secret has just this under config.
func argoConfig(name, want string) func() error {
	return func() error {
		data, err := argoData(name)
		if err == nil && data["config"] != want {
			err = fmt.Errorf("Argo CD's config of %s is %s, want %s", name, data["config"], want)
		}
		return err
	}
}

func replacedByAGoodOne(t *testing.T, _ *world) {
	b := testcluster.Good()
	one, two := start(t, testcluster.Options{Behaviour: &b}), start(t, testcluster.Options{Behaviour: &b})
	register(t, "rotate", k0{}.text(one))
	eventually(t, has("rotate", "Connected", "True", v1alpha1.ReasonConnected))

	replace(t, "rotate", k0{User: `{token: "S3CR3T.new"}`}.text(one))
	eventually(t, argoConfig("rotate", tokenConfig("S3CR3T.new", one)), has("rotate", "Connected", "True", v1alpha1.ReasonConnected))

	// The same cluster at another address, as after a move of its load balancer.
	replace(t, "rotate", k0{}.text(two))
	eventually(t, argoHas("rotate", map[string]string{"name": "rotate", "server": two.URL(), "config": tokenConfig("S3CR3T.abc", two)}))

	// The first address is free for another Cluster now.
	one.Change(func(b *testcluster.Behaviour) { b.UID = testcluster.Good().UID })
	register(t, "rotate-old", k0{}.text(one))
	eventually(t, has("rotate-old", "Connected", "True", v1alpha1.ReasonConnected))
}

func replacedByBadOnes(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	wc.Change(func(b *testcluster.Behaviour) { b.Token = "S3CR3T.abc" })
	register(t, "keep", k0{}.text(wc))
	eventually(t, has("keep", "Connected", "True", v1alpha1.ReasonConnected))
	bad := map[string]struct {
		reason string
		text   []byte
		word   string
	}{
		"exec":    {"refused by itself", k0{User: `{exec: {command: aws}}`}.text(wc), "exec"},
		"garbage": {"no kubeconfig", []byte("S3CR3T"), "kubeconfig"},
		"token":   {"the cluster doesn't take it", k0{User: `{token: "S3CR3T.wrong"}`}.text(wc), "does not take the credential"},
		"dead":    {"nothing is there", k0{Server: "https://127.0.0.1:1"}.text(wc), "refuses the connection"},
	}
	for name, tc := range bad {
		replace(t, "keep", tc.text)
		eventually(t, has("keep", "Connected", "True", v1alpha1.ReasonReplacementRefused, tc.word))
		if err := argoConfig("keep", tokenConfig("S3CR3T.abc", wc))(); err != nil {
			t.Errorf("%s (%s): %v", name, tc.reason, err)
		}
	}
	replace(t, "keep", k0{}.text(wc))
	eventually(t, has("keep", "Connected", "True", v1alpha1.ReasonConnected))
}

func replacedByAnotherCluster(t *testing.T, _ *world) {
	one, two := start(t, testcluster.Options{}), start(t, testcluster.Options{})
	register(t, "identity", k0{}.text(one))
	eventually(t, has("identity", "Connected", "True", v1alpha1.ReasonConnected))
	replace(t, "identity", k0{}.text(two))
	eventually(t, has("identity", "Connected", "True", v1alpha1.ReasonReplacementRefused, one.Behaviour().UID, two.Behaviour().UID))
	if err := argoConfig("identity", tokenConfig("S3CR3T.abc", one))(); err != nil {
		t.Error(err)
	}
	// The other one was not taken, so it can be registered under a name of its own.
	register(t, "identity-two", k0{}.text(two))
	eventually(t, has("identity-two", "Connected", "True", v1alpha1.ReasonConnected))
	replace(t, "identity", k0{}.text(one))
	eventually(t, has("identity", "Connected", "True", v1alpha1.ReasonConnected))
}

func deleteSecret(t *testing.T, namespace, name string) {
	t.Helper()
	s := &corev1.Secret{}
	s.Namespace, s.Name = namespace, name
	if err := env.Client.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// kubeconfigDeleted is that a kubeconfig Secret that somebody deletes costs no connection, and may be made anew.
func kubeconfigDeleted(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "lost", k0{}.text(wc))
	eventually(t, has("lost", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("lost", tokenConfig("S3CR3T.abc", wc)))
	deleteSecret(t, v1alpha1.Namespace, "lost-kubeconfig")
	eventually(t, absent(v1alpha1.Namespace, "lost-kubeconfig"), has("lost", "Connected", "True", v1alpha1.ReasonReplacementRefused, "create secret generic lost-kubeconfig"))
	if err := argoConfig("lost", tokenConfig("S3CR3T.abc", wc))(); err != nil {
		t.Error(err)
	}
	create(t, kubeconfigSecret("lost", k0{User: `{token: "S3CR3T.again"}`}.text(wc)))
	eventually(t, has("lost", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("lost", tokenConfig("S3CR3T.again", wc)))
}

// badKubeconfigDeleted is that a person who made a bad Secret can delete it, to make another.
func badKubeconfigDeleted(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "typo", []byte("S3CR3T"))
	eventually(t, has("typo", "Connected", "False", v1alpha1.ReasonKubeconfigInvalid))
	deleteSecret(t, v1alpha1.Namespace, "typo-kubeconfig")
	eventually(t, absent(v1alpha1.Namespace, "typo-kubeconfig"), has("typo", "Connected", "False", v1alpha1.ReasonKubeconfigMissing))
	create(t, kubeconfigSecret("typo", k0{}.text(wc)))
	eventually(t, has("typo", "Connected", "True", v1alpha1.ReasonConnected))
}

// otherSecretNamed is that a Secret that the Cluster names no longer goes back to whoever made it.
func otherSecretNamed(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "renamed", k0{}.text(wc))
	eventually(t, has("renamed", "Connected", "True", v1alpha1.ReasonConnected))
	create(t, kubeconfigSecret("renamed-new", k0{User: `{token: "S3CR3T.new"}`}.text(wc)))
	change(t, "renamed", func(c *v1alpha1.Cluster) { c.Spec.Connection.KubeconfigSecretRef.Name = "renamed-new-kubeconfig" })
	eventually(t, argoConfig("renamed", tokenConfig("S3CR3T.new", wc)), func() error {
		old, err := getSecret(v1alpha1.Namespace, "renamed-kubeconfig")
		if err != nil {
			return err
		}
		if len(old.Finalizers)+len(old.OwnerReferences)+len(old.Labels) > 0 {
			return fmt.Errorf("the old Secret is still marked: %v %v %v", old.Finalizers, old.OwnerReferences, old.Labels)
		}
		return nil
	})
	letGo(t, "renamed")
	eventually(t, absent(v1alpha1.Namespace, "renamed-new-kubeconfig"))
	if _, err := getSecret(v1alpha1.Namespace, "renamed-kubeconfig"); err != nil {
		t.Errorf("the Secret that was given back is gone: %v", err)
	}
	deleteSecret(t, v1alpha1.Namespace, "renamed-kubeconfig")
	eventually(t, absent(v1alpha1.Namespace, "renamed-kubeconfig"))
}

// kubeconfigMadeLater is that the two may be made in any order.
func kubeconfigMadeLater(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	create(t, workload("late"))
	t.Cleanup(func() { letGo(t, "late") })
	eventually(t, has("late", "Connected", "False", v1alpha1.ReasonKubeconfigMissing, "kubectl -n infrared create secret generic late-kubeconfig"))
	create(t, &corev1.Secret{ObjectMeta: kubeconfigSecret("late", nil).ObjectMeta, Data: map[string][]byte{"config": k0{}.text(wc)}})
	eventually(t, has("late", "Connected", "False", v1alpha1.ReasonKubeconfigMissing, "has no key kubeconfig"))
	change(t, "late", func(c *v1alpha1.Cluster) { c.Spec.Connection.KubeconfigSecretRef.Key = "config" })
	eventually(t, has("late", "Connected", "True", v1alpha1.ReasonConnected), func() error {
		s, err := getSecret(v1alpha1.Namespace, "late-kubeconfig")
		if err != nil {
			return err
		}
		if s.Labels[v1alpha1.LabelCluster] != "late" || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].Name != "late" {
			return fmt.Errorf("the Secret is not the Cluster's: %v %v", s.Labels, s.OwnerReferences)
		}
		return nil
	})
}

// limitedAccount is that an account that may read less is enough.
func limitedAccount(t *testing.T, _ *world) {
	b := testcluster.Good()
	b.Forbidden = []string{"/api/v1/nodes", "/kube-system"}
	wc := start(t, testcluster.Options{Behaviour: &b})
	register(t, "limited", k0{}.text(wc))
	eventually(t, has("limited", "Connected", "True", v1alpha1.ReasonLimitedAccess, "v1.31.4", "nodes", "kube-system"),
		argoConfig("limited", tokenConfig("S3CR3T.abc", wc)))
	c, err := getCluster("limited")
	if err != nil || c.Status.Nodes.Total != nil || c.Status.Nodes.Unknown == "" || c.Status.Identity.KubeSystemUID != "" {
		t.Errorf("what is not known of it: %+v %v", c.Status, err)
	}
}

// secretCases are those in which somebody else touches the Secrets.
func secretCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"argo deleted":  argoSecretDeleted,
		"argo edited":   argoSecretEdited,
		"argo stripped": argoSecretStripped,
		"argo foreign":  argoSecretForeign,
		"one for two":   oneSecretForTwo,
	}
}

func argoSecretDeleted(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "argo-deleted", k0{}.text(wc))
	eventually(t, argoConfig("argo-deleted", tokenConfig("S3CR3T.abc", wc)))
	before, err := getSecret("argocd", "cluster-argo-deleted")
	if err != nil {
		t.Fatal(err)
	}
	deleteSecret(t, "argocd", "cluster-argo-deleted")
	eventually(t, argoConfig("argo-deleted", tokenConfig("S3CR3T.abc", wc)), func() error {
		after, err := getSecret("argocd", "cluster-argo-deleted")
		if err == nil && after.UID == before.UID {
			err = fmt.Errorf("the old Secret is still there, deleted %v", after.DeletionTimestamp)
		}
		return err
	})
}

// argoSecretEdited is that what we say comes back, and what others say stays.
func argoSecretEdited(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "argo-edited", k0{}.text(wc))
	eventually(t, has("argo-edited", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("argo-edited", tokenConfig("S3CR3T.abc", wc)))
	want := map[string]string{"name": "argo-edited", "server": wc.URL(), "config": tokenConfig("S3CR3T.abc", wc), "project": "shop", "shard": "1"}
	edits := map[string]string{
		"name": "somebody", "server": "https://kubernetes.default.svc", "config": "S3CR3T is no JSON",
	}
	for key, value := range edits {
		changeSecret(t, "argocd", "cluster-argo-edited", func(s *corev1.Secret) {
			s.Data[key], s.Data["project"], s.Data["shard"] = []byte(value), []byte("shop"), []byte("1")
		})
		eventually(t, argoHas("argo-edited", want), has("argo-edited", "Connected", "True", v1alpha1.ReasonConnected))
	}
}

func argoSecretStripped(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "argo-stripped", k0{}.text(wc))
	eventually(t, has("argo-stripped", "Connected", "True", v1alpha1.ReasonConnected), argoConfig("argo-stripped", tokenConfig("S3CR3T.abc", wc)))
	for _, key := range []types.NamespacedName{{Namespace: "argocd", Name: "cluster-argo-stripped"}, {Namespace: "infrared", Name: "argo-stripped-kubeconfig"}} {
		before, err := getSecret(key.Namespace, key.Name)
		if err != nil {
			t.Fatal(err)
		}
		changeSecret(t, key.Namespace, key.Name, func(s *corev1.Secret) {
			for name := range before.Labels {
				// The others are guarded by a policy.
				if name != v1alpha1.LabelCluster && name != v1alpha1.LabelIncarnation {
					delete(s.Labels, name)
				}
			}
		})
		changeSecret(t, key.Namespace, key.Name, func(s *corev1.Secret) { s.OwnerReferences = nil })
		eventually(t, func() error {
			s, err := getSecret(key.Namespace, key.Name)
			if err != nil {
				return err
			}
			for name, value := range before.Labels {
				if s.Labels[name] != value {
					return fmt.Errorf("label %s of %s is %q", name, key, s.Labels[name])
				}
			}
			if len(s.OwnerReferences) != 1 || len(s.Finalizers) != 1 {
				return fmt.Errorf("%s has owners %v and finalizers %v", key, s.OwnerReferences, s.Finalizers)
			}
			return nil
		})
	}
}

// argoSecretForeign is that somebody else's Secret is neither read nor written.
func argoSecretForeign(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	foreign := &corev1.Secret{Data: map[string][]byte{"name": []byte("prod"), "server": []byte("https://prod.example.net"), "config": []byte("{}")}}
	foreign.Namespace, foreign.Name = "argocd", "cluster-foreign"
	foreign.Labels = map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
	create(t, foreign)
	register(t, "foreign", k0{}.text(wc))
	eventually(t, has("foreign", "Registered", "False", v1alpha1.ReasonArgoSecretTaken, "cluster-foreign"))
	letGo(t, "foreign")
	after, err := getSecret("argocd", "cluster-foreign")
	if err != nil || after.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("somebody else's Secret was touched: %v %v", after, err)
	}
}

// oneSecretForTwo is that the first Cluster has it, and the second one says so.
func oneSecretForTwo(t *testing.T, _ *world) {
	wc := start(t, testcluster.Options{})
	register(t, "first", k0{}.text(wc))
	eventually(t, has("first", "Connected", "True", v1alpha1.ReasonConnected))
	naming := func(name, org string) {
		c := workload(name)
		c.Spec.Org = org
		c.Spec.Connection.KubeconfigSecretRef.Name = "first-kubeconfig"
		create(t, c)
		t.Cleanup(func() { letGo(t, name) })
	}
	naming("second", "")
	eventually(t, has("second", "Connected", "False", v1alpha1.ReasonKubeconfigTaken, "Cluster first"), absent("argocd", "cluster-second"))
	naming("third", "acme")
	eventually(t, has("third", "Connected", "False", v1alpha1.ReasonKubeconfigTaken, "another Cluster"), absent("argocd", "cluster-third"))
	letGo(t, "second")
	letGo(t, "third")
	if _, err := getSecret("infrared", "first-kubeconfig"); err != nil {
		t.Errorf("the first one's kubeconfig went with the second: %v", err)
	}
	eventually(t, has("first", "Connected", "True", v1alpha1.ReasonConnected))
}

// records are the DeletionRecords of a name.
func records(t *testing.T, cluster string) []v1alpha1.DeletionRecord {
	t.Helper()
	var list v1alpha1.DeletionRecordList
	if err := env.Client.List(context.Background(), &list, client.MatchingLabels{v1alpha1.LabelCluster: cluster}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// events are the texts of the events about a Cluster.
func events(t *testing.T, cluster string) string {
	t.Helper()
	out, err := env.Kubectl(t.Context(), "get", "events.v1.events.k8s.io", "-A", "-o",
		`jsonpath={range .items[?(@.regarding.name=="`+cluster+`")]}{.reason}: {.note}{"\n"}{end}`)
	if err != nil {
		t.Fatalf("reading events: %v: %s", err, out)
	}
	return strings.TrimSpace(out)
}
