// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRightsAndEnvironment(t *testing.T) {
	yes, no, user, group := true, false, int64(65532), int64(7000)
	strict := func(p *corev1.Pod) {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user}
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	cases := map[string]struct {
		reason string
		script string
		change func(*corev1.Pod)
		want   string
	}{
		"Strict": {
			reason: "a pod as strict as a build's runs as its user, without rights, on a root folder that it can't write",
			script: "id -u; id -g; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; touch /tmp/x 2>/dev/null || echo refused; touch /keep/x && ls /keep",
			change: func(p *corev1.Pod) { strict(p); keep(p) },
			want:   "65532\n65532\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nrefused\nx\n",
		},
		"Groups": {
			reason: "fsGroup and further groups are the process's, and volumes are theirs", script: "id -G; stat -c '%g %a' /keep; touch /keep/f && stat -c %g /keep/f; stat -Lc '%g %a' /in/key",
			change: func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &group, SupplementalGroups: []int64{8000}}
				keep(p)
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "in", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "env"}}})
				p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "in", MountPath: "/in"})
			}, want: "65532 7000 8000\n7000 2777\n7000\n7000 644\n",
		},
		"Image": {
			reason: "user, environment and working folder come from the image where the pod says nothing", script: "id -u; pwd; echo $FROM_IMAGE $OVERRIDDEN",
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "user:some-tag"
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OVERRIDDEN", Value: "yes"}}
			}, want: "4711\n/home/here\nyes yes\n",
		},
		"Environment": {
			reason: "each kind of valueFrom and envFrom works",
			script: "for v in NAME NS LABEL NODE IP CPU MEM SECRET MAP ABSENT P_key P_other; do echo \"$v=$(printenv $v || echo -unset-)\"; done",
			change: func(p *corev1.Pod) {
				field := func(name, path string) corev1.EnvVar {
					return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
				}
				p.Labels = map[string]string{"app.example/x": "labelled"}
				c := &p.Spec.Containers[0]
				c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
				c.Env = []corev1.EnvVar{
					field("NAME", "metadata.name"), field("NS", "metadata.namespace"), field("LABEL", "metadata.labels['app.example/x']"), field("NODE", "spec.nodeName"), field("IP", "status.hostIP"),
					{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
					{Name: "MEM", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
					{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local("env"), Key: "key"}}},
					{Name: "MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local("env"), Key: "other"}}},
					{Name: "ABSENT", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local("nothing"), Key: "x", Optional: &yes}}},
				}
				c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local("env")}}, {Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local("env")}}}
			}, want: "NAME=environment\nNS=SPACE\nLABEL=labelled\nNODE=node-a\nIP=127.0.0.1\nCPU=2\nMEM=64\nSECRET=$(NAME)\nMAP=m\nABSENT=-unset-\nP_key=$(NAME)\nP_other=m\n",
		},
	}
	s := newSpace(t)
	s.secret("env", map[string][]byte{"key": []byte("$(NAME)")})
	s.configMap("env", map[string]string{"other": "m"}, nil)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := space{s.stack, t, s.name}
			pod := shellPod(strings.ToLower(name), tc.script)
			tc.change(pod)
			s.create(pod)
			got := s.until(pod.Name, ended)
			want := strings.ReplaceAll(tc.want, "SPACE", s.name)
			if name == "Environment" {
				s.event(pod.Name, "LimitsNotEnforced")
			}
			if diff := cmp.Diff(want, s.output(pod.Name)); diff != "" {
				t.Errorf("%s: the pod is %s and printed (-want +got):\n%s", tc.reason, describe(got), diff)
			}
		})
	}
}

func TestNonRootIsRefusedForRoot(t *testing.T) {
	s := newSpace(t)
	yes := true
	pod := shellPod("root", "id -u")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes}
	s.create(pod)
	got := s.until("root", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	if m := got.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(m, "set runAsUser") {
		t.Errorf("the message is %q, want the way out", m)
	}
}

// TestUnprivilegedNode runs a node as a user without rights.
func TestUnprivilegedNode(t *testing.T) {
	const nobody = 65534
	s := newSpace(t)
	n, err := shared.newNode(filepath.Join(shared.dir, "node-b"), "node-b", nobody)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopNode(t, n) })
	if err := n.waitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	user, yes := int64(65532), true
	s.secret("env", map[string][]byte{"key": []byte("k")})
	pod := shellPod("lone", "id -u; id -G; cat /in/key; echo; touch /x 2>/dev/null || echo refused; touch /keep/x && ls /keep; exit 6")
	pod.Spec.NodeSelector[corev1.LabelHostname] = "node-b"
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user, FSGroup: &user}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes}
	keep(pod)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "in", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "env"}}})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "in", MountPath: "/in"})
	made := s.create(pod)
	got := s.until("lone", ended)
	if text := s.output("lone"); text != "65532\n65532\nk\nrefused\nx\n" || got.Status.ContainerStatuses[0].State.Terminated.ExitCode != 6 {
		t.Errorf("the pod is %s and printed %q", describe(got), text)
	}
	if err := s.client.CoreV1().Pods(s.name).Delete(t.Context(), "lone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.gone(n, made)
}
