// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// rule is a change to a good Cluster, and the words with which it is refused; none: it is accepted.
type rule struct {
	reason string
	change func(*v1alpha1.Cluster)
	words  []string
}

func TestRulesOnCreate(t *testing.T) {
	groups := map[string]map[string]rule{
		"name": nameRules(), "kind": kindRules(), "field": fieldRules(), "template": templateRules(), "provision": provisionRules(),
	}
	for group, rules := range groups {
		for name, tc := range rules {
			t.Run(group+"/"+name, func(t *testing.T) {
				c := registered("probe")
				tc.change(c)
				err := env.Client.Create(t.Context(), c, client.DryRunAll)
				if len(tc.words) == 0 {
					if err != nil {
						t.Errorf("%s, but: %v", tc.reason, err)
					}
					return
				}
				if wrong := refusedBy(err, tc.words...); wrong != nil {
					t.Errorf("%s, but %v", tc.reason, wrong)
				}
				if err != nil && strings.Contains(err.Error(), "S3CR3T") {
					t.Errorf("the message shows what was written: %v", err)
				}
			})
		}
	}
}

func nameRules() map[string]rule {
	named := func(name string) func(*v1alpha1.Cluster) { return func(c *v1alpha1.Cluster) { c.Name = name } }
	const letters = "lowercase"
	return map[string]rule{
		"42":      {"42 characters fit", named(strings.Repeat("a", 42)), nil},
		"43":      {"43 do not", named(strings.Repeat("a", 43)), []string{"metadata.name", "42"}},
		"digit":   {"a digit may begin it", named("1c-edge"), nil},
		"hyphens": {"two hyphens are fine", named("a--b"), nil},
		"dot":     {"Kubernetes allows dots, clouds don't", named("a.b"), []string{"metadata.name", letters, "hyphens"}},
		"dash":    {"beginning", named("-a"), []string{"metadata.name", letters}},
		"end":     {"end", named("a-"), []string{"metadata.name", letters}},
		"upper":   {"upper case", named("A"), []string{"metadata.name", letters}},
		"under":   {"underscore", named("a_b"), []string{"metadata.name", letters}},
		"blank":   {"blank", named("a b"), []string{"metadata.name", letters}},
		"umlaut":  {"another alphabet", named("ä"), []string{"metadata.name", letters}},
		"path":    {"a path", named("a/../b"), []string{"metadata.name"}},
		"empty":   {"no name", named(""), []string{"name"}},
	}
}

func kindRules() map[string]rule {
	const one = "exactly one of spec.connection"
	return map[string]rule{
		"none": {"nothing says where it is", func(c *v1alpha1.Cluster) { c.Spec.Connection = nil }, []string{one, "spec.template", "spec.inCluster"}},
		"connection and template": {"is it there or to be built?", func(c *v1alpha1.Cluster) {
			c.Spec.Template = &v1alpha1.Template{Module: "aws/eks-cluster", Version: "v1"}
		}, []string{one}},
		"connection and inCluster": {"here or there?", func(c *v1alpha1.Cluster) { c.Spec.InCluster = true }, []string{one}},
		"inCluster":                {"the management cluster again", func(c *v1alpha1.Cluster) { c.Spec.Connection, c.Spec.InCluster = nil, true }, nil},
		"server and inCluster": {"Argo CD has its own", func(c *v1alpha1.Cluster) {
			c.Spec.Connection, c.Spec.InCluster, c.Spec.Server = nil, true, "https://a.example.net"
		}, []string{"spec.server", "inCluster"}},
		"org and inCluster": {"it is the platform's, and reached with the operator's own rights", func(c *v1alpha1.Cluster) {
			c.Spec.Connection, c.Spec.InCluster, c.Spec.Org = nil, true, "acme"
		}, []string{"spec.org", "spec.inCluster", "the platform's", "leave spec.org out"}},
		"org and inCluster false": {"false is as good as nothing", func(c *v1alpha1.Cluster) { c.Spec.InCluster, c.Spec.Org = false, "acme" }, nil},
		"unknown type":            {"there are two", func(c *v1alpha1.Cluster) { c.Spec.Type = "virtual" }, []string{"spec.type", "workload", "management"}},
		"management with connection": {"it is the one Infrared runs on", func(c *v1alpha1.Cluster) { c.Spec.Type = v1alpha1.Management },
			[]string{"type management", "no connection"}},
		"provision without template": {"nothing to build", func(c *v1alpha1.Cluster) { c.Spec.Provision = &v1alpha1.Provision{} }, []string{"spec.provision", "spec.template"}},
	}
}

