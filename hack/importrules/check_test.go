// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package importrules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "darkshift.io/infrared"

// TestProject holds the project's own packages against the rules.
func TestProject(t *testing.T) {
	graph, err := Load(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := graph[module+"/hack/importrules"]; !ok {
		t.Fatalf("the graph lacks this very package, so it is not the project's: %d packages", len(graph))
	}
	violations, unused := Check(module, graph, Rules())
	for _, v := range violations {
		t.Error(v)
	}
	for _, reason := range unused {
		t.Logf("no package yet for: %s", reason)
	}
}

// TestCheck holds made-up graphs against the rules, so that the rules are seen to forbid.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		reason string
		graph  map[string]string // imports, separated by spaces; ./ is the module
		want   []string
	}{
		"Allowed": {
			reason: "what the design asks for passes, tests' own imports included, as they are not in the graph",
			graph: map[string]string{
				"./core/cluster":      "k8s.io/api/core/v1 ./sdk/connect ./core/api/v1alpha1",
				"./core/api/v1alpha1": "k8s.io/apimachinery/pkg/runtime std",
				"./core/pipeline":     "std ./core/api/v1alpha1",
				"./core/pluginhost":   "./sdk/plugin",
				"./plugins/eks":       "./sdk/plugin github.com/aws/aws-sdk-go-v2/aws",
				"./sdk/provider":      "std",
				"./cmd/ir":            "./internal/devstack",
			},
		},
		"ProviderNeedsMore": {
			reason: "the provider interface may use nothing, not even another part of the SDK",
			graph:  map[string]string{"./sdk/provider": "std ./sdk/dial example.org/x"},
			want:   []string{"./sdk/provider -> ./sdk/dial", "./sdk/provider -> example.org/x"},
		},
		"SDKKnowsCore": {
			reason: "no part of the SDK may know core, or internal packages",
			graph:  map[string]string{"./sdk/connect": "./core/api/v1alpha1 ./internal/devstack"},
			want:   []string{"./sdk/connect -> ./core/api/v1alpha1", "./sdk/connect -> ./internal/devstack"},
		},
		"SDKKubernetesHidden": {
			reason: "Kubernetes behind another package is as heavy as in front, and the chain shows where it comes from",
			graph: map[string]string{
				"./sdk/dial":         "example.org/helper",
				"example.org/helper": "k8s.io/client-go/rest",
			},
			want: []string{"./sdk/dial -> example.org/helper -> k8s.io/client-go/rest"},
		},
		"CoreKnowsCloud": {
			reason: "neither a cloud's SDK nor a plugin may be reached from core",
			graph: map[string]string{
				"./core/account": "github.com/aws/aws-sdk-go-v2/aws ./plugins/gke",
				"./plugins/gke":  "std",
			},
			want: []string{"./core/account -> ./plugins/gke", "./core/account -> github.com/aws/aws-sdk-go-v2/aws"},
		},
		"HeavyAPITypes": {
			reason: "client-go in the API types would be in everybody's build",
			graph:  map[string]string{"./core/api/v1alpha1": "k8s.io/client-go/rest"},
			want:   []string{"./core/api/v1alpha1 -> k8s.io/client-go/rest"},
		},
		"ImpureEngine": {
			reason: "the step engine reaches no cluster",
			graph:  map[string]string{"./core/pipeline": "sigs.k8s.io/controller-runtime/pkg/client"},
			want:   []string{"./core/pipeline -> sigs.k8s.io/controller-runtime/pkg/client"},
		},
		"SecondPluginOwner": {
			reason: "only the plugin host deals with plugin processes",
			graph:  map[string]string{"./core/build": "./sdk/plugin github.com/hashicorp/go-plugin"},
			want:   []string{"./core/build -> ./sdk/plugin", "./core/build -> github.com/hashicorp/go-plugin"},
		},
		"PluginsTogether": {
			reason: "one plugin may not lean on another, nor on core",
			graph:  map[string]string{"./plugins/eks": "./plugins/gke/module ./plugins/eks/module ./core/inventory"},
			want:   []string{"./plugins/eks -> ./core/inventory", "./plugins/eks -> ./plugins/gke/module"},
		},
		"RESTReachesOut": {
			reason: "the REST API starts no plugin and reaches no workload cluster",
			graph:  map[string]string{"./core/rest": "./core/pluginhost ./core/remote"},
			want:   []string{"./core/rest -> ./core/pluginhost", "./core/rest -> ./core/remote"},
		},
		"CommandPastREST": {
			reason: "ir may not read core's types through a helper either",
			graph: map[string]string{
				"./cmd/ir":            "./internal/devstack",
				"./internal/devstack": "./core/api/v1alpha1",
			},
			want: []string{"./cmd/ir -> ./internal/devstack -> ./core/api/v1alpha1"},
		},
		"SlowCommand": {
			reason: "ir must not compile Kubernetes",
			graph:  map[string]string{"./internal/devstack": "k8s.io/api/core/v1"},
			want:   []string{"./internal/devstack -> k8s.io/api/core/v1"},
		},
		"ProgramAsLibrary": {
			reason: "a program is nobody's library",
			graph:  map[string]string{"./internal/devstack": "./cmd/ir/table"},
			want:   []string{"./internal/devstack -> ./cmd/ir/table"},
		},
		"TestPartsShipped": {
			reason: "a stand-in for a cluster must not get into a program",
			graph:  map[string]string{"./cmd/infrared-operator": "./internal/testcluster ./hack/killproxy"},
			want: []string{
				"./cmd/infrared-operator -> ./hack/killproxy", "./cmd/infrared-operator -> ./internal/testcluster",
			},
		},
		"KubernetesLoader": {
			reason: "nobody but kubectl reads a kubeconfig with Kubernetes' loader",
			graph:  map[string]string{"./core/cluster": "k8s.io/client-go/tools/clientcmd"},
			want:   []string{"./core/cluster -> k8s.io/client-go/tools/clientcmd"},
		},
		"HeavyTypes": {
			reason: "Argo CD's types and Kubernetes' server stay out of the operator",
			graph:  map[string]string{"./core/argo": "github.com/argoproj/argo-cd/v3/pkg/apis k8s.io/kubernetes/pkg/api"},
			want: []string{
				"./core/argo -> github.com/argoproj/argo-cd/v3/pkg/apis", "./core/argo -> k8s.io/kubernetes/pkg/api",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			violations, _ := Check(module, madeUp(tc.graph), Rules())
			var got []string
			for _, v := range violations {
				got = append(got, strings.ReplaceAll(strings.Join(v.Path, " -> "), module, "."))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, slices.Compact(got)); diff != "" {
				t.Errorf("%s; -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckListsUnusedRules(t *testing.T) {
	rules := []Rule{
		{Reason: "used", From: []string{"./core/..."}, Never: []string{"example.org/..."}},
		{Reason: "unused", From: []string{"./gone/..."}, Never: []string{"example.org/..."}},
	}
	_, unused := Check(module, madeUp(map[string]string{"./core/a": "std"}), rules)
	if diff := cmp.Diff([]string{"unused"}, unused); diff != "" {
		t.Errorf("a rule about no package is listed; -want +got:\n%s", diff)
	}
}

func TestRulesHaveReasons(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if len(rule.Reason) < 20 || seen[rule.Reason] {
			t.Errorf("a rule needs a reason of its own, got %q", rule.Reason)
		}
		seen[rule.Reason] = true
		if len(rule.From) == 0 || len(rule.Only)+len(rule.Never)+len(rule.Apart) == 0 {
			t.Errorf("a rule that forbids nothing: %q", rule.Reason)
		}
	}
}

// madeUp is a graph from lists of imports. Packages that are only imported are added, and "std" is Go's own library.
func madeUp(imports map[string]string) Graph {
	graph := Graph{}
	for from, to := range imports {
		var p Package
		for _, path := range strings.Fields(to) {
			path = full(path)
			p.Imports = append(p.Imports, path)
			if _, ok := graph[path]; !ok {
				graph[path] = Package{Standard: path == "std"}
			}
		}
		graph[full(from)] = p
	}
	return graph
}

func full(path string) string {
	if rest, ok := strings.CutPrefix(path, "./"); ok {
		return module + "/" + rest
	}
	return path
}
