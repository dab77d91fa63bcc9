// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	ofrun "darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/fake/httpcloud"
)

// account compares, at the end of a run, what is in the cloud with what Infrared knows of.
func (l *life) account(ctx context.Context, c *v1alpha1.Cluster) error {
	if c.Status.Run.Record == l.accounted {
		return nil
	}
	l.incarnation = c.Spec.Incarnation
	names := ofrun.NamesOf(l.name, l.incarnation)
	known, err := l.w.known(ctx, names)
	if err != nil {
		return err
	}
	for _, left := range c.Status.Run.LeftBehind {
		known += " " + left.ID
	}
	things, err := l.w.things(l.incarnation)
	if err != nil {
		return err
	}
	for _, thing := range things {
		if !strings.Contains(known, thing) {
			return fmt.Errorf("after %s: %s is in the cloud and in neither state, ledger nor leftBehind: %w", inShort(c.Status.Run), thing, errHopeless)
		}
	}
	l.accounted = c.Status.Run.Record
	return l.notDoubled()
}

// known is all that OpenTofu's state and the ledger say, as text.
func (w *world) known(ctx context.Context, names ofrun.Names) (string, error) {
	var text strings.Builder
	var state corev1.Secret
	err := w.Client.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: names.State()}, &state)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	if packed := state.Data["tfstate"]; len(packed) > 0 {
		plain, err := unzip(packed)
		if err != nil {
			return "", err
		}
		text.Write(plain)
	}
	var ledger corev1.ConfigMap
	err = w.Client.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: names.Ledger()}, &ledger)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	if packed := ledger.BinaryData[ofrun.KeyLedger]; len(packed) > 0 {
		plain, err := unzip(packed)
		if err != nil {
			return "", err
		}
		text.Write(plain)
	}
	return text.String(), nil
}

func unzip(packed []byte) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(zip, 64<<20))
}

// things are the IDs of what an incarnation has in the cloud, past the cloud's API.
func (w *world) things(incarnation string) ([]string, error) {
	files, err := filepath.Glob(w.path("cloud", "things", "*.json"))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just gone
		}
		var thing httpcloud.Thing
		if err == nil {
			err = json.Unmarshal(text, &thing)
		}
		if err != nil {
			return nil, err
		}
		if thing.Labels[httpcloud.LabelOwner] == incarnation {
			ids = append(ids, thing.ID)
		}
	}
	return ids, nil
}

// notDoubled says whether anything was made twice: under its name, or another of its kind.
func (l *life) notDoubled() error {
	text, err := os.ReadFile(l.w.path("cloud", "writes.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var made []string
	for line := range strings.Lines(string(text)) {
		var write httpcloud.Write
		if json.Unmarshal([]byte(line), &write) != nil || write.Owner != l.incarnation || write.Do != "create" {
			continue
		}
		kind, _, _ := strings.Cut(write.ID, "/")
		if slices.Contains(made, kind) {
			return fmt.Errorf("a %s was made twice, the second time as %s: %w", kind, write.ID, errHopeless)
		}
		made = append(made, kind)
	}
	return nil
}

// kept are the kinds of objects that runs keep on the management cluster.
func kept() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "ConfigMap"},
		{Version: "v1", Kind: "ServiceAccount"},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	}
}

// nothingLeft waits until there is nothing of the life any more but its records, Jobs and the DeletionRecord.
func (l *life) nothingLeft(ctx context.Context) error {
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(l.name)}}
	// It was made by hand, and is deleted by hand.
	if err := l.w.Client.Delete(ctx, credentials); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	err := poll(ctx, func() error {
		left, err := l.w.objectsOf(ctx, l.name)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left are %s", strings.Join(left, ", "))
		}
		return err
	})
	if err != nil {
		return err
	}
	record := &v1alpha1.DeletionRecord{}
	if err := l.w.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.RecordName(l.name, l.incarnation)}, record); err != nil {
		return err
	}
	listed, err := json.Marshal(record)
	if err != nil {
		return err
	}
	things, err := l.w.things(l.incarnation)
	if err != nil {
		return err
	}
	for _, thing := range things {
		if !bytes.Contains(listed, []byte(`"`+thing+`"`)) {
			return fmt.Errorf("%s is in the cloud for good, and the DeletionRecord does not list it", thing)
		}
	}
	l.left = len(things)
	return l.notDoubled()
}

// objectsOf are a Cluster's objects but its records, by kind and name.
func (w *world) objectsOf(ctx context.Context, name string) ([]string, error) {
	var found []string
	for _, kind := range kept() {
		for _, namespace := range []string{v1alpha1.Namespace, v1alpha1.ArgoNamespace} {
			var list metav1.PartialObjectMetadataList
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			if err := w.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
				return nil, err
			}
			for _, o := range list.Items {
				ours := o.Labels[v1alpha1.LabelCluster] == name || lifeName.FindString(o.Name) == name
				if ours && o.Labels[v1alpha1.LabelBuild] != "record" {
					found = append(found, kind.Kind+" "+namespace+"/"+o.Name)
				}
			}
		}
	}
	return found, nil
}

// noteToken remembers the token that was granted, which is found nowhere later.
func (l *life) noteToken(ctx context.Context) error {
	var secret corev1.Secret
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: v1alpha1.KubeconfigSecretName(l.name)}
	if err := l.w.Client.Get(ctx, key, &secret); err != nil {
		return err
	}
	for line := range strings.Lines(string(secret.Data[v1alpha1.KubeconfigKey])) {
		if _, token, ok := strings.Cut(line, "token:"); ok {
			l.tokens = append(l.tokens, strings.Trim(strings.TrimSpace(token), `"`))
			return nil
		}
	}
	return errors.New("the kubeconfig holds no token")
}
