// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func stopNode(t *testing.T, n *node) {
	t.Helper()
	n.kill()
	cmd := exec.Command(n.stack.binary, "stop", "--root", n.root(), "--purge")
	cmd.SysProcAttr = n.attr()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("stopping node %s: %v\n%s", n.name, err, out)
	}
}

func TestLogs(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("logs", "echo one; echo two >&2; printf 'no line feed'")
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "shell", Args: []string{"-c", "seq 1 5; head -c 40000 /dev/zero | tr '\\0' x"}})
	pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "shell", Args: []string{"-c", "echo before"}}}
	s.create(pod)
	s.until("logs", ended)
	tail, limit := int64(2), int64(5)
	cases := map[string]struct {
		reason string
		opts   corev1.PodLogOptions
		want   string
	}{
		"Main":  {"both outputs, in the end, to the last byte", corev1.PodLogOptions{Container: "main"}, "one\ntwo\nno line feed"},
		"Init":  {"an init container has a log of its own", corev1.PodLogOptions{Container: "first"}, "before\n"},
		"Tail":  {"a long line counts as one", corev1.PodLogOptions{Container: "side", TailLines: &tail}, "5\n" + strings.Repeat("x", 40000)},
		"Limit": {"a limit of bytes", corev1.PodLogOptions{Container: "side", LimitBytes: &limit}, "1\n2\n3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := s.logs("logs", tc.opts)
			if name == "Main" && strings.HasPrefix(got, "two\n") {
				got = "one\ntwo\n" + strings.TrimPrefix(got, "two\none\n") // two pipes have no order
			}
			if err != nil || got != tc.want {
				t.Errorf("%s: got %q, %v", tc.reason, got, err)
			}
		})
	}
	if out, err := s.kubectl(t.Context(), "-n", s.name, "logs", "logs", "-c", "side", "--timestamps", "--tail=2"); err != nil || !strings.Contains(out, "Z 5\n") {
		t.Errorf("kubectl logs --timestamps: %v\n%.200s", err, out)
	}
	if out, err := s.kubectl(t.Context(), "-n", s.name, "logs", "logs", "--all-containers"); err != nil || !strings.Contains(out, "before\n") || !strings.Contains(out, "5\n") {
		t.Errorf("kubectl logs --all-containers: %v\n%.200s", err, out)
	}
	if out, err := s.kubectl(t.Context(), "-n", s.name, "logs", "logs", "-c", "main", "--previous"); err == nil {
		t.Errorf("kubectl logs --previous of a first start gave %q", out)
	}
}

func TestLogsPreviousAndFollowed(t *testing.T) {
	s := newSpace(t)
	pod := shellPod("again", "echo start >> /host/n; n=$(wc -l < /host/n); echo number $n; if test $n = 1; then exit 1; fi; until test -e /host/go; do read -t 0.05 x < <(tail -f /dev/null); done; echo last")
	pod.Spec.Containers[0].Command = []string{"bash"}
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	dir := hostFolder(t, pod)
	s.create(pod)
	s.until("again", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount == 1 && p.Status.ContainerStatuses[0].State.Running != nil
	})
	if text, err := s.logs("again", corev1.PodLogOptions{Previous: true}); err != nil || text != "number 1\n" {
		t.Errorf("the previous log is %q, %v", text, err)
	}
	followed := make(chan string, 1)
	go func() {
		text, err := s.logs("again", corev1.PodLogOptions{Follow: true})
		followed <- fmt.Sprint(text, err)
	}()
	eventually(t, func() error {
		text, err := s.logs("again", corev1.PodLogOptions{})
		if err == nil && text != "number 2\n" {
			err = fmt.Errorf("the log is %q", text)
		}
		return err
	})
	writeFile(t, filepath.Join(dir, "go"))
	if text := <-followed; text != "number 2\nlast\n<nil>" {
		t.Errorf("the followed log is %q", text)
	}
	s.until("again", inPhase(corev1.PodSucceeded))
}

// Somebody without rights on the node gets no logs from it directly.
func TestNodeAPIRefusesOthers(t *testing.T) {
	s := newSpace(t)
	pod, _, release := oncePod(t, "private")
	s.create(pod)
	s.until("private", inPhase(corev1.PodRunning))
	defer release()
	address, err := s.kubectl(t.Context(), "get", "node", "node-a", "-o", "jsonpath={.status.addresses[0].address}:{.status.daemonEndpoints.kubeletEndpoint.Port}")
	if err != nil {
		t.Fatal(err)
	}
	path := "https://" + address + "/containerLogs/" + s.name + "/private/main"
	for who, want := range map[string]int{"": 0, "system:node:node-a": 403, "admin": 200} {
		if code := s.ask(who, path); code != want {
			t.Errorf("the node answers %q with %d, want %d", who, code, want)
		}
	}
}

// ask asks the node's own API with somebody's certificate, and returns the HTTP
// status; 0 when the connection was refused.
func (s space) ask(who, url string) int {
	s.t.Helper()
	config := &tls.Config{InsecureSkipVerify: true} // it is about who asks
	var cert, key []byte
	switch who {
	case "admin":
		cert, key = s.admin.CertData, s.admin.KeyData
	case "":
	default:
		kubeconfig, err := clientcmd.BuildConfigFromFlags("", s.node.path("kubeconfig"))
		if err != nil {
			s.t.Fatal(err)
		}
		cert, key = kubeconfig.CertData, kubeconfig.KeyData
	}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			s.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	return answer.StatusCode
}
