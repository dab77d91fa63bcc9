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
)

// tokenLife is asked of TokenRequest; the API server of a stack grants it.
const tokenLife = 365 * 24 * time.Hour

// object is a Kubernetes object in JSON.
type object map[string]any

// ServiceAccountKubeconfig makes the ServiceAccount, its namespace where that
// is missing, and a binding to a ClusterRole, and gives a kubeconfig with a
// token of it inline, good for a year. With clusterRole empty nothing is bound.
// Called again it gives a new token of the same account.
func (cp *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name, clusterRole string) ([]byte, error) {
	token, err := cp.serviceAccountToken(ctx, namespace, name, clusterRole)
	if err != nil {
		return nil, fmt.Errorf("making a kubeconfig for ServiceAccount %s/%s on %q: %w", namespace, name, cp.opts.Name, err)
	}
	k := kubeconfig{cluster: cp.opts.Name, server: cp.URL, ca: cp.ca, user: name, token: token}
	return k.render(), nil
}

func (cp *ControlPlane) serviceAccountToken(ctx context.Context, namespace, name, clusterRole string) (string, error) {
	accounts := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/serviceaccounts"
	made := []struct {
		path   string
		object object
	}{
		{"/api/v1/namespaces", object{"metadata": object{"name": namespace}}},
		{accounts, object{"metadata": object{"name": name}}},
	}
	if clusterRole != "" {
		made = append(made, struct {
			path   string
			object object
		}{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding(namespace, name, clusterRole)})
	}
	for _, m := range made {
		if err := cp.create(ctx, m.path, m.object); err != nil {
			return "", err
		}
	}
	request := object{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": object{"expirationSeconds": int(tokenLife.Seconds())},
	}
	var answer struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	path := accounts + "/" + url.PathEscape(name) + "/token"
	if err := cp.api.call(ctx, http.MethodPost, path, request, &answer); err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

// binding gives the ServiceAccount a ClusterRole in all namespaces.
func binding(namespace, name, clusterRole string) object {
	return object{
		"metadata": object{"name": namespace + ":" + name + ":" + clusterRole},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": clusterRole},
		"subjects": []object{{"kind": "ServiceAccount", "namespace": namespace, "name": name}},
	}
}

// create makes an object; one that is there already is fine.
func (cp *ControlPlane) create(ctx context.Context, path string, o object) error {
	err := cp.api.call(ctx, http.MethodPost, path, o, nil)
	var answer *statusError
	if errors.As(err, &answer) && answer.Code == http.StatusConflict {
		return nil
	}
	return err
}
