// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a test waits for what takes seconds at most, on a busy
// machine.
const patience = 90 * time.Second

// poll calls check until it returns nil, and returns its last error when ctx
// ends first.
func poll(ctx context.Context, check func() error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still, at the end of the wait: %w", err)
		case <-tick.C:
		}
	}
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}

// space is a namespace of one test.
type space struct {
	*stack
	t    *testing.T
	name string
}

// newSpace makes a namespace with its default ServiceAccount.
func newSpace(t *testing.T) space {
	t.Helper()
	made, err := shared.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := space{shared, t, made.Name}
	eventually(t, func() error {
		_, err := s.client.CoreV1().ServiceAccounts(s.name).Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		_, err = s.client.CoreV1().ConfigMaps(s.name).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	t.Cleanup(func() {
		if err := s.node.revive(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(s.node.path("log"))
			t.Logf("the end of the node's log:\n%s", log[max(0, len(log)-4000):])
		}
		_ = s.client.CoreV1().Namespaces().Delete(context.Background(), s.name, metav1.DeleteOptions{})
	})
	return s
}

// shellPod is a pod of one container that runs a script.
func shellPod(name, script string) *corev1.Pod {
	second := int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &second,
			NodeSelector: map[string]string{corev1.LabelHostname: "node-a"},
			Containers:   []corev1.Container{{Name: "main", Image: "shell", Args: []string{"-c", script}}},
		},
	}
}

func (s space) create(pod *corev1.Pod) *corev1.Pod {
	s.t.Helper()
	made, err := s.client.CoreV1().Pods(s.name).Create(s.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

func (s space) get(name string) (*corev1.Pod, error) {
	return s.client.CoreV1().Pods(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
}

// until waits until a pod is as wanted, and returns it.
func (s space) until(name string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	s.t.Helper()
	var pod *corev1.Pod
	eventually(s.t, func() error {
		var err error
		if pod, err = s.get(name); err != nil {
			return err
		}
		if !wanted(pod) {
			return fmt.Errorf("pod %s is %s", name, describe(pod))
		}
		return nil
	})
	return pod
}

func describe(pod *corev1.Pod) string {
	text := fmt.Sprintf("%s %s %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range list {
			text += fmt.Sprintf("; %s ready=%t restarts=%d %+v", c.Name, c.Ready, c.RestartCount, c.State)
		}
	}
	return text
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return p.Status.Phase == phase }
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// gone waits until the pod's object, folder and processes are no more.
func (s space) gone(n *node, pod *corev1.Pod) {
	s.t.Helper()
	eventually(s.t, func() error {
		if now, err := s.get(pod.Name); err == nil && now.UID == pod.UID {
			return fmt.Errorf("pod %s is still there: %s", pod.Name, describe(now))
		}
		if _, err := os.Stat(n.root() + "/pods/" + string(pod.UID)); err == nil {
			return fmt.Errorf("the folder of pod %s is still there", pod.Name)
		}
		return leftovers(string(pod.UID))
	})
}

// leftovers looks for processes and mounts that name a pod. The command line of
// the supervisor does, and so do the mounts of a container.
func leftovers(uid string) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		for _, file := range []string{"cmdline", "mountinfo"} {
			data, _ := os.ReadFile("/proc/" + e.Name() + "/" + file)
			if strings.Contains(string(data), uid) {
				return fmt.Errorf("process %s has the pod in its %s", e.Name(), file)
			}
		}
	}
	return nil
}

// logs reads a container's log as kubectl does.
func (s space) logs(name string, o corev1.PodLogOptions) (string, error) {
	stream, err := s.client.CoreV1().Pods(s.name).GetLogs(name, &o).Stream(s.t.Context())
	if err != nil {
		return "", err
	}
	defer stream.Close()
	data, err := io.ReadAll(stream)
	return string(data), err
}

// output is what a pod's container has printed, in the end.
func (s space) output(name string) string {
	s.t.Helper()
	text, err := s.logs(name, corev1.PodLogOptions{Container: "main"})
	if err != nil {
		s.t.Fatalf("the log of pod %s: %v", name, err)
	}
	return text
}

// programArg makes the test binary the program of a pod.
const programArg = "serve-program"

// program serves HTTP on $(POD_IP):args[0]; /health fails while a file args[1] is absent.
func program(args []string) int {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("POD_IP"), args[0]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(args[1]); err != nil {
			http.Error(w, "absent", http.StatusServiceUnavailable)
		}
	})
	if err := http.Serve(listener, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// event waits for an event of a pod.
func (s space) event(pod, reason string) {
	s.t.Helper()
	eventually(s.t, func() error {
		list, err := s.client.CoreV1().Events(s.name).List(s.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod + ",reason=" + reason})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("pod %s has no event %s", pod, reason)
		}
		return err
	})
}
