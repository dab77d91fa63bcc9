// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// leaks says where a secret is found that may stand in Secrets only.
func (w *world) leaks(ctx context.Context, secrets []string) ([]string, error) {
	texts, err := w.texts(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for where, text := range texts {
		for i, secret := range secrets {
			if secret != "" && strings.Contains(text, secret) {
				found = append(found, fmt.Sprintf("secret %d is in %s", i, where))
			}
		}
	}
	return found, nil
}

// texts is all that people may read: objects that are no Secrets, and logs.
func (w *world) texts(ctx context.Context) (map[string]string, error) {
	texts := map[string]string{}
	for _, kind := range []string{"clusters", "deletionrecords", "providers", "configmaps", "events", "jobs", "pods", "leases"} {
		text, err := w.Kubectl(ctx, "get", kind, "--all-namespaces", "-o", "json")
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w: %s", kind, err, text)
		}
		texts[kind] = text
	}
	var packed corev1.ConfigMapList
	if err := w.Client.List(ctx, &packed); err != nil {
		return nil, err
	}
	for _, c := range packed.Items {
		for key, data := range c.BinaryData {
			plain, err := unzip(data)
			if err != nil {
				return nil, fmt.Errorf("ConfigMap %s, key %s: %w", c.Name, key, err)
			}
			texts["ConfigMap "+c.Name+", key "+key] = string(plain)
		}
	}
	for _, name := range []string{"operator.log", "node.log", "cloud.log"} {
		text, err := os.ReadFile(w.path(name))
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	logs, err := w.podLogs()
	if err == nil && !strings.Contains(logs, "Apply complete!") {
		err = errors.New("the pods' logs lack what OpenTofu says at the end of an apply: they are somewhere else")
	}
	texts["the pods' logs"] = logs
	return texts, err
}

// podLogs is what the pods that are there still have printed.
func (w *world) podLogs() (string, error) {
	var all strings.Builder
	pods := w.path("node", "pods")
	err := filepath.WalkDir(pods, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(strings.TrimPrefix(path, pods), "log") {
			return nil //nolint:nilerr // pods come and go
		}
		if text, err := os.ReadFile(path); err == nil {
			all.Write(text)
		}
		return nil
	})
	return all.String(), err
}
