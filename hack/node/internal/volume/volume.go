// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volume makes a pod's volumes: folders of this machine with what
// Kubernetes says should be in them.
//
// Fill is called before the pod starts, and Refresh again and again while it runs, so
// that a changed Secret, ConfigMap, label or token reaches the running containers.
// Such files are replaced all at once, by one rename, and a reader never sees half of
// them; the layout is the kubelet's (..data and links to it).
package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"darkshift.io/infrared/hack/node/internal/resolve"
)

// Source is where content comes from.
type Source interface {
	resolve.Objects
	// Claim is the folder of this machine that stands behind a
	// PersistentVolumeClaim.
	Claim(ctx context.Context, namespace, name string) (string, error)
	// Token is a token of the pod's ServiceAccount, as often the same as its
	// lifetime allows.
	Token(ctx context.Context, pod *corev1.Pod, p *corev1.ServiceAccountTokenProjection) (string, error)
}

// file is one file of a volume.
type file struct {
	data []byte
	mode os.FileMode
}

// Fill makes all volumes of a pod and returns where each is. at gives the
// folder for a volume's name.
func Fill(ctx context.Context, src Source, pod *corev1.Pod, at func(name string) string) (map[string]string, error) {
	paths := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		path, err := fill(ctx, src, pod, v, at(v.Name))
		if err != nil {
			return nil, fmt.Errorf("volume %q: %w", v.Name, err)
		}
		paths[v.Name] = path
	}
	return paths, nil
}

