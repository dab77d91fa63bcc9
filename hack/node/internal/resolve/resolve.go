// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package resolve

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/hack/node/internal/box"
	"darkshift.io/infrared/hack/node/internal/image"
	"darkshift.io/infrared/hack/node/internal/record"
)

// Resolver has what all pods of a node share.
type Resolver struct {
	Images  image.Table
	Objects Objects
	// ServiceHost and ServicePort are where containers find the API server.
	ServiceHost, ServicePort string
	// Resolv is the content of resolv.conf.
	Resolv string
}

// Reason says under which of Kubernetes' words an error belongs in a waiting
// container's status.
type Reason struct {
	Word string // such as ErrImagePull
	Err  error
}

func (r *Reason) Error() string { return r.Err.Error() }

// Unwrap gives the cause.
func (r *Reason) Unwrap() error { return r.Err }

// Containers resolves a pod whose status holds its addresses. volumes maps the names
// of the pod's volumes to folders or files of this machine. The error is a Reason.
func (r Resolver) Containers(ctx context.Context, pod *corev1.Pod, volumes map[string]string) (initial, main []record.Container, err error) {
	for _, c := range pod.Spec.InitContainers {
		one, err := r.container(ctx, pod, c, volumes)
		if err != nil {
			return nil, nil, err
		}
		initial = append(initial, one)
	}
	for _, c := range pod.Spec.Containers {
		one, err := r.container(ctx, pod, c, volumes)
		if err != nil {
			return nil, nil, err
		}
		main = append(main, one)
	}
	return initial, main, nil
}

func (r Resolver) container(ctx context.Context, pod *corev1.Pod, c corev1.Container, volumes map[string]string) (record.Container, error) {
	img, err := r.Images.Find(c.Image)
	if err != nil {
		return record.Container{}, &Reason{"ErrImagePull", fmt.Errorf("container %q: %w", c.Name, err)}
	}
	spec, err := r.spec(ctx, pod, c, img, volumes)
	if err != nil {
		return record.Container{}, &Reason{"CreateContainerConfigError", fmt.Errorf("container %q: %w", c.Name, err)}
	}
	return record.Container{Name: c.Name, Image: c.Image, Box: spec}, nil
}

func (r Resolver) spec(ctx context.Context, pod *corev1.Pod, c corev1.Container, img image.Image, volumes map[string]string) (box.Spec, error) {
	spec := box.Spec{Hostname: hostname(pod), Dir: c.WorkingDir, Exec: execs(c)}
	if spec.Dir == "" {
		spec.Dir = img.WorkingDir
	}
	env, err := r.environment(ctx, pod, c, img.Env)
	if err != nil {
		return spec, err
	}
	command, args := img.Command, img.Args
	if len(c.Command) > 0 {
		// A command of the pod's own comes without the image's arguments.
		command, args = c.Command, nil
	}
	if len(c.Args) > 0 {
		args = c.Args
	}
	spec.Args = expandAll(slices.Concat(command, args), env)
	if err := rights(pod, c, img, &spec); err != nil {
		return spec, err
	}
	if _, ok := env["HOME"]; !ok {
		env["HOME"] = home(spec.UID)
	}
	spec.Env = list(env)
	for inside, outside := range img.Files {
		spec.Mounts = append(spec.Mounts, box.Mount{Source: outside, Target: inside, ReadOnly: true})
	}
	if err := mounts(&spec, pod, c, volumes, env); err != nil {
		return spec, err
	}
	spec.Files = r.etc(pod, img, spec)
	return spec, nil
}

func mounts(spec *box.Spec, pod *corev1.Pod, c corev1.Container, volumes, env map[string]string) error {
	for _, m := range c.VolumeMounts {
		source, ok := volumes[m.Name]
		if !ok {
			return fmt.Errorf("volumeMounts[%s]: the pod has no such volume", m.Name)
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = expand(m.SubPathExpr, env)
		}
		target := m.MountPath
		if !path.IsAbs(target) {
			target = "/" + target
		}
		spec.Mounts = append(spec.Mounts, box.Mount{Source: source, SubPath: sub, Target: target, ReadOnly: m.ReadOnly || readOnly(pod, m.Name)})
	}
	return nil
}

// readOnly says that a volume's content is the node's, or that the pod asked
// for it.
func readOnly(pod *corev1.Pod, name string) bool {
	for _, v := range pod.Spec.Volumes {
		if v.Name == name {
			claim := v.PersistentVolumeClaim
			return v.Secret != nil || v.ConfigMap != nil || v.DownwardAPI != nil || v.Projected != nil || claim != nil && claim.ReadOnly
		}
	}
	return false
}

// etc are the files that programs look up names in, unless the image brings
// the folder itself.
func (r Resolver) etc(pod *corev1.Pod, img image.Image, spec box.Spec) map[string]string {
	for inside := range img.Files {
		if path.Clean(inside) == "/etc" {
			return nil
		}
	}
	hosts := "127.0.0.1\tlocalhost\n::1\tlocalhost\n" + pod.Status.PodIP + "\t" + hostname(pod) + "\n"
	for _, alias := range pod.Spec.HostAliases {
		hosts += alias.IP + "\t" + strings.Join(alias.Hostnames, "\t") + "\n"
	}
	passwd, group := "root:x:0:0:root:/root:/sbin/nologin\n", "root:x:0:\n"
	if spec.UID != 0 {
		passwd += fmt.Sprintf("user:x:%d:%d::%s:/sbin/nologin\n", spec.UID, spec.GID, home(spec.UID))
	}
	if spec.GID != 0 {
		group += fmt.Sprintf("user:x:%d:\n", spec.GID)
	}
	return map[string]string{"/etc/hosts": hosts, "/etc/hostname": hostname(pod) + "\n", "/etc/resolv.conf": r.Resolv, "/etc/passwd": passwd, "/etc/group": group}
}

func home(uid int) string {
	if uid == 0 {
		return "/root"
	}
	return "/"
}

func hostname(pod *corev1.Pod) string {
	if pod.Spec.Hostname != "" {
		return pod.Spec.Hostname
	}
	// The kernel takes 64 bytes, a pod's name may have more.
	name := pod.Name
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// execs says whether a program will have to be run in the container.
func execs(c corev1.Container) bool {
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil && p.Exec != nil {
			return true
		}
	}
	return false
}
