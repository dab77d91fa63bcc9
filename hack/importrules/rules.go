// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package importrules

import "slices"

// clouds are the SDKs of clouds, kubernetes what comes from Kubernetes.
func clouds() []string {
	return []string{
		"github.com/aws/...", "cloud.google.com/...", "google.golang.org/api/...", "github.com/linode/...",
	}
}

func kubernetes() []string { return []string{"k8s.io/...", "sigs.k8s.io/..."} }

// Rules is the list, one row an idea. A row may name packages that are still to come.
func Rules() []Rule { return slices.Concat(seamRules(), coreRules(), programRules()) }

// seamRules are about the SDK, and the plugins that stand on it.
func seamRules() []Rule {
	return []Rule{
		{
			Reason: "the provider interface is what every plugin author compiles against: it costs them nothing but Go itself",
			From:   []string{"./sdk/provider/..."},
			Only:   []string{"./sdk/provider/..."},
		},
		{
			Reason: "the SDK is used outside this project, so it knows nothing of what is inside",
			From:   []string{"./sdk/..."},
			Never:  []string{"./..."}, Unless: []string{"./sdk/..."},
		},
		{
			Reason: "a plugin author must not inherit Kubernetes' libraries; reaching a cluster and the conformance kit are the two that need them",
			From:   []string{"./sdk/..."}, Except: []string{"./sdk/connect/...", "./sdk/sanity/..."},
			Never:   kubernetes(),
			Through: true,
		},
		{
			Reason:  "a plugin is a program of its own: it stands on the SDK and its cloud's, so that one can be written without reading core",
			From:    []string{"./plugins/..."},
			Never:   []string{"./core/...", "./internal/...", "./cmd/..."},
			Through: true,
		},
		{
			Reason:  "a plugin is self-contained, and a new one touches its own folder only: what two share belongs in the SDK",
			From:    []string{"./plugins/..."},
			Apart:   "./plugins",
			Through: true,
		},
	}
}

// coreRules are about the operator and the API.
func coreRules() []Rule {
	return []Rule{
		{
			Reason:  "core knows Kubernetes and never a cloud: what differs between clouds sits behind a plugin",
			From:    []string{"./core/..."},
			Never:   append(clouds(), "./plugins/..."),
			Through: true,
		},
		{
			Reason: "the API types are imported by everybody, so they bring nothing but Kubernetes' own types",
			From:   []string{"./core/api/..."},
			Only:   []string{"./core/api/...", "k8s.io/apimachinery/..."},
		},
		{
			Reason: "the step engine is pure: its rules can be read and tested without a cluster",
			From:   []string{"./core/pipeline/..."},
			Only:   []string{"./core/pipeline/...", "./core/api/..."},
		},
		{
			Reason: "plugin processes have one owner, which checks, supervises and drains them",
			From:   []string{"./core/..."}, Except: []string{"./core/pluginhost/..."},
			Never: []string{"./sdk/plugin/...", "github.com/hashicorp/go-plugin/..."},
		},
		{
			Reason: "the REST API writes objects and lets the controllers act: two ways to do a thing would differ",
			From:   []string{"./core/rest/..."},
			Never:  []string{"./core/pluginhost/...", "./core/inflight/...", "./core/remote/...", "./sdk/plugin/..."},
		},
	}
}

// programRules are about programs, tools, and libraries that nobody may bring in.
func programRules() []Rule {
	return []Rule{
		{
			Reason: "pages, the command line and MCP go through REST, so that nobody may do more there than the API allows",
			From:   []string{"./core/web/...", "./cmd/ir/...", "./cmd/infrared-mcp/..."},
			Never:  []string{"./core/..."}, Unless: []string{"./core/web/..."},
			Through: true,
		},
		{
			Reason:  "ir compiles in seconds on a bare machine, before anything else does",
			From:    []string{"./internal/devstack/...", "./cmd/ir/..."},
			Never:   kubernetes(),
			Through: true,
		},
		{
			Reason: "programs wire parts together and decide nothing, so nothing can need them",
			From:   []string{"./..."},
			Never:  []string{"./cmd/..."}, Except: []string{"./cmd/..."},
		},
		{
			Reason:  "what is under hack, and what stands in for a cluster, is for tests and developers only",
			From:    []string{"./core/...", "./sdk/...", "./cmd/...", "./plugins/..."},
			Never:   []string{"./hack/...", "./internal/testcluster/..."},
			Through: true,
		},
		{
			Reason: "a kubeconfig is a stranger's file, and Kubernetes' loader runs what it names: sdk/kubeconfig reads it",
			From:   []string{"./core/...", "./sdk/..."},
			Never:  []string{"k8s.io/client-go/tools/clientcmd/..."},
		},
		{
			Reason:  "Argo CD's Go types bring thirteen hundred packages: we have small types of our own, checked against its CRDs",
			From:    []string{"./..."},
			Never:   []string{"github.com/argoproj/..."},
			Through: true,
		},
		{
			Reason:  "the control plane is compiled in a module of its own, or every build of the operator would compile it, too",
			From:    []string{"./..."},
			Never:   []string{"k8s.io/kubernetes/...", "k8s.io/apiserver/pkg/server/...", "go.etcd.io/etcd/..."},
			Through: true,
		},
	}
}