func fieldRules() map[string]rule {
	server := func(server string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Server = server }
	}
	secret := func(name string) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) { c.Spec.Connection.KubeconfigSecretRef.Name = name }
	}
	const address = "such as https://api.example.com:6443"
	return map[string]rule{
		"server":            {"an address", server("https://10.0.0.5:6443/k8s/clusters/c-1"), nil},
		"server http":       {"the token would go in clear", server("http://10.0.0.5:6443"), []string{"spec.server", address}},
		"server no scheme":  {"no address", server("10.0.0.5:6443"), []string{"spec.server", address}},
		"server no host":    {"nothing to dial", server("https:///x"), []string{"spec.server", address}},
		"server user":       {"a password would be in clear", server("https://a:S3CR3T@10.0.0.5"), []string{"spec.server", "without a user"}},
		"server query":      {"no API server has one", server("https://10.0.0.5?a=b"), []string{"spec.server", "query"}},
		"server fragment":   {"same", server("https://10.0.0.5#a"), []string{"spec.server", "fragment"}},
		"server built in":   {"it would override Argo CD's own credentials", server("https://kubernetes.default.svc"), []string{"spec.server", "inCluster"}},
		"server built in /": {"same with a slash", server("https://kubernetes.default.svc:443/"), []string{"spec.server", "inCluster"}},
		"secret empty":      {"no name", secret(""), []string{"kubeconfigSecretRef.name"}},
		"secret path":       {"no name of a Secret", secret("a/b"), []string{"kubeconfigSecretRef.name"}},
		"secret ours":       {"the operator's own", secret("infrared-api-tokens"), []string{"kubeconfigSecretRef.name", "another"}},
		"secret state":      {"a state holds more than a kubeconfig", secret("tfstate-default-x"), []string{"kubeconfigSecretRef.name", "another"}},
		"secret account":    {"credentials of a cloud account", secret("cluster-x-credentials"), []string{"kubeconfigSecretRef.name", "another"}},
		"secret by API":     {"the one that the API makes is fine", secret("cluster-probe-kubeconfig"), nil},
		"secret key":        {"no key of a Secret", func(c *v1alpha1.Cluster) { c.Spec.Connection.KubeconfigSecretRef.Key = "a b" }, []string{"kubeconfigSecretRef.key"}},
		"org":               {"it names a namespace", func(c *v1alpha1.Cluster) { c.Spec.Org = "Acme Inc" }, []string{"spec.org"}},
		"provider":          {"as plugins are named", func(c *v1alpha1.Cluster) { c.Spec.Provider = "AWS" }, []string{"spec.provider"}},
		"flavor":            {"short words", func(c *v1alpha1.Cluster) { c.Spec.Flavor = "k3s 1.31" }, []string{"spec.flavor"}},
		"region":            {"as clouds name them", func(c *v1alpha1.Cluster) { c.Spec.Region = "us east" }, []string{"spec.region"}},
		"incarnation":       {"a UID", func(c *v1alpha1.Cluster) { c.Spec.Incarnation = "mine" }, []string{"spec.incarnation"}},
	}
}

// building turns a Cluster into one to be built.
func building(module, version string) func(*v1alpha1.Cluster) {
	return func(c *v1alpha1.Cluster) {
		c.Spec.Connection, c.Spec.Template = nil, &v1alpha1.Template{Module: module, Version: version}
	}
}

