// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"net/http"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

const (
	operatorName  = "infrared-operator"
	operatorFiles = "operator" // operator.kubeconfig, so no cluster may be called that
)

// stage says after what a service is started.
type stage int

const (
	onceUp       stage = iota // the management control plane is ready
	onceSetUp                 // its manifests and Providers are applied, too
	onceAllAreUp              // every control plane is ready, as far as it will be
)

// service is one of the programs that run beside the management control plane.
type service struct {
	name    string // of the component and its log
	stage   stage
	makes   string // the command that compiles it; "" when nobody has to hear that it isn't there
	wanted  func(Wanted) bool
	program func(*Stack, Wanted) string // its file
	prepare func(context.Context, *Stack, *devstack.ControlPlane, Wanted) (launch, error)

	// reads identifies further files that it reads only as it starts.
	reads func(*Stack, Wanted) string
	// revive starts it again when it dies: for what holds nothing that a death could
	// damage, and whose absence would look like somebody else's fault.
	revive bool
	// ended is called when it is stopped for good.
	ended func(context.Context, *Stack, Wanted) error
}

// launch is how a service is started this time.
type launch struct {
	args    []string
	env     []string
	address string // where it serves, for people
	// ready returns nil once it can be used, else what is missing.
	ready func(context.Context) error
}

// services is the table of programs, each after what it needs.
func services() []service {
	return []service{cloudService(), nodeService(), {
		name:    operatorName,
		stage:   onceSetUp,
		makes:   "make build",
		wanted:  func(w Wanted) bool { return w.Operator },
		program: func(s *Stack, _ Wanted) string { return s.program(operatorName) },
		prepare: prepareOperator,
	}}
}

// prepareOperator gives the operator a kubeconfig of its own ServiceAccount.
func prepareOperator(ctx context.Context, s *Stack, cp *devstack.ControlPlane, _ Wanted) (launch, error) {
	data, err := cp.ServiceAccountKubeconfig(ctx, "infrared", operatorName, "")
	if err != nil {
		return launch{}, err
	}
	kubeconfig := s.path(operatorFiles + ".kubeconfig")
	if err := folder.WriteFile(kubeconfig, data); err != nil {
		return launch{}, err
	}
	metrics, err := freeAddress()
	if err != nil {
		return launch{}, err
	}
	health, err := freeAddress()
	if err != nil {
		return launch{}, err
	}
	return launch{
		address: "http://" + health,
		ready:   func(ctx context.Context) error { return answersOK(ctx, "http://"+health+"/readyz") },
		args: []string{
			"--kubeconfig=" + kubeconfig,
			"--plugins=" + s.pluginFolder(),
			// The stack's own control planes are all it can reach, and they are there.
			"--allow-address=127.0.0.0/8",
			"--leader-elect=false",
			"--metrics-bind-address=" + metrics,
			"--health-probe-bind-address=" + health,
			"--build-image=" + buildImage,
			"--tofu-image=" + tofuImage,
		},
	}, nil
}

func freeAddress() (string, error) {
	port, err := devstack.FreePort()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", port), nil
}

func answersOK(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}
