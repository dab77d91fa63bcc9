// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Kubectl runs the binary's own kubectl as the administrator and returns what
// it printed. The error carries kubectl's words.
func (cp *ControlPlane) Kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, cp.opts.Binary, append([]string{"kubectl", "--kubeconfig=" + cp.Kubeconfig()}, args...)...)
	cmd.Dir = cp.opts.Dir
	cmd.Env = append(os.Environ(), cp.opts.Env...)
	// A person's ~/.kube must neither be read nor written.
	cmd.Env = append(cmd.Env, "KUBECTL_KUBERC=false", "KUBECACHEDIR="+cp.opts.Dir+"/kubectl-cache")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// WaitCRDs returns when every CustomResourceDefinition is Established, which
// is when its objects can be made.
func (cp *ControlPlane) WaitCRDs(ctx context.Context) error {
	return cp.wait(ctx, cp.opts.Components, func() error {
		var list struct {
			Items []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
				Status struct {
					Conditions []struct {
						Type   string `json:"type"`
						Status string `json:"status"`
					} `json:"conditions"`
				} `json:"status"`
			} `json:"items"`
		}
		if err := cp.api.call(ctx, http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", nil, &list); err != nil {
			return err
		}
		var pending []string
		for _, crd := range list.Items {
			established := false
			for _, c := range crd.Status.Conditions {
				established = established || c.Type == "Established" && c.Status == "True"
			}
			if !established {
				pending = append(pending, crd.Metadata.Name)
			}
		}
		if len(pending) > 0 {
			slices.Sort(pending)
			return fmt.Errorf("not Established yet: %s", strings.Join(pending, ", "))
		}
		return nil
	})
}
