// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
)

const sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func aProvider(name string) *v1alpha1.Provider {
	return &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ProviderSpec{Binary: "eks", SHA256: sum},
	}
}

// setStatus writes a Provider's status as the operator.
func setStatus(t *testing.T, name, status string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := theOperator(t).Status().Patch(t.Context(), aProvider(name), patch); err != nil {
		t.Fatal(err)
	}
}

func TestProviderRules(t *testing.T) {
	named := func(name string) func(*v1alpha1.Provider) { return func(p *v1alpha1.Provider) { p.Name = name } }
	binary := func(name string) func(*v1alpha1.Provider) {
		return func(p *v1alpha1.Provider) { p.Spec.Binary = name }
	}
	sha := func(sum string) func(*v1alpha1.Provider) { return func(p *v1alpha1.Provider) { p.Spec.SHA256 = sum } }
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.Provider)
		words  []string
	}{
		"good":          {"as the docs have it", func(*v1alpha1.Provider) {}, nil},
		"file":          {"whatever files are called", binary("infrared-eks_v0.14.0"), nil},
		"name 33":       {"it stands in labels", named(strings.Repeat("a", 33)), []string{"metadata.name", "32"}},
		"name dot":      {"it stands in labels", named("a.b"), []string{"metadata.name", "lowercase"}},
		"binary none":   {"nothing to run", binary(""), []string{"spec.binary", "name of a file"}},
		"binary path":   {"out of the folder", binary("../eks"), []string{"spec.binary", "no path"}},
		"binary slash":  {"no file's name", binary("aws/eks"), []string{"spec.binary", "no path"}},
		"binary root":   {"anything on the machine", binary("/bin/sh"), []string{"spec.binary", "no path"}},
		"binary dots":   {"the folder above", binary(".."), []string{"spec.binary", "no path"}},
		"binary hidden": {"begins with a letter", binary(".eks"), []string{"spec.binary"}},
		"binary blank":  {"two words", binary("eks --debug"), []string{"spec.binary"}},
		"binary line":   {"a line after it", binary("eks\n"), []string{"spec.binary"}},
		"sum none":      {"an unpinned program", sha(""), []string{"spec.sha256", "64 characters"}},
		"sum short":     {"half a sum", sha(sum[:32]), []string{"spec.sha256", "64 characters"}},
		"sum long":      {"more than one", sha(sum + "0"), []string{"spec.sha256", "64 characters"}},
		"sum upper":     {"one way to write it", sha(strings.ToUpper(sum)), []string{"spec.sha256", "a-f"}},
		"sum prefix":    {"as images have it", sha("sha256:" + sum[:57]), []string{"spec.sha256", "sha256sum"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := aProvider("probe")
			tc.change(p)
			err := env.Client.Create(t.Context(), p, client.DryRunAll)
			if len(tc.words) == 0 && err != nil {
				t.Errorf("%s, but: %v", tc.reason, err)
			}
			if len(tc.words) > 0 {
				if wrong := refusedBy(err, tc.words...); wrong != nil {
					t.Errorf("%s, but %v", tc.reason, wrong)
				}
			}
		})
	}
}

