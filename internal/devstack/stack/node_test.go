// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/stack"
)

// The shape of the Jobs that build clusters: what the init container copies, the
// main one uses, without rights and on a root folder that can't be written to.
const jobManifest = `apiVersion: batch/v1
kind: Job
metadata: {name: build, namespace: infrared}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 900
      securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      volumes: [{name: infrared, emptyDir: {}}]
      initContainers:
      - name: install
        image: infrared-build:dev
        command: [/usr/local/bin/infrared-build, install, --plugin, incluster]
        securityContext: &none {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: infrared, mountPath: /infrared}]
      containers:
      - name: tofu
        image: %s
        command:
        - sh
        - -c
        - |
          ls /infrared /infrared/plugins
          tofu version | head -1
          git --version | cut -d' ' -f1,2
          trap 'exit 3' TERM
          echo waiting
          while :; do sleep 1 & wait; done
        securityContext: *none
        volumeMounts: [{name: infrared, mountPath: /infrared}]
`

// newBenchWith is a bench with programs of the repository.
func newBenchWith(t *testing.T, programs ...string) *bench {
	t.Helper()
	root, err := devstack.RepoRoot()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	put(t, filepath.Join(b.repo, "deploy", "crds", "providers.yaml"), providersCRD)
	for _, name := range programs {
		from, to := filepath.Join(root, ".dev", "bin", name), filepath.Join(b.Data, "bin", name)
		if _, err := os.Stat(from); err != nil {
			t.Fatalf("%v: run make stack build", err)
		}
		// Pods run them as nobody.
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(from, to); err == nil {
			continue // on the same disk
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// The life of a node on a stack, in one run because each start costs seconds.
func TestNode(t *testing.T) {
	b := newBenchWith(t, "node", "tofu", "infrared-build", "plugins/incluster")
	if out, err := b.upNode(stack.NodeProcess); err != nil {
		t.Fatalf("Up: %v\n%s", err, out)
	}
	for _, step := range []struct {
		name string
		test func(*testing.T)
	}{
		{"RunsPods", b.testNodeRunsPods},
		{"Killed", b.testNodeKilled},
		{"SupervisorKilled", b.testNodeSupervisorKilled},
		{"Down", b.testNodeDown},
		{"UpAgain", b.testNodeUpAgain},
		{"NewPorts", b.testNodeNewPorts},
		{"None", b.testNodeNone},
		{"Purge", b.testNodePurge},
	} {
		// Each goes on with the pod of the one before.
		if !t.Run(step.name, step.test) {
			return
		}
	}
}

func (b *bench) upNode(kind string) (string, error) {
	return b.upWith(stack.UpOptions{Node: kind})
}

func (b *bench) testNodeRunsPods(t *testing.T) {
	b.t = t
	b.startJob("opentofu:dev")
	lines := strings.Split(b.logs("tofu"), "\n")
	want := []string{"/infrared:", "infrared-build", "plugins", "", "/infrared/plugins:", "incluster", "OpenTofu v1.12.6", "git version", "waiting"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the pod printed (-want +got):\n%s", diff)
	}
	if row := b.row(stack.Management, "node"); row.Phase != stack.Ready || !strings.HasPrefix(row.Address, "https://127.0.0.1:") {
		t.Errorf("the node is %+v, want it Ready on loopback", row)
	}
}

// startJob makes the Job anew and waits until its main container works.
func (b *bench) startJob(image string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "job.yaml")
	put(b.t, file, fmt.Sprintf(jobManifest, image))
	b.kubectl(stack.Management, "delete", "job", "build", "--namespace=infrared", "--ignore-not-found", "--cascade=foreground")
	b.kubectl(stack.Management, "create", "--filename="+file)
	b.kubectl(stack.Management, "wait", "--for=create", "--timeout=60s", "pod", "--selector=job-name=build", "--namespace=infrared")
	b.kubectl(stack.Management, "wait", "--for=condition=Ready", "--timeout=60s", "pod", "--selector=job-name=build", "--namespace=infrared")
	b.eventually("the pod waits", func() bool { return strings.HasSuffix(b.logs("tofu"), "waiting") })
	b.pods = append(b.pods, b.kubectl(stack.Management, "get", "pod", "--selector=job-name=build", "--namespace=infrared", "--output=jsonpath={.items[*].metadata.uid}"))
}

func (b *bench) logs(container string) string {
	return b.kubectl(stack.Management, "logs", "job/build", "--namespace=infrared", "--container="+container)
}

// lives names the pod's life: another one has another container.
func (b *bench) lives() string {
	return b.kubectl(stack.Management, "get", "pod", "--selector=job-name=build", "--namespace=infrared",
		"--output=jsonpath={.items[*].status.phase} {.items[*].status.containerStatuses[*].containerID} {.items[*].status.containerStatuses[*].restartCount}")
}

// podProcesses are the numbers of the processes of the pods that were started:
// the supervisors have a pod's folder in their command line, the containers in their mounts.
func (b *bench) podProcesses() []int {
	b.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.t.Fatal(err)
	}
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		for _, file := range []string{"cmdline", "mountinfo"} {
			// One that ends meanwhile has neither.
			data, _ := os.ReadFile(filepath.Join("/proc", e.Name(), file))
			if slices.ContainsFunc(b.pods, func(uid string) bool { return bytes.Contains(data, []byte(uid)) }) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// steady are the pod's processes but for those that come and go.
func (b *bench) steady(of []int) []int {
	b.t.Helper()
	now := b.podProcesses()
	return slices.DeleteFunc(slices.Clone(of), func(pid int) bool { return !slices.Contains(now, pid) })
}

// Who kills the node doesn't kill its pods, and the next node takes them over.
func (b *bench) testNodeKilled(t *testing.T) {
	b.t = t
	life, victim := b.lives(), b.row(stack.Management, "node")
	before := b.longLived()
	kill(t, victim.Pid)
	b.eventually("the node was started again", func() bool {
		row := b.row(stack.Management, "node")
		return row.Pid != victim.Pid && row.Phase == stack.Ready && row.Restarts == 1
	})
	if diff := cmp.Diff(before, b.steady(before)); diff != "" {
		t.Errorf("processes of the pod (-before +after):\n%s", diff)
	}
	b.eventually("its logs can be had", func() bool { return strings.HasSuffix(b.logs("tofu"), "waiting") })
	if now := b.lives(); now != life {
		t.Errorf("the pod was %q and is %q", life, now)
	}
	if out, err := b.upNode(stack.NodeProcess); err != nil || !strings.HasPrefix(out, "the stack is up already, nothing to do\n") {
		t.Errorf("Up after that says %q (%v)", out, err)
	}
}

// longLived are the pod's supervisor and the first process of its container.
func (b *bench) longLived() []int {
	b.t.Helper()
	var found []int
	b.eventually("the pod's processes are there", func() bool {
		found = slices.DeleteFunc(b.podProcesses(), func(pid int) bool {
			command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return err != nil || bytes.HasPrefix(command, []byte("sleep"))
		})
		return len(found) >= 2
	})
	return found
}

// The pods go on even when everything else of the stack is killed.
func (b *bench) testNodeSupervisorKilled(t *testing.T) {
	b.t = t
	life, before := b.lives(), b.longLived()
	kill(t, b.status().Supervisor)
	b.eventually("the stack is gone", func() bool { return len(b.running()) == 0 && b.status().Supervisor == 0 })
	if out, err := b.upNode(stack.NodeProcess); err != nil {
		t.Fatalf("Up: %v\n%s", err, out)
	}
	if diff := cmp.Diff(before, b.steady(before)); diff != "" {
		t.Errorf("processes of the pod (-before +after):\n%s", diff)
	}
	if now := b.lives(); now != life {
		t.Errorf("the pod was %q and is %q", life, now)
	}
}

func (b *bench) testNodeDown(t *testing.T) {
	b.t = t
	b.longLived()
	b.mustDown(false)
	if left := b.podProcesses(); len(left) > 0 {
		t.Errorf("after Down these processes of pods run: %v", left)
	}
	if left := b.running(); len(left) > 0 {
		t.Errorf("after Down there run %v", left)
	}
}

// The next node knows how its pods ended, and runs new ones.
func (b *bench) testNodeUpAgain(t *testing.T) {
	b.t = t
	if out, err := b.upNode(stack.NodeProcess); err != nil {
		t.Fatalf("Up: %v\n%s", err, out)
	}
	b.kubectl(stack.Management, "wait", "--for=condition=Failed", "--timeout=60s", "job/build", "--namespace=infrared")
	got := b.kubectl(stack.Management, "get", "pod", "--selector=job-name=build", "--namespace=infrared",
		"--output=jsonpath={.items[*].status.containerStatuses[*].state.terminated.exitCode}")
	if got != "3" {
		t.Errorf("the container ended with %q, want the 3 of its own end on SIGTERM", got)
	}
	b.startJob("ghcr.io/opentofu/opentofu:1.12.6") // any release, as people name it
}

func (b *bench) testNodeNewPorts(t *testing.T) {
	b.t = t
	before := b.longLived()
	l := b.steal(b.row(stack.Management, devstack.APIServer))
	defer l.Close()
	if out, err := b.upWith(stack.UpOptions{Node: stack.NodeProcess, NewPorts: true}); err != nil {
		t.Fatalf("Up with new ports: %v\n%s", err, out)
	}
	if diff := cmp.Diff(before, b.steady(before)); diff != "" {
		t.Errorf("processes of the pod (-before +after):\n%s", diff)
	}
	b.startJob("opentofu:dev")
}

// Without a node nothing of its pods stays either.
func (b *bench) testNodeNone(t *testing.T) {
	b.t = t
	if out, err := b.upNode(stack.NodeNone); err != nil {
		t.Fatalf("Up: %v\n%s", err, out)
	}
	for _, c := range b.status().Components {
		if c.Name == "node" {
			t.Errorf("there is a node: %+v", c)
		}
	}
	if left := b.podProcesses(); len(left) > 0 {
		t.Errorf("without a node these processes of pods run: %v", left)
	}
}

// A purge while pods run, whose supervisor was killed, leaves nothing either.
func (b *bench) testNodePurge(t *testing.T) {
	b.t = t
	if out, err := b.upNode(stack.NodeProcess); err != nil {
		t.Fatalf("Up: %v\n%s", err, out)
	}
	b.startJob("opentofu:dev")
	kill(t, b.status().Supervisor)
	if err := b.Down(context.Background(), true, os.Stderr); err != nil {
		t.Fatalf("Down: %v", err)
	}
	if left := b.podProcesses(); len(left) > 0 {
		t.Errorf("after a purge these processes of pods run: %v", left)
	}
	entries, err := os.ReadDir(b.Data)
	if err != nil || len(entries) != 1 || entries[0].Name() != "bin" {
		t.Errorf("after a purge the data folder holds %v (%v), want bin alone", entries, err)
	}
}