func templateRules() map[string]rule {
	rules := map[string]rule{
		"module":       {"provider and template", building("eks-cluster", "v0.14.0"), []string{"spec.template.module"}},
		"module up":    {"no way out of the repository", building("aws/../gcp", "v0.14.0"), []string{"spec.template.module"}},
		"version none": {"which tag?", building("aws/eks-cluster", ""), []string{"spec.template.version", "git tag"}},
		"provider": {"a template is of one cloud", func(c *v1alpha1.Cluster) {
			building("aws/eks-cluster", "v0.14.0")(c)
			c.Spec.Provider = "linode"
		}, []string{"spec.provider is linode", "aws/eks-cluster", "leave provider out"}},
		"provider prefix": {"aw is not aws", func(c *v1alpha1.Cluster) {
			building("aws/eks-cluster", "v0.14.0")(c)
			c.Spec.Provider = "aw"
		}, []string{"spec.provider is aw"}},
		"flavor": {"a flavor decides nothing", func(c *v1alpha1.Cluster) {
			building("aws/eks-cluster", "v0.14.0")(c)
			c.Spec.Flavor = "gke"
		}, nil},
	}
	for _, version := range []string{"v0.14.0", "v0.3.0+tf.0.13.3", "release/2027.1", "gke-cluster/v1.2.0"} {
		rules["version "+version] = rule{"a tag that git has", building("aws/eks-cluster", version), nil}
	}
	for _, version := range []string{"v1&depth=1", "v1?x=y", "../x", "--upload-pack=x", "v 1", "a//b", "v1/", "v1\n", "$(x)"} {
		rules[fmt.Sprintf("version %q", version)] = rule{"it would mean something else to git or to OpenTofu", building("aws/eks-cluster", version), []string{"spec.template.version", "git tag"}}
	}
	return rules
}

func provisionRules() map[string]rule {
	with := func(change func(*v1alpha1.Provision)) func(*v1alpha1.Cluster) {
		return func(c *v1alpha1.Cluster) {
			building("aws/eks-cluster", "v0.14.0")(c)
			c.Spec.Provision = &v1alpha1.Provision{}
			change(c.Spec.Provision)
		}
	}
	variable := func(name, value string) func(*v1alpha1.Cluster) {
		return with(func(p *v1alpha1.Provision) {
			p.Variables = map[string]v1alpha1.VariableValue{name: v1alpha1.VariableValue(value)}
		})
	}
	source := func(source string) func(*v1alpha1.Cluster) {
		return with(func(p *v1alpha1.Provision) { p.Source = source })
	}
	rules := map[string]rule{
		"action":        {"a destroy is asked for by deleting", with(func(p *v1alpha1.Provision) { p.Action = "destroy" }), []string{"spec.provision.action", "plan", "apply"}},
		"run":           {"it only grows", with(func(p *v1alpha1.Provision) { p.Run = -1 }), []string{"spec.provision.run"}},
		"variable":      {"any text", variable("az_count", "[1, 2"), nil},
		"comment":       {"a line that was no variable", variable("# comment", "x"), []string{"spec.provision.variables", "letter"}},
		"variable name": {"no name of OpenTofu's", variable("1a", "x"), []string{"spec.provision.variables", "letter"}},
		"key in value":  {"a key in clear", variable("user_data", "-----BEGIN RSA PRIVATE KEY-----\nS3CR3T"), []string{"spec.provision.variables", "credentials"}},
		"AWS key":       {"half of a key pair", variable("who", "AKIAABCDEFGHIJKLMNOP"), []string{"spec.provision.variables", "credentials"}},
		"key id":        {"a name that only ends like a secret's", variable("kms_key_id", "arn:x"), nil},
		"large":         {"an object has an end", variable("big", strings.Repeat("x", 20000)), []string{"spec.provision.variables"}},
	}
	image := with(func(p *v1alpha1.Provision) { p.Image = "tofu.example.net/tofu:1.12.6" })
	rules["image"] = rule{"the platform may bring its own OpenTofu", image, nil}
	rules["org's image"] = rule{"it would be handed the cloud's credentials", func(c *v1alpha1.Cluster) { image(c); c.Spec.Org = "acme" },
		[]string{"spec.provision.image", "platform's own clusters", "leave it out"}}
	for name, tc := range map[string]struct {
		reason, region, variable string
		words                    []string
	}{
		"two regions":    {"the cluster would be built in one and looked for in the other", "us-east-1", "us-west-2", []string{"spec.region is us-east-1", "variables.region is us-west-2", "leave one of them out"}},
		"a large region": {"the message has room for its beginning", "us-east-1", strings.Repeat("x", 9000), []string{"spec.region is us-east-1", "variables.region is xxxx", "leave one of them out"}},
		"one region":     {"said twice", "us-east-1", "us-east-1", nil},
		"no region":      {"the module's own is enough", "", "us-east-1", nil},
	} {
		rules[name] = rule{tc.reason, func(c *v1alpha1.Cluster) {
			variable("region", tc.variable)(c)
			c.Spec.Region = tc.region
		}, tc.words}
	}
	for _, name := range []string{"password", "db_password", "secret_access_key", "access_token", "api_key", "client_secret", "ssh_private_key"} {
		rules["secret "+name] = rule{"a secret in clear", variable(name, "S3CR3T"), []string{"spec.provision.variables", name, "cloud account"}}
	}
	for _, good := range []string{"git::https://example.net/m.git//eks?ref=v1", "git::ssh://git@example.net/m.git//eks?ref=v1", "terraform-aws-modules/eks/aws", "git@github.com:acme/m.git"} {
		rules["source "+good] = rule{"as OpenTofu writes sources", source(good), nil}
	}
	for _, bad := range []string{"./m", "/etc", "../m", "~/m"} {
		rules["source "+bad] = rule{"a file of nobody's", source(bad), []string{"spec.provision.source", "path"}}
	}
	for _, bad := range []string{"git::https://oauth2:S3CR3T@example.net/m.git", "git::https://S3CR3T@example.net/m.git", "git::ssh://git:S3CR3T@example.net/m.git", "HTTPS://a:S3CR3T@example.net/m.zip"} {
		rules["source "+bad] = rule{"a password in clear", source(bad), []string{"spec.provision.source", "GIT_TOKEN"}}
	}
	return rules
}

