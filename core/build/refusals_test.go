// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

// TestRefusedBeforeARun asks for what can't be, and wants it said before anything is made (D04, D06, E06).
func TestRefusedBeforeARun(t *testing.T) {
	t.Parallel()
	source := func(text string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Provision.Source = text }
	}
	version := func(text string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Template.Version = text }
	}
	org := func(c *v1alpha1.Cluster) { c.Spec.Org = "acme" }
	down := func(f *build.Found) { f.Healthy, f.Why = false, "its program is missing" }
	cases := map[string]struct {
		reason string
		change []func(*v1alpha1.Cluster)
		found  func(*build.Found)
		says   string
		words  []string
	}{
		"half a list":       {"it is never passed on as half", list(set("cidrs", `["a"`)), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.variables.cidrs")},
		"not JSON":          {"it begins as JSON", list(set("note", "[not json")), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.variables.note")},
		"bare key":          {"that is HCL, not JSON", list(set("tags", `{k:"v"}`)), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.variables.tags")},
		"empty number":      {"nothing is no number", list(set("node_count", "")), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.variables.node_count", "number")},
		"unknown name":      {"OpenTofu would only warn of a typo", list(set("node_cuont", "3")), nil, v1alpha1.ReasonInvalidSpec, words("node_cuont", "did you mean node_count?")},
		"missing":           {"the template has no default", list(func(c *v1alpha1.Cluster) { c.Spec.Provision.Variables = nil }), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.variables.region", "missing")},
		"other version":     {"the plugin has its own module at one version", list(version("v2.0.0")), nil, v1alpha1.ReasonInvalidSpec, words("spec.template.version", "v2.0.0", "at v1.0.0 only")},
		"password":          {"it would be in clear", list(source("git::https://git.example.net/m.git//a?token=S3CR3T")), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.source")},
		"odd source":        {"nothing fetches that", list(source("s3::https://x/y")), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.source", "git::https://")},
		"org without":       {"the Secret made by hand is for the platform's", list(org), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.cloudAccount", "acme")},
		"org's source":      {"a module runs with the run's rights", list(org, source("git::https://evil.example.net/m.git?ref=v1")), nil, v1alpha1.ReasonInvalidSpec, words("spec.provision.source", "evil.example.net/m.git", "not among the sources")},
		"no plugin":         {"nobody can build it", nil, func(f *build.Found) { *f = build.Found{} }, v1alpha1.ReasonProviderUnavailable, words("spec.template.module", "fake/cluster", "kubectl get providers")},
		"plugin down":       {"it passes", nil, down, v1alpha1.ReasonProviderUnavailable, words("Provider fake does not run", "its program is missing")},
		"no template":       {"the plugin has others", nil, func(f *build.Found) { f.Template = nil }, v1alpha1.ReasonInvalidSpec, words("has no template fake/cluster", "it has fake/cluster")},
		"name too long":     {"the cloud would refuse it when half is built", nil, func(f *build.Found) { f.Facts.Names[0].MaxLength = 5 }, v1alpha1.ReasonInvalidSpec, words("metadata.name", "a network", "30 characters")},
		"name of odd shape": {"the cloud would refuse it when half is built", nil, func(f *build.Found) { f.Facts.Names[0].Pattern = "[a-f]+" }, v1alpha1.ReasonInvalidSpec, words("metadata.name")},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "refused-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, tc.change...)
			if tc.found != nil {
				s.catalogue.change(tc.found)
			}
			s.look()
			if err := s.is(v1alpha1.RunFailed, tc.says, tc.words...)(); err != nil {
				t.Errorf("%v (%s)", err, tc.reason)
			}
			if strings.Contains(s.turn.Run.Message, "S3CR3T") {
				t.Errorf("a password is repeated: %s", s.turn.Run.Message)
			}
			first := s.turn.Run.Message
			if s.look(); s.turn.Run.Message != first {
				t.Errorf("the message flaps: %q, then %q", first, s.turn.Run.Message)
			}
			if len(s.jobs()) > 0 || s.turn.Run.Job != "" {
				t.Errorf("a Job is made all the same: %v", s.jobNames())
			}
			if exists(t, &corev1.Secret{}, s.names().State()) {
				t.Error("a state is made all the same")
			}
		})
	}
}

func list(f ...func(*v1alpha1.Cluster)) []func(*v1alpha1.Cluster) { return f }

func words(w ...string) []string { return w }

// TestRegions asks for two regions; the API server's rule refuses that as well, where it is in force.
func TestRegions(t *testing.T) {
	t.Parallel()
	s := newSite(t, "regions")
	s.change(func(c *v1alpha1.Cluster) { delete(c.Spec.Provision.Variables, "region"); c.Spec.Region = "r2" })
	s.begin()
	if got := string(s.order().Variables["region"]); got != `"r2"` {
		t.Errorf("the module gets region %s, want the Cluster's", got)
	}
	c := s.cluster()
	c.Spec.Provision.Variables = map[string]v1alpha1.VariableValue{"region": "r1"}
	c.Status = v1alpha1.ClusterStatus{}
	c.Name = "regions-two"
	turn, err := s.builder.Advance(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := turn.Run
	if r.Reason != v1alpha1.ReasonInvalidSpec || !strings.Contains(r.Message, "spec.provision.variables.region: is r1, but spec.region is r2") {
		t.Errorf("two regions: %+v", r)
	}
}

// TestImageOfAnOrg has an org's own cluster name an image; the API server's rule refuses that as well, where it is in force.
func TestImageOfAnOrg(t *testing.T) {
	t.Parallel()
	s := newSite(t, "org-image")
	c := s.cluster()
	c.Spec.Org, c.Spec.Provision.Image = "acme", "evil.example.net/tofu"
	turn, err := s.builder.Advance(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	r := turn.Run
	if r.Reason != v1alpha1.ReasonInvalidSpec || !strings.Contains(r.Message, "spec.provision.image: ") || !strings.Contains(r.Message, "leave image out") || len(s.jobs()) > 0 {
		t.Errorf("an org's own image: %+v, Jobs %v", r, s.jobNames())
	}
}

// TestRefusalEnds has what stood in the way pass.
func TestRefusalEnds(t *testing.T) {
	t.Parallel()
	s := newSite(t, "passes")
	healthy := s.catalogue.found
	s.catalogue.change(func(f *build.Found) { f.Healthy = false })
	s.look()
	s.catalogue.change(func(f *build.Found) { *f = healthy })
	s.begin()

	s.end(run.Outcome{Digest: digestA})
	s.until(s.over)
	before := s.turn.Run
	s.change(set("nope", "1"))
	s.look()
	if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonInvalidSpec)(); err != nil {
		t.Error(err)
	}
	s.change(func(c *v1alpha1.Cluster) { delete(c.Spec.Provision.Variables, "nope") })
	s.look()
	if s.turn.Run.Record != before.Record || s.turn.Run.Phase != v1alpha1.RunSucceeded || s.turn.Plan == nil || len(s.jobs()) != 1 {
		t.Errorf("back at what was planned, the status is %+v with plan %+v and Jobs %v", s.turn.Run, s.turn.Plan, s.jobNames())
	}
}

// TestSources is where a run gets its module from (D06).
func TestSources(t *testing.T) {
	t.Parallel()
	const modules = "git::https://git.example.net/infrared-iac-modules.git//{module}?ref={version}"
	cases := map[string]struct {
		reason, modules, source, version, want string
	}{
		"the plugin's own":  {"nothing else is named", "", "", "v1.0.0", ""},
		"git, unchanged":    {"it carries its own ref", "", "git::https://example.net/m.git//eks?ref=v1", "v9", "git::https://example.net/m.git//eks?ref=v1"},
		"ssh, unchanged":    {"it is a source like any other", "", "git::ssh://git@example.net/m.git//eks?ref=v1", "v9", "git::ssh://git@example.net/m.git//eks?ref=v1"},
		"registry":          {"it names no ref", "", "terraform-aws-modules/eks/aws", "v9", "terraform-aws-modules/eks/aws"},
		"the install's":     {"each template is a folder of that repository", modules, "", "v0.14.0", "git::https://git.example.net/infrared-iac-modules.git//fake/cluster?ref=v0.14.0"},
		"version with plus": {"a bare plus would be read as a blank", modules, "", "v0.3.0+tf.0.13.3", "git::https://git.example.net/infrared-iac-modules.git//fake/cluster?ref=v0.3.0%2Btf.0.13.3"},
		"version as a path": {"a tag may have a slash", modules, "", "release/2027.1", "git::https://git.example.net/infrared-iac-modules.git//fake/cluster?ref=release/2027.1"},
		"one's own wins":    {"the Cluster says so", modules, "terraform-aws-modules/eks/aws", "v9", "terraform-aws-modules/eks/aws"},
	}
	number := 0
	for name, tc := range cases {
		number++
		id := "source-" + string(rune('a'+number))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, id, func(c *v1alpha1.Cluster) {
				c.Spec.Provision.Source, c.Spec.Template.Version = tc.source, tc.version
			})
			s.builder.ModulesURL = tc.modules
			s.begin()
			if got := s.order().Source; got != tc.want {
				t.Errorf("source %q, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestSourcesOfAnOrg lets an org's own cluster use what is allowed, and asks for its account then.
func TestSourcesOfAnOrg(t *testing.T) {
	t.Parallel()
	s := newSite(t, "org-sources", func(c *v1alpha1.Cluster) {
		c.Spec.Org = "acme"
		c.Spec.Provision.CloudAccount = "acme-prod"
		c.Spec.Provision.Source = "git::https://git.example.net/acme/m.git?ref=v1"
	})
	s.builder.OrgSources = []tofu.Allowed{{Host: "git.example.net", Path: "acme"}}
	s.look()
	if err := s.is(v1alpha1.RunWaitingForCredentials, v1alpha1.ReasonWaitingForCredentials, "cloud account acme-prod does not exist")(); err != nil {
		t.Error(err)
	}
}

// TestTypedVariables are what the module receives (D04).
func TestTypedVariables(t *testing.T) {
	t.Parallel()
	given := map[string]string{
		"node_count": "3", "spot": "true", "region": "us-east-1", "note": "0123", "cidrs": ` [ "a" , "b" ] `, "tags": `{"k":"a=b","n":"x,y"}`, "name": "other",
	}
	s := newSite(t, "typed", func(c *v1alpha1.Cluster) {
		for name, value := range given {
			set(name, value)(c)
		}
	})
	s.begin()
	want := map[string]string{
		"node_count": "3", "spot": "true", "region": `"us-east-1"`, "note": `"0123"`, "cidrs": `["a","b"]`, "tags": `{"k":"a=b","n":"x,y"}`, "name": `"other"`,
	}
	for name, value := range want {
		var wanted, got any
		if err := json.Unmarshal([]byte(value), &wanted); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(s.order().Variables[name], &got); err != nil {
			t.Fatal(err)
		}
		if a, b := toJSON(t, wanted), toJSON(t, got); a != b {
			t.Errorf("variable %s is %s, want %s", name, b, a)
		}
	}
	if s.order().Labels[v1alpha1.LabelCluster] != "typed" {
		t.Errorf("the label is %v, want the Cluster's own name whatever variable name says", s.order().Labels)
	}
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCredentials waits for what a run needs, and begins when it is there.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := newSite(t, "credentials")
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: "cluster-credentials-credentials"}
	replace := func(labels map[string]string, keys ...string) {
		t.Helper()
		if err := env.Client.Get(t.Context(), key, secret); err == nil {
			if err := env.Client.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		}
		if keys == nil {
			return
		}
		s.credentials(keys...)
		if err := env.Client.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
		secret.Labels = labels
		if err := env.Client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(words ...string) {
		t.Helper()
		s.look()
		if err := s.is(v1alpha1.RunWaitingForCredentials, v1alpha1.ReasonWaitingForCredentials, words...)(); err != nil {
			t.Error(err)
		}
		if len(s.jobs()) > 0 {
			t.Errorf("a Job is made without credentials: %v", s.jobNames())
		}
		if s.turn.After != 0 {
			t.Errorf("it looks again after %s, though a watch tells", s.turn.After)
		}
	}
	replace(nil)
	waiting("kubectl -n infrared create secret generic cluster-credentials-credentials --from-env-file=credentials.env", "FAKE_ENDPOINT, FAKE_TOKEN")
	replace(nil, "FAKE_TOKEN")
	waiting("lacks FAKE_ENDPOINT.")
	replace(map[string]string{v1alpha1.LabelCluster: "credentials", v1alpha1.LabelIncarnation: "0e984725-c51c-4bf4-9960-e1c80e27aba0"}, "FAKE_TOKEN", "FAKE_ENDPOINT")
	waiting("belongs to another Cluster, or to an earlier one")
	replace(nil, "FAKE_TOKEN", "FAKE_ENDPOINT")
	s.begin()
}

// TestRegionOfAccountlessOrder keeps the region of the variables where the Cluster names none.
func TestRegionOfAccountlessOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, "own-region")
	s.begin()
	if got := s.order().Cluster.Region; got != "r1" {
		t.Errorf("the order's region is %q, want that of the variables, where a sweep must look", got)
	}
	if s.order().Action != provider.ActionPlan {
		t.Errorf("a Cluster that names no action is %s", s.order().Action)
	}
}
