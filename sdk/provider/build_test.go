// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

func TestLoses(t *testing.T) {
	guarded := []string{"aws_eks_node_group", "module.eks.aws_eks_cluster.this"}
	for name, c := range map[string]struct {
		reason string
		change provider.Change
		all    bool
		want   bool
	}{
		"type": {
			"every resource of the type is guarded",
			provider.Change{Address: `module.x["a"].aws_eks_node_group.n[0]`, Type: "aws_eks_node_group", Operation: provider.OperationDelete}, false, true,
		},
		"address": {
			"this one is guarded",
			provider.Change{Address: "module.eks.aws_eks_cluster.this", Type: "aws_eks_cluster", Operation: provider.OperationReplace}, false, true,
		},
		"instance": {
			"keys do not count, whatever is in them",
			provider.Change{Address: `module.eks["a]\"].b"].aws_eks_cluster.this[0]`, Type: "aws_eks_cluster", Operation: provider.OperationReplace}, false, true,
		},
		"deposed": {
			"what is left of a replacement is of the same address",
			provider.Change{Address: "module.eks.aws_eks_cluster.this (deposed 0123)", Type: "aws_eks_cluster", Operation: provider.OperationDelete}, false, true,
		},
		"another address": {
			"its type is not guarded",
			provider.Change{Address: "module.eks.aws_eks_cluster.other", Type: "aws_eks_cluster", Operation: provider.OperationDelete}, false, false,
		},
		"update": {
			"nothing is lost",
			provider.Change{Address: "aws_eks_node_group.n", Type: "aws_eks_node_group", Operation: provider.OperationUpdate}, false, false,
		},
		"unfinished": {
			"what was never finished is no loss, or an interrupted run could not be gone on with",
			provider.Change{Address: "aws_eks_node_group.n", Type: "aws_eks_node_group", Operation: provider.OperationReplace, Why: provider.WhyUnfinished}, false, false,
		},
		"all": {
			"where nothing is named, everything is guarded",
			provider.Change{Address: "null_resource.x", Type: "null_resource", Operation: provider.OperationDelete}, true, true,
		},
		"all, update": {
			"nothing is lost",
			provider.Change{Address: "null_resource.x", Type: "null_resource", Operation: provider.OperationUpdate}, true, false,
		},
	} {
		names := guarded
		if c.all {
			names = nil
		}
		if got := c.change.Loses(names); got != c.want {
			t.Errorf("%s: %v, want %v: %s", name, got, c.want, c.reason)
		}
	}
}
