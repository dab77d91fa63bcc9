// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Objects reads what a pod refers to, in the pod's namespace.
type Objects interface {
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
}

// environment is the environment of one container. What the container says
// wins over the image, and that over what every container gets.
func (r Resolver) environment(ctx context.Context, pod *corev1.Pod, c corev1.Container, image []string) (map[string]string, error) {
	env := map[string]string{
		"PATH":                          "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOSTNAME":                      hostname(pod),
		"KUBERNETES_SERVICE_HOST":       r.ServiceHost,
		"KUBERNETES_SERVICE_PORT":       r.ServicePort,
		"KUBERNETES_SERVICE_PORT_HTTPS": r.ServicePort,
		"POD_IP":                        pod.Status.PodIP,
	}
	for _, kv := range image {
		key, value, _ := strings.Cut(kv, "=")
		env[key] = value
	}
	for i, from := range c.EnvFrom {
		more, err := r.envFrom(ctx, pod.Namespace, from)
		if err != nil {
			return nil, fmt.Errorf("envFrom[%d]: %w", i, err)
		}
		maps.Copy(env, more)
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			env[e.Name] = expand(e.Value, env)
			continue
		}
		value, ok, err := r.valueFrom(ctx, pod, c.Name, e.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("env[%s]: %w", e.Name, err)
		}
		if ok {
			env[e.Name] = value
		}
	}
	return env, nil
}

// envFrom reads a whole ConfigMap or Secret. An absent one that is optional
// gives nothing.
func (r Resolver) envFrom(ctx context.Context, namespace string, from corev1.EnvFromSource) (map[string]string, error) {
	out := map[string]string{}
	switch {
	case from.ConfigMapRef != nil:
		m, err := r.Objects.ConfigMap(ctx, namespace, from.ConfigMapRef.Name)
		if absent(err, from.ConfigMapRef.Optional) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for key, value := range m.Data {
			out[from.Prefix+key] = value
		}
	case from.SecretRef != nil:
		s, err := r.Objects.Secret(ctx, namespace, from.SecretRef.Name)
		if absent(err, from.SecretRef.Optional) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for key, value := range s.Data {
			out[from.Prefix+key] = string(value)
		}
	}
	return out, nil
}

// valueFrom gives one value; ok is false where an optional one is absent.
func (r Resolver) valueFrom(ctx context.Context, pod *corev1.Pod, container string, from *corev1.EnvVarSource) (value string, ok bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = Field(pod, from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err = Resource(pod, container, from.ResourceFieldRef)
		return value, err == nil, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		s, err := r.Objects.Secret(ctx, pod.Namespace, ref.Name)
		if absent(err, ref.Optional) {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		data, found := s.Data[ref.Key]
		return key("Secret", ref.Name, ref.Key, string(data), found, ref.Optional)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		m, err := r.Objects.ConfigMap(ctx, pod.Namespace, ref.Name)
		if absent(err, ref.Optional) {
			return "", false, nil
		}
		if err != nil {
			return "", false, err
		}
		data, found := m.Data[ref.Key]
		return key("ConfigMap", ref.Name, ref.Key, data, found, ref.Optional)
	}
	return "", false, fmt.Errorf("valueFrom: this node knows fieldRef, resourceFieldRef, secretKeyRef and configMapKeyRef only")
}

// absent says that nothing is there and nothing has to be.
func absent(err error, optional *bool) bool {
	return apierrors.IsNotFound(err) && optional != nil && *optional
}

func key(kind, name, key, value string, found bool, optional *bool) (string, bool, error) {
	if !found && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("%s %q has no key %q", kind, name, key)
	}
	return value, found, nil
}

// list writes an environment as KEY=value, sorted.
func list(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
