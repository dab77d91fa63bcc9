// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// job makes a Job without retries from a pod.
func (s space) job(pod *corev1.Pod) *batchv1.Job {
	s.t.Helper()
	none := int32(0)
	made, err := s.client.BatchV1().Jobs(s.name).Create(s.t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name},
		Spec:       batchv1.JobSpec{BackoffLimit: &none, Template: corev1.PodTemplateSpec{Spec: pod.Spec}},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

// jobEnded waits until a Job has ended and says whether it succeeded.
func (s space) jobEnded(name string) bool {
	s.t.Helper()
	var verdict batchv1.JobConditionType
	eventually(s.t, func() error {
		j, err := s.client.BatchV1().Jobs(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range j.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				verdict = c.Type
				return nil
			}
		}
		return fmt.Errorf("job %s has not ended: %+v", name, j.Status)
	})
	return verdict == batchv1.JobComplete
}

// podOf is the one pod of a Job.
func (s space) podOf(job string) *corev1.Pod {
	s.t.Helper()
	var pod *corev1.Pod
	eventually(s.t, func() error {
		list, err := s.client.CoreV1().Pods(s.name).List(s.t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("job %s has %d pods, want one", job, len(list.Items))
		}
		pod = &list.Items[0]
		return nil
	})
	return pod
}

func TestJobRunsWhatItsInitContainerCopied(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("copy", "")
	pod.Spec.Volumes = []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	mount := []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "copy", Image: "shell", Args: []string{"-c", "cp /usr/bin/env /shared/tool"}, VolumeMounts: mount}}
	pod.Spec.Containers[0] = corev1.Container{
		Name: "main", Image: "bare", Command: []string{"/shared/tool"}, VolumeMounts: mount,
		Env: []corev1.EnvVar{{Name: "A", Value: "one"}, {Name: "B", Value: "$(A) $(NONE) $$(A)"}},
	}
	s.job(pod)
	if !s.jobEnded("copy") {
		t.Fatalf("the job failed: %s", describe(s.podOf("copy")))
	}
	made := s.podOf("copy")
	text := s.output(made.Name)
	host, port, _ := strings.Cut(strings.TrimPrefix(s.admin.Host, "https://"), ":")
	for _, want := range []string{
		"A=one\n", "B=one $(NONE) $(A)\n", "KUBERNETES_SERVICE_HOST=" + host + "\n", "KUBERNETES_SERVICE_PORT=" + port + "\n",
		"POD_IP=" + made.Status.PodIP + "\n", "HOSTNAME=" + made.Name + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the environment lacks %q:\n%s", want, text)
		}
	}
	if !strings.HasPrefix(made.Status.PodIP, "127.") || made.Status.HostIP != "127.0.0.1" || made.Status.StartTime == nil {
		t.Errorf("the pod's status has no addresses or times: %+v", made.Status)
	}
}

func TestEndings(t *testing.T) {
	cases := map[string]struct {
		reason  string
		script  string
		change  func(*corev1.Pod)
		phase   corev1.PodPhase
		code    int32
		why     string
		message string
		restart int32
	}{
		"Zero":  {reason: "a program that ends well succeeds", script: "exit 0", phase: corev1.PodSucceeded, why: "Completed"},
		"Seven": {reason: "the exit code is the program's", script: "exit 7", phase: corev1.PodFailed, code: 7, why: "Error"},
		"Signal": {
			reason: "a program that a signal ended has 128 and its number", script: "exec timeout -s KILL 0.1 tail -f /dev/null",
			phase: corev1.PodFailed, code: 137, why: "Error",
		},
		"Missing": {
			reason: "a program that is not there can't be started", change: func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"/no/such"} },
			phase: corev1.PodFailed, code: 128, why: "StartError", message: `running "/no/such": no such file or directory`,
		},
		"Message": {
			reason: "the termination message is the program's last word", script: "echo -n bye > /dev/termination-log; exit 3",
			phase: corev1.PodFailed, code: 3, why: "Error", message: "bye",
		},
		"OwnPath": {
			reason: "the termination message has the path that the pod gives", script: "echo -n bye > /tmp/last",
			change: func(p *corev1.Pod) { p.Spec.Containers[0].TerminationMessagePath = "/tmp/last" },
			phase:  corev1.PodSucceeded, why: "Completed", message: "bye",
		},
		"Fallback": {
			reason: "the log stands in for a missing message, where asked", script: "echo one; echo two; exit 1",
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			}, phase: corev1.PodFailed, code: 1, why: "Error", message: "one\ntwo\n",
		},
		"OnFailure": {
			reason: "a failed container is started again until it succeeds", script: "echo x >> /keep/n; test $(wc -l < /keep/n) = 3",
			change: func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure; keep(p) },
			phase:  corev1.PodSucceeded, why: "Completed", restart: 2,
		},
		"InitFails": {
			reason: "a pod whose init container fails never starts its containers", script: "echo never",
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "shell", Args: []string{"-c", "exit 4"}}}
			}, phase: corev1.PodFailed,
		},
		"Deadline": {
			reason: "activeDeadlineSeconds end a pod", script: "tail -f /dev/null",
			change: func(p *corev1.Pod) { three := int64(3); p.Spec.ActiveDeadlineSeconds = &three },
			phase:  corev1.PodFailed, code: 137, why: "Error",
		},
	}
	s := newSpace(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := space{s.stack, t, s.name}
			pod := shellPod(strings.ToLower(name), tc.script)
			if tc.change != nil {
				tc.change(pod)
			}
			s.create(pod)
			got := s.until(pod.Name, ended)
			if got.Status.Phase != tc.phase {
				t.Fatalf("%s: the pod is %s", tc.reason, describe(got))
			}
			if name == "Deadline" && got.Status.Reason != "DeadlineExceeded" {
				t.Errorf("%s: the pod's reason is %q", tc.reason, got.Status.Reason)
			}
			state := got.Status.ContainerStatuses[0].State.Terminated
			if state == nil {
				// On a busy machine the deadline may come before the program.
				if tc.why != "" && name != "Deadline" {
					t.Fatalf("%s: the container is %+v", tc.reason, got.Status.ContainerStatuses[0].State)
				}
				return
			}
			message := strings.TrimSpace(state.Message)
			if state.ExitCode != tc.code || state.Reason != tc.why || message != strings.TrimSpace(tc.message) || got.Status.ContainerStatuses[0].RestartCount != tc.restart {
				t.Errorf("%s: the container ended with %+v after %d restarts", tc.reason, state, got.Status.ContainerStatuses[0].RestartCount)
			}
		})
	}
}

// keep gives a pod's container an emptyDir at /keep, which outlives restarts.
func keep(p *corev1.Pod) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "keep", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "keep", MountPath: "/keep"})
}

func TestTwentyPodsAtOnce(t *testing.T) {
	s := newSpace(t)
	const n = 20
	ips := map[string]bool{}
	for i := range n {
		s.create(shellPod(fmt.Sprintf("many-%d", i), "echo here; exit 0"))
	}
	for i := range n {
		pod := s.until(fmt.Sprintf("many-%d", i), ended)
		if pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("pod %d is %s", i, describe(pod))
		}
		if text := s.output(pod.Name); text != "here\n" {
			t.Errorf("pod %d printed %q", i, text)
		}
		ips[pod.Status.PodIP] = true
	}
	if len(ips) != n {
		t.Errorf("%d pods have %d addresses", n, len(ips))
	}
}