// Refresh brings up to date what the node writes into the volumes of a running pod.
// A volume whose source can't be read stays as it is, and is in the error.
func Refresh(ctx context.Context, src Source, pod *corev1.Pod, at func(name string) string) error {
	var errs []error
	for _, v := range pod.Spec.Volumes {
		if v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.Projected == nil {
			continue
		}
		if _, err := fill(ctx, src, pod, v, at(v.Name)); err != nil {
			errs = append(errs, fmt.Errorf("volume %q: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}

func fill(ctx context.Context, src Source, pod *corev1.Pod, v corev1.Volume, dir string) (string, error) {
	switch {
	case v.HostPath != nil:
		return v.HostPath.Path, hostPath(v.HostPath)
	case v.PersistentVolumeClaim != nil:
		return src.Claim(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
	case v.EmptyDir != nil:
		return dir, emptyDir(dir, pod)
	}
	files, err := content(ctx, src, pod, v)
	if err != nil {
		return "", err
	}
	if err := checkNames(files); err != nil {
		return "", err
	}
	return dir, replace(dir, files, group(pod))
}

// group is who may read the volume beside its owner, or -1. Only root can give
// files away; for anybody else all users of a box are the same user of the host.
func group(pod *corev1.Pod) int {
	if c := pod.Spec.SecurityContext; c != nil && c.FSGroup != nil && os.Geteuid() == 0 {
		return int(*c.FSGroup)
	}
	return -1
}

func emptyDir(dir string, pod *corev1.Pod) error {
	if _, err := os.Stat(dir); err == nil {
		return nil // it has an owner by now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	mode := os.FileMode(0o777)
	if g := group(pod); g >= 0 {
		if err := os.Chown(dir, -1, g); err != nil {
			return fmt.Errorf("giving the folder to group %d: %w", g, err)
		}
		mode |= os.ModeSetgid
	}
	return os.Chmod(dir, mode)
}

func hostPath(h *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if h.Type != nil {
		kind = *h.Type
	}
	switch kind {
	case corev1.HostPathDirectoryOrCreate:
		return os.MkdirAll(h.Path, 0o755)
	case corev1.HostPathFileOrCreate:
		f, err := os.OpenFile(h.Path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		return f.Close()
	default:
		_, err := os.Stat(h.Path)
		return err
	}
}

// content is what a volume holds that the node writes.
func content(ctx context.Context, src Source, pod *corev1.Pod, v corev1.Volume) (map[string]file, error) {
	switch {
	case v.Secret != nil:
		s := v.Secret
		p := &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: s.SecretName}, Items: s.Items, Optional: s.Optional}
		return secret(ctx, src, pod.Namespace, p, s.DefaultMode)
	case v.ConfigMap != nil:
		c := v.ConfigMap
		p := &corev1.ConfigMapProjection{LocalObjectReference: c.LocalObjectReference, Items: c.Items, Optional: c.Optional}
		return configMap(ctx, src, pod.Namespace, p, c.DefaultMode)
	case v.DownwardAPI != nil:
		return downward(pod, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		return projected(ctx, src, pod, v.Projected)
	}
	return nil, errors.New("this node doesn't know its kind")
}

func projected(ctx context.Context, src Source, pod *corev1.Pod, p *corev1.ProjectedVolumeSource) (map[string]file, error) {
	all := map[string]file{}
	for i, s := range p.Sources {
		var files map[string]file
		var err error
		switch {
		case s.Secret != nil:
			files, err = secret(ctx, src, pod.Namespace, s.Secret, p.DefaultMode)
		case s.ConfigMap != nil:
			files, err = configMap(ctx, src, pod.Namespace, s.ConfigMap, p.DefaultMode)
		case s.DownwardAPI != nil:
			files, err = downward(pod, s.DownwardAPI.Items, p.DefaultMode)
		case s.ServiceAccountToken != nil:
			var token string
			if token, err = src.Token(ctx, pod, s.ServiceAccountToken); err == nil {
				files = map[string]file{s.ServiceAccountToken.Path: {[]byte(token), mode(nil, p.DefaultMode)}}
			}
		default:
			err = errors.New("this node doesn't know its kind")
		}
		if err != nil {
			return nil, fmt.Errorf("sources[%d]: %w", i, err)
		}
		maps.Copy(all, files)
	}
	return all, nil
}

func secret(ctx context.Context, src Source, namespace string, p *corev1.SecretProjection, def *int32) (map[string]file, error) {
	s, err := src.Secret(ctx, namespace, p.Name)
	if apierrors.IsNotFound(err) && p.Optional != nil && *p.Optional {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return pick("Secret", p.Name, s.Data, p.Items, p.Optional, def)
}

func configMap(ctx context.Context, src Source, namespace string, p *corev1.ConfigMapProjection, def *int32) (map[string]file, error) {
	m, err := src.ConfigMap(ctx, namespace, p.Name)
	if apierrors.IsNotFound(err) && p.Optional != nil && *p.Optional {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data := maps.Clone(m.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range m.Data {
		data[key] = []byte(text)
	}
	return pick("ConfigMap", p.Name, data, p.Items, p.Optional, def)
}

// pick takes all keys, or those that items name.
func pick(kind, name string, data map[string][]byte, items []corev1.KeyToPath, optional *bool, def *int32) (map[string]file, error) {
	files := map[string]file{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{value, mode(nil, def)}
		}
		return files, nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && optional != nil && *optional {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("%s %q has no key %q", kind, name, item.Key)
		}
		files[item.Path] = file{value, mode(item.Mode, def)}
	}
	return files, nil
}

func downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, def *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = resolve.Field(pod, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = resolve.Resource(pod, "", item.ResourceFieldRef)
		}
		if err != nil {
			return nil, fmt.Errorf("items[%s]: %w", item.Path, err)
		}
		files[item.Path] = file{[]byte(value), mode(item.Mode, def)}
	}
	return files, nil
}

func mode(own, def *int32) os.FileMode {
	for _, m := range []*int32{own, def} {
		if m != nil {
			return os.FileMode(*m) & fs.ModePerm
		}
	}
	return 0o644
}

// checkNames refuses paths that lead out of the volume. The API server does,
// too, but what is at stake are files of this machine.
func checkNames(files map[string]file) error {
	for name := range files {
		if !filepath.IsLocal(name) || strings.HasPrefix(name, "..") {
			return fmt.Errorf("the path %q leads out of the volume", name)
		}
	}
	return nil
}
