// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl is kubectl as released, without the login plugins of the clouds.
func runKubectl() int {
	// kubectl logs while it is being constructed (plugins, kuberc), before its
	// flags are parsed, so the level is set by hand. A bad level is
	// reported by the parser below.
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints as kubectl does and exits
	}
	return 0
}