// TestRulesOnUpdate is what can't be changed once it is there.
func TestRulesOnUpdate(t *testing.T) {
	const uid = "00000000-0000-4000-8000-000000000001"
	cases := map[string]struct {
		reason string
		as     client.Client
		before func(*v1alpha1.Cluster)
		after  func(*v1alpha1.Cluster)
		words  []string
	}{
		"type":          {"another thing altogether", env.Client, none, func(c *v1alpha1.Cluster) { c.Spec.Type, c.Spec.Connection = v1alpha1.Management, nil }, []string{"spec.type", "can't be changed"}},
		"org":           {"the rules for its address differ", env.Client, none, func(c *v1alpha1.Cluster) { c.Spec.Org = "acme" }, []string{"spec.org", "can't be changed"}},
		"org out":       {"same", env.Client, func(c *v1alpha1.Cluster) { c.Spec.Org = "acme" }, func(c *v1alpha1.Cluster) { c.Spec.Org = "" }, []string{"spec.org", "can't be changed"}},
		"source":        {"a registered cluster is never destroyed", env.Client, none, building("aws/eks-cluster", "v1"), []string{"can't change between"}},
		"in cluster":    {"same", env.Client, none, func(c *v1alpha1.Cluster) { c.Spec.Connection, c.Spec.InCluster = nil, true }, []string{"can't change between"}},
		"incarnation":   {"it names what was made", theOperator(t), func(c *v1alpha1.Cluster) { c.Spec.Incarnation = uid }, func(c *v1alpha1.Cluster) { c.Spec.Incarnation = "" }, []string{"spec.incarnation"}},
		"other secret":  {"a kubeconfig may be replaced", env.Client, none, func(c *v1alpha1.Cluster) { c.Spec.Connection.KubeconfigSecretRef.Name = "other" }, nil},
		"details":       {"so may what is only shown", env.Client, none, func(c *v1alpha1.Cluster) { c.Spec.Region, c.Spec.Flavor, c.Spec.Provider = "r", "f", "p" }, nil},
		"other version": {"so may what is built", env.Client, building("aws/eks-cluster", "v1"), building("aws/eks-cluster", "v2"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := registered("update-" + strings.ReplaceAll(name, " ", "-"))
			tc.before(c)
			if err := env.Client.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			before := c.DeepCopy()
			tc.after(c)
			err := tc.as.Patch(t.Context(), c, client.MergeFrom(before))
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

func none(*v1alpha1.Cluster) {}
