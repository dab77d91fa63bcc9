// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubelet is Kubernetes' kubelet with all its flags, for the stack's real node.
//
// It is a module beside the control plane's, at the same versions, so that most of what it is made of is compiled already and a
// change to one never links the other again.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build_info metric
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(app.NewKubeletCommand(context.Background())))
}
