// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// fixtures are the manifests of testdata, which every later version must take as they are.
func fixtures(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no manifests in testdata: %v", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

// TestManifests applies what people keep in git, twice, and sees that nothing of it is lost on the way.
func TestManifests(t *testing.T) {
	for path, text := range fixtures(t) {
		t.Run(path, func(t *testing.T) {
			var want v1alpha1.Cluster
			if err := yaml.UnmarshalStrict([]byte(text), &want); err != nil {
				t.Fatalf("a field is unknown to the types: %v", err)
			}
			for range 2 {
				out, err := env.KubectlIn(t.Context(), text, "apply", "--server-side", "--validate=strict", "-f", "-")
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			var got v1alpha1.Cluster
			if err := env.Client.Get(t.Context(), types.NamespacedName{Name: want.Name}, &got); err != nil {
				t.Fatal(err)
			}
			if ref := want.Spec.Connection; ref != nil && ref.KubeconfigSecretRef.Key == "" {
				ref.KubeconfigSecretRef.Key = v1alpha1.KubeconfigKey
			}
			if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
				t.Errorf("what was applied and what is stored (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&got, got.DeepCopy()); diff != "" {
				t.Errorf("a deep copy differs:\n%s", diff)
			}
		})
	}
}

// TestDefaults is what a field means that is left out.
func TestDefaults(t *testing.T) {
	c := registered("defaults")
	building("aws/eks-cluster", "v0.14.0")(c)
	c.Spec.Provision = &v1alpha1.Provision{CloudAccount: "prod-aws"}
	if err := env.Client.Create(t.Context(), c, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if c.Spec.Type != v1alpha1.Workload || c.Spec.Provision.Action != v1alpha1.ActionPlan {
		t.Errorf("defaults: %q %q", c.Spec.Type, c.Spec.Provision.Action)
	}
}

// TestEveryFieldIsExplained is that kubectl explain has a sentence for each field.
func TestEveryFieldIsExplained(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(env.Root, "deploy", "crds", "*.yaml"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("want three CRDs, found %v: %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, field := range unexplained("", crd.Spec.Versions[0].Schema.OpenAPIV3Schema) {
			t.Errorf("%s: %s has no description", filepath.Base(path), field)
		}
	}
	for path, want := range map[string]string{
		"cluster.spec.connection":                     "how to reach a cluster",
		"cluster.spec.connection.kubeconfigSecretRef": "takes the Secret over",
		"cluster.spec.provision.action":               "plan",
		"cluster.status.identity.kubeSystemUID":       "lives as long as the cluster",
		"deletionrecord.spec.forced":                  "by whom",
		"provider.spec.sha256":                        "is never run",
	} {
		out, err := env.Kubectl(t.Context(), "explain", path)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("kubectl explain %s does not say %q: %v: %s", path, want, err, out)
		}
	}
}

// unexplained are the fields below a schema without a description. Those of Kubernetes' own metadata are Kubernetes' business.
func unexplained(path string, schema map[string]any) []string {
	var found []string
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range properties {
		field := value.(map[string]any)
		at := strings.TrimPrefix(path+"."+name, ".")
		if at == "metadata" {
			continue
		}
		if field["description"] == nil || field["description"] == "" {
			found = append(found, at)
		}
		found = append(found, unexplained(at, field)...)
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if below, ok := schema[inner].(map[string]any); ok {
			found = append(found, unexplained(path+"[]", below)...)
		}
	}
	slices.Sort(found)
	return found
}

// TestColumns is the shape of what kubectl get prints.
func TestColumns(t *testing.T) {
	mustCreate(t, env.Client, registered("columns"))
	status := `{"status":{"provider":"aws","region":"us-east-1","kubernetesVersion":"v1.31.4","nodes":{"total":3},
		"conditions":[
			{"type":"Connected","status":"True","reason":"Connected","message":"It answers.","lastTransitionTime":"2026-01-01T00:00:00Z"},
			{"type":"Registered","status":"False","reason":"AppOfAppsMissing","message":"Not yet.","lastTransitionTime":"2026-01-01T00:00:00Z"}],
		"run":{"generation":1,"action":"apply","phase":"Succeeded"},
		"deletion":{"step":"Disconnect","state":"Stuck"}}}`
	if err := theOperator(t).Status().Patch(t.Context(), registered("columns"), client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want [][]string
	}{
		"people": {nil, [][]string{
			{"NAME", "TYPE", "PROVIDER", "REGION", "VERSION", "NODES", "CONNECTED", "REGISTERED", "RUN", "DELETING", "STATE", "AGE"},
			{"columns", "workload", "aws", "us-east-1", "v1.31.4", "3", "True", "False", "Succeeded", "Disconnect", "Stuck"},
		}},
		"wide": {[]string{"-o", "wide"}, [][]string{
			{"NAME", "TYPE", "PROVIDER", "REGION", "VERSION", "NODES", "CONNECTED", "REGISTERED", "RUN", "DELETING", "STATE", "AGE", "ORG", "TEMPLATE", "MESSAGE"},
			{"columns", "workload", "aws", "us-east-1", "v1.31.4", "3", "True", "False", "Succeeded", "Disconnect", "Stuck"},
		}},
	}
	for name, tc := range cases {
		out, err := env.Kubectl(t.Context(), append([]string{"get", "clusters", "columns"}, tc.args...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got [][]string
		for line := range strings.Lines(out) {
			got = append(got, strings.Fields(line))
		}
		got[1] = got[1][:min(len(got[1]), len(tc.want[1]))] // the age, and what follows, are not compared
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRunbooks is that every reason with something to do has a page, and no page is left of one that is gone.
func TestRunbooks(t *testing.T) {
	var want []string
	for _, reason := range v1alpha1.Reasons {
		if !reason.Good {
			want = append(want, reason.Name+".md")
		}
	}
	paths, err := filepath.Glob(filepath.Join(env.Root, "docs", "runbooks", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range paths {
		if name := filepath.Base(path); name != "README.md" {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons and the pages under docs/runbooks (-reasons +pages):\n%s", diff)
	}
}
