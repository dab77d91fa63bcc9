// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"darkshift.io/infrared/internal/devstack/pki"
)

// NodeFiles are the files that a node needs to join a control plane.
type NodeFiles struct {
	Kubeconfig string // its user system:node:<name>, all inline
	ClientCA   string // authority of those who may ask it for logs
	Cert, Key  string // what it shows to them
}

// NodeFiles makes the certificates and the kubeconfig of a node, good for a
// year. Called again it makes new ones; those handed out before stay good.
func (cp *ControlPlane) NodeFiles(name string, now time.Time) (NodeFiles, error) {
	if err := cp.files.EnsureNode(name, now); err != nil {
		return NodeFiles{}, fmt.Errorf("making the certificates of node %q: %w", name, err)
	}
	client, serving := pki.NodeClient(name), pki.NodeServing(name)
	files := NodeFiles{
		Kubeconfig: cp.userKubeconfig(client), ClientCA: cp.CAFile,
		Cert: cp.files.Cert(serving), Key: cp.files.Key(serving),
	}
	return files, cp.writeUserKubeconfig(client, files.Kubeconfig)
}

// node is what matters of a Node object here.
type node struct {
	Spec struct {
		Taints []struct {
			Key    string `json:"key"`
			Effect string `json:"effect"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type              string    `json:"type"`
			Status            string    `json:"status"`
			LastHeartbeatTime time.Time `json:"lastHeartbeatTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// NodeReady returns nil when a node that was started at since takes pods. Else
// the error says what is missing. What an earlier process of the same node said
// doesn't count.
func (cp *ControlPlane) NodeReady(ctx context.Context, name string, since time.Time) error {
	var n node
	if err := cp.api.call(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name), nil, &n); err != nil {
		return fmt.Errorf("looking at node %q: %w", name, err)
	}
	for _, t := range n.Spec.Taints {
		if t.Effect == "NoSchedule" || t.Effect == "NoExecute" {
			return fmt.Errorf("node %q takes no pods, it is tainted %s", name, t.Key)
		}
	}
	for _, c := range n.Status.Conditions {
		// The API's times are in whole seconds.
		if c.Type == "Ready" && c.Status == "True" && !c.LastHeartbeatTime.Before(since.Truncate(time.Second)) {
			return nil
		}
	}
	return errors.New("the node has not said that it is ready")
}
