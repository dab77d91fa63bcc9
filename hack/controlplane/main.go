// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane is a Kubernetes control plane in one file, for the local
// stack and the tests.
//
// The first argument says which program this process is: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler or kubectl. The Kubernetes programs
// are the real ones with all their flags; etcd has the few flags that a
// single member on a unix socket needs. Called under the name kubectl (a link to
// the file) it is kubectl.
//
// One file, because linking is what costs: four separate programs would hold
// the same packages four times. One process a component, because each keeps
// its state in package variables, and because a test wants to kill one of them
// and see what the others do. Only the component that was asked for is ever
// constructed, so flags, feature gates and signal handlers of one never reach
// another.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs, on machines without a database of them

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics of the components
	_ "k8s.io/component-base/metrics/prometheus/version"  // build_info metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components maps a program's name to what runs it. Each reads its flags from
// os.Args, whose first element is by then the program's name.
func components() map[string]func() int {
	return map[string]func() int{
		"etcd":                    runEtcd,
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kubectl":                 runKubectl,
	}
}

func main() {
	name, args := choose(os.Args)
	run, ok := components()[name]
	if !ok {
		fmt.Fprintln(os.Stderr, usage(name))
		os.Exit(2)
	}
	os.Args = append([]string{name}, args...)
	os.Exit(run())
}

// choose splits a command line into the program and its arguments. The file's
// own name counts when it is kubectl, the one program that people call.
func choose(argv []string) (name string, args []string) {
	if len(argv) == 0 {
		return "", nil
	}
	if filepath.Base(argv[0]) == "kubectl" {
		return "kubectl", argv[1:]
	}
	if len(argv) == 1 {
		return "", nil
	}
	return argv[1], argv[2:]
}

// usage says which programs there are, and which one was not among them.
func usage(name string) string {
	var names []string
	for n := range components() {
		names = append(names, n)
	}
	slices.Sort(names)
	list := strings.Join(names, " | ")
	if name == "" {
		return "usage: controlplane " + list
	}
	return fmt.Sprintf("controlplane: no component %q; usage: controlplane %s", name, list)
}