// TestProviderManifest applies what people keep in git, twice.
func TestProviderManifest(t *testing.T) {
	text, err := os.ReadFile("testdata/providers/eks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want, got v1alpha1.Provider
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatalf("a field is unknown to the types: %v", err)
	}
	for range 2 {
		out, err := env.KubectlIn(t.Context(), string(text), "apply", "--server-side", "--validate=strict", "-f", "-")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(&want), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("what was applied and what is stored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&got, got.DeepCopy()); diff != "" {
		t.Errorf("a deep copy differs:\n%s", diff)
	}
}

// TestProviderColumns is the shape of what kubectl get providers prints.
func TestProviderColumns(t *testing.T) {
	mustCreate(t, env.Client, aProvider("columns"))
	setStatus(t, "columns", `{"provider":"aws","version":"v0.14.0","protocol":1,"restarts":2,"usedBy":{"count":3,"clusters":["a","b","c"]},
		"templates":[{"name":"aws/eks-cluster","title":"AWS · EKS"}],"capabilities":["Accounts"],"nodePrefixes":["aws://"],"pid":7,
		"conditions":[{"type":"Healthy","status":"False","reason":"Crashed","message":"Gone.","lastTransitionTime":"2026-01-01T00:00:00Z"}]}`)
	out, err := env.Kubectl(t.Context(), "get", "providers", "columns")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got [][]string
	for line := range strings.Lines(out) {
		got = append(got, strings.Fields(line))
	}
	got[1] = got[1][:len(got[1])-1] // its age
	want := [][]string{
		{"NAME", "PROVIDER", "VERSION", "PROTOCOL", "HEALTH", "RESTARTS", "USED", "BY", "MESSAGE", "AGE"},
		{"columns", "aws", "v0.14.0", "1", "Crashed", "2", "3", "Gone."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// TestProviderDeletePolicy is that a Provider which Clusters use is deleted in no way.
func TestProviderDeletePolicy(t *testing.T) {
	used := map[string]string{"used-one": `{"count":1,"clusters":["edge"]}`, "used-many": `{"count":12,"clusters":["a","b"]}`}
	for name, by := range used {
		p := aProvider(name)
		p.Labels = map[string]string{"policy": "delete"}
		mustCreate(t, env.Client, p)
		setStatus(t, name, `{"usedBy":`+by+`}`)
	}
	// The API server follows a policy with a delay.
	testenv.Eventually(t, func() error {
		return refusedBy(env.Client.Delete(t.Context(), aProvider("used-one"), client.DryRunAll), "used-one is used by Cluster edge:", "spec.sha256")
	})
	words := []string{"used-many is used by Clusters a, b and 10 more:", "Let them go first"}
	if wrong := refusedBy(env.Client.Delete(t.Context(), aProvider("used-many")), words...); wrong != nil {
		t.Errorf("Clusters would be left without it, but %v", wrong)
	}
	if wrong := refusedBy(env.Client.DeleteAllOf(t.Context(), &v1alpha1.Provider{}, client.MatchingLabels{"policy": "delete"}), "is used by"); wrong != nil {
		t.Errorf("all at once is no way around, but %v", wrong)
	}
	for name := range used {
		if err := env.Client.Get(t.Context(), types.NamespacedName{Name: name}, &v1alpha1.Provider{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, by := range map[string]string{"free": `{}`, "free-0": `{"usedBy":{"count":0}}`} {
		mustCreate(t, env.Client, aProvider(name))
		setStatus(t, name, by)
		if err := env.Client.Delete(t.Context(), aProvider(name)); err != nil {
			t.Errorf("nobody uses it, but: %v", err)
		}
	}
}

// TestProviderWritePolicy is that a Provider's finalizer is the operator's.
func TestProviderWritePolicy(t *testing.T) {
	p := aProvider("kept")
	p.Finalizers = []string{v1alpha1.FinalizerPlugin}
	mustCreate(t, env.Client, p)
	as := func(c client.Client, patch string) error {
		return c.Patch(t.Context(), aProvider("kept"), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	const off = `{"metadata":{"finalizers":null}}`
	testenv.Eventually(t, func() error {
		err := env.Client.Patch(t.Context(), aProvider("kept"), client.RawPatch(types.MergePatchType, []byte(off)), client.DryRunAll)
		return refusedBy(err, "metadata.finalizers", "infrared-operator alone", "status.usedBy")
	})
	if wrong := refusedBy(as(env.Client, `{"metadata":{"finalizers":["example.net/other"]}}`), "metadata.finalizers"); wrong != nil {
		t.Errorf("another one is no substitute, but %v", wrong)
	}
	if err := as(env.Client, fmt.Sprintf(`{"spec":{"binary":"eks-2"},"metadata":{"finalizers":["example.net/other",%q]}}`, v1alpha1.FinalizerPlugin)); err != nil {
		t.Errorf("the rest of it is a person's, but: %v", err)
	}
	if err := as(theOperator(t), off); err != nil {
		t.Errorf("the operator takes it off, but: %v", err)
	}
}
