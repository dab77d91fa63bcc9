// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Field is the value of a path of the downward API, such as metadata.name or
// metadata.labels['app'].
func Field(pod *corev1.Pod, path string) (string, error) {
	if kind, key, ok := strings.Cut(path, "['"); ok && strings.HasSuffix(key, "']") {
		key = strings.TrimSuffix(key, "']")
		switch kind {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return pod.Status.PodIP, nil
	case "status.hostIP", "status.hostIPs":
		return pod.Status.HostIP, nil
	}
	return "", fmt.Errorf("fieldPath %q: the downward API has no such field", path)
}

// formatMap writes a line KEY="value" for each entry, sorted.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for k, v := range m {
		lines = append(lines, fmt.Sprintf("%s=%q", k, v))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Resource is the value of a container's limit or request, divided and rounded
// up. A limit that isn't set is 0: the node enforces none.
func Resource(pod *corev1.Pod, self string, ref *corev1.ResourceFieldSelector) (string, error) {
	name := ref.ContainerName
	if name == "" {
		name = self
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name != name {
			continue
		}
		kind, what, _ := strings.Cut(ref.Resource, ".")
		list := c.Resources.Requests
		if kind == "limits" {
			list = c.Resources.Limits
		}
		return divide(list[corev1.ResourceName(what)], ref.Divisor, what), nil
	}
	return "", fmt.Errorf("resourceFieldRef: the pod has no container %q", name)
}

func divide(q, divisor resource.Quantity, what string) string {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if what == string(corev1.ResourceCPU) {
		return strconv.FormatInt(int64(math.Ceil(float64(q.MilliValue())/float64(divisor.MilliValue()))), 10)
	}
	return strconv.FormatInt(int64(math.Ceil(float64(q.Value())/float64(divisor.Value()))), 10)
}
