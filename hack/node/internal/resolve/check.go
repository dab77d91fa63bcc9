// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Check refuses a pod that needs what this node doesn't have. The error names
// the field.
func Check(pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if !knownVolume(v.VolumeSource) {
			return fmt.Errorf("spec.volumes[%s]: this node knows emptyDir, secret, configMap, downwardAPI, projected, persistentVolumeClaim and hostPath only", v.Name)
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil {
			return fmt.Errorf("spec.initContainers[%s].restartPolicy: this node has no sidecars", c.Name)
		}
		if err := checkContainer("spec.initContainers", c); err != nil {
			return err
		}
	}
	for _, c := range pod.Spec.Containers {
		if err := checkContainer("spec.containers", c); err != nil {
			return err
		}
	}
	return nil
}

func knownVolume(s corev1.VolumeSource) bool {
	return s.EmptyDir != nil || s.Secret != nil || s.ConfigMap != nil || s.DownwardAPI != nil || s.Projected != nil ||
		s.PersistentVolumeClaim != nil || s.HostPath != nil
}

func checkContainer(field string, c corev1.Container) error {
	for name, p := range map[string]*corev1.Probe{"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe} {
		if p != nil && p.Exec == nil && p.HTTPGet == nil && p.TCPSocket == nil {
			return fmt.Errorf("%s[%s].%s: this node knows exec, httpGet and tcpSocket only", field, c.Name, name)
		}
	}
	if c.Lifecycle != nil && (c.Lifecycle.PostStart != nil || c.Lifecycle.PreStop != nil) {
		return fmt.Errorf("%s[%s].lifecycle: this node runs no postStart and preStop hooks", field, c.Name)
	}
	if len(c.VolumeDevices) > 0 {
		return fmt.Errorf("%s[%s].volumeDevices: this node has no block devices", field, c.Name)
	}
	if c.TTY || c.Stdin {
		return fmt.Errorf("%s[%s].stdin and tty: this node attaches nobody", field, c.Name)
	}
	return nil
}
