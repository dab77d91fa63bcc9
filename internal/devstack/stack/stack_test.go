// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/stack"
)

// The life of a stack, in one run because each start costs seconds.
func TestLife(t *testing.T) {
	b := newBench(t)
	b.buildOperator()
	b.mustUp()

	t.Run("AddCluster", b.testAddCluster)
	t.Run("Up", b.testUp)
	t.Run("SecondUpIsNoOp", b.testSecondUp)
	t.Run("DeletedByHand", b.testDeletedByHand)
	t.Run("StillDeleting", b.testStillDeleting)
	t.Run("DeadComponentIsNamed", b.testDeath)
	t.Run("NewerOperator", b.testNewerOperator)
	t.Run("Plugins", b.testPlugins)
	t.Run("PortTakenUnderneath", b.testPortTakenUnderneath)
	t.Run("KilledSupervisor", b.testKilledSupervisor)
	t.Run("PortTaken", b.testPortTaken)
	t.Run("Resume", b.testResume)
	t.Run("BrokenManifest", b.testBrokenManifest)
	t.Run("Purge", b.testPurge)
}

func (b *bench) testAddCluster(t *testing.T) {
	b.t = t
	before := b.row(stack.Management, devstack.APIServer)
	out := b.mustUp("edge")
	if strings.Contains(out, " s  management ") {
		t.Errorf("Up tells news of what ran all along:\n%s", out)
	}
	after := b.row(stack.Management, devstack.APIServer)
	if before.Pid != after.Pid {
		t.Error("adding a cluster started the management control plane again")
	}
}

func (b *bench) testUp(t *testing.T) {
	b.t = t
	if st := b.status(); !st.Healthy() {
		t.Errorf("after Up not everything is ready: %+v", st.Bad())
	}
	whoami := []string{"auth", "whoami", "--output=jsonpath={.status.userInfo.username}"}
	if got := b.kubectl(stack.Management, whoami...); got != "infrared-dev-admin" {
		t.Errorf("the management kubeconfig is of %s", got)
	}
	if got := b.kubectl("edge", whoami...); got != "system:serviceaccount:kube-system:infrared" {
		t.Errorf("the kubeconfig to register edge with is of %s", got)
	}
	if got := b.kubectl("operator", whoami...); got != "system:serviceaccount:infrared:infrared-operator" {
		t.Errorf("the operator's kubeconfig is of %s", got)
	}
	b.kubectl(stack.Management, "get", "things")
	b.kubectl("edge", "create", "namespace", "kept")
	for _, c := range b.status().Components {
		if c.Address != "" && !strings.Contains(c.Address, "//127.0.0.1:") {
			t.Errorf("%s/%s serves on %s, want loopback", c.Cluster, c.Name, c.Address)
		}
	}
}

func (b *bench) testSecondUp(t *testing.T) {
	b.t = t
	before := b.status()
	out := b.mustUp("edge")
	if !strings.HasPrefix(out, "the stack is up already, nothing to do\n") {
		t.Errorf("a second Up says\n%s", out)
	}
	after := b.status()
	was, _ := json.Marshal(before.Components)
	is, _ := json.Marshal(after.Components)
	if !bytes.Equal(was, is) {
		t.Errorf("a second Up changed the stack\nfrom %s\nto   %s", was, is)
	}
}

// Up puts back what somebody deleted or edited on the server, and only then says
// that it did something.
func (b *bench) testDeletedByHand(t *testing.T) {
	b.t = t
	before := b.row(stack.Management, devstack.APIServer)
	b.kubectl(stack.Management, "delete", "namespace", "infrared")
	b.kubectl(stack.Management, "delete", "customresourcedefinition", "things.example.com")
	out := b.mustUp()
	if strings.Contains(out, "nothing to do") || !strings.Contains(out, "manifests") {
		t.Errorf("Up that puts something back says\n%s", out)
	}
	b.kubectl(stack.Management, "get", "namespace", "infrared")
	b.kubectl(stack.Management, "get", "things")
	b.kubectl("operator", "auth", "whoami") // its ServiceAccount went with the namespace
	if now := b.row(stack.Management, devstack.APIServer); now.Pid != before.Pid {
		t.Error("Up started again what was running")
	}
	if out := b.mustUp(); !strings.HasPrefix(out, "the stack is up already, nothing to do\n") {
		t.Errorf("Up once more says\n%s", out)
	}
}

// A namespace that is still on its way out takes a manifest, and is gone soon after.
func (b *bench) testStillDeleting(t *testing.T) {
	b.t = t
	held := filepath.Join(t.TempDir(), "held.yaml")
	put(t, held, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: infrared, finalizers: [example.com/held]}\n")
	b.kubectl(stack.Management, "create", "--filename="+held)
	b.kubectl(stack.Management, "delete", "namespace", "infrared", "--wait=false")
	_, err := b.up()
	if err == nil || !strings.Contains(err.Error(), "Namespace infrared is still being deleted: run ir dev up again") {
		t.Errorf("Up under a deletion: %v", err)
	}
	b.kubectl(stack.Management, "patch", "configmap", "held", "--namespace=infrared", "--type=merge", `--patch={"metadata":{"finalizers":null}}`)
	b.kubectl(stack.Management, "wait", "--for=delete", "--timeout=60s", "namespace/infrared")
	b.mustUp()
	b.kubectl("operator", "auth", "whoami")
}

func (b *bench) testDeath(t *testing.T) {
	b.t = t
	victim := b.row("edge", devstack.Scheduler)
	kill(t, victim.Pid)
	b.eventually("the death is in the state", func() bool { return b.row("edge", devstack.Scheduler).Phase == stack.Dead })
	kill(t, b.row("edge", devstack.Etcd).Pid)
	b.eventually("so is the other", func() bool { return b.row("edge", devstack.Etcd).Phase == stack.Dead })
	if got := b.row("edge", devstack.APIServer).Phase; got != stack.NotReady {
		t.Errorf("an API server without etcd is %s, want NotReady", got)
	}
	var out bytes.Buffer
	err := stack.PrintStatus(&out, b.status(), false)
	if err == nil {
		t.Fatal("the status of a stack with dead components is good")
	}
	for _, want := range []string{"edge/etcd was killed by SIGKILL", "edge/kube-scheduler was killed by SIGKILL", "logs/kube-scheduler.log"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the status says %v\nwant %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("the status blames what only suffers: %v", err)
	}
	survivor := b.row(stack.Management, devstack.APIServer)
	b.mustUp()
	b.kubectl("edge", "get", "namespace", "kept")
	if again := b.row("edge", devstack.Scheduler); again.Pid == victim.Pid || again.Phase != stack.Ready {
		t.Errorf("after Up the scheduler is %+v, want a new process", again)
	}
	if now := b.row(stack.Management, devstack.APIServer); now.Pid != survivor.Pid {
		t.Error("Up started again what was running")
	}
}

func (b *bench) testNewerOperator(t *testing.T) {
	b.t = t
	before := b.row(stack.Management, "infrared-operator")
	b.buildOperator()
	b.mustUp()
	after := b.row(stack.Management, "infrared-operator")
	if after.Pid == before.Pid || after.Phase != stack.Ready {
		t.Errorf("after a new build and Up the operator is %+v, want a new process than %d", after, before.Pid)
	}
}

// Each plugin has a Provider with the SHA-256 of its file as Up finds it, and the operator runs on.
func (b *bench) testPlugins(t *testing.T) {
	b.t = t
	put(t, filepath.Join(b.repo, "deploy", "crds", "providers.yaml"), providersCRD)
	path := filepath.Join(b.repo, ".dev", "bin", "plugins", "echo")
	sumOf := func() string {
		return b.kubectl(stack.Management, "get", "provider", "echo", "--output=jsonpath={.spec.binary} {.spec.sha256}")
	}
	write := func(text string) string {
		put(t, path, text)
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("echo %x", sha256.Sum256([]byte(text)))
	}
	put(t, filepath.Join(filepath.Dir(path), "notes.txt"), "no program")
	put(t, filepath.Join(filepath.Dir(path), ".echo.swp"), "an editor's")
	if err := os.Chmod(filepath.Join(filepath.Dir(path), ".echo.swp"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := write("one")
	b.mustUp()
	if got := sumOf(); got != want {
		t.Errorf("the Provider says %q, want %q", got, want)
	}
	if got := b.kubectl(stack.Management, "get", "providers", "--output=name"); strings.TrimSpace(got) != "provider.infrared.darkshift.io/echo" {
		t.Errorf("the Providers are %s, want echo alone: the other files are no plugins", got)
	}
	if out := b.mustUp(); !strings.HasPrefix(out, "the stack is up already, nothing to do\n") {
		t.Errorf("Up once more says\n%s", out)
	}

	before := b.row(stack.Management, "infrared-operator")
	want = write("two")
	if out := b.mustUp(); !strings.Contains(out, "providers") {
		t.Errorf("Up with a new plugin says\n%s", out)
	}
	if got := sumOf(); got != want {
		t.Errorf("after a new build and Up the Provider says %q, want %q", got, want)
	}
	b.kubectl(stack.Management, "delete", "provider", "echo")
	b.mustUp()
	if got := sumOf(); got != want {
		t.Errorf("a Provider that was deleted is back as %q, want %q", got, want)
	}
	if after := b.row(stack.Management, "infrared-operator"); after.Pid != before.Pid {
		t.Error("the operator was started again for a plugin")
	}

	if err := os.Rename(path, filepath.Join(filepath.Dir(path), "Echo_2")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.up(); err == nil || !strings.Contains(err.Error(), "providers") || !strings.Contains(err.Error(), "Echo_2") {
		t.Errorf("Up with a plugin whose name no object can have: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	b.mustUp()
}

func (b *bench) testKilledSupervisor(t *testing.T) {
	b.t = t
	kill(t, b.status().Supervisor)
	b.eventually("everything is gone", func() bool { return len(b.running()) == 0 })
	b.eventually("the status knows", func() bool { return len(b.status().Bad()) == len(b.status().Components) })
	b.mustDown(false)
	if left := b.running(); len(left) > 0 {
		t.Errorf("after Down there run %v", left)
	}
	if out := b.mustDown(false); out != "nothing was running\n" {
		t.Errorf("a second Down says %q", out)
	}
	if _, err := b.Status(); !errors.Is(err, stack.ErrNotRunning) {
		t.Errorf("Status after Down: %v", err)
	}
}

func (b *bench) testPortTaken(t *testing.T) {
	b.t = t
	port, err := os.ReadFile(filepath.Join(b.Data, "edge", "port"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:"+strings.TrimSpace(string(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = b.up()
	want := fmt.Sprintf(`of control plane "edge" is taken by process %d`, os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--new-ports") {
		t.Errorf("Up with edge's port in other hands: %v\nwant %q", err, want)
	}
}

func (b *bench) testResume(t *testing.T) {
	b.t = t
	b.mustUp() // the port is free again; the names are remembered
	b.kubectl("edge", "get", "namespace", "kept")
	if st := b.status(); !st.Healthy() {
		t.Errorf("not everything is ready: %+v", st.Bad())
	}
	b.mustDown(false)
	b.eventually("everything is gone", func() bool { return len(b.running()) == 0 })
}

func (b *bench) testBrokenManifest(t *testing.T) {
	b.t = t
	file := filepath.Join(b.repo, "deploy", "crds", "broken.yaml")
	put(t, file, "apiVersion: v1\nkind: Nonsense\nmetadata: {name: x}\n")
	_, err := b.up()
	if err == nil || !strings.Contains(err.Error(), "management/manifests: applying the manifests: ") || !strings.Contains(err.Error(), "Nonsense") {
		t.Errorf("Up with a manifest of an unknown kind: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	b.mustUp()
}

func (b *bench) testPurge(t *testing.T) {
	b.t = t
	b.mustDown(true)
	entries, err := os.ReadDir(b.Data)
	if err != nil || len(entries) != 1 || entries[0].Name() != "bin" {
		t.Errorf("after a purge the data folder holds %v (%v), want bin alone", entries, err)
	}
	if out := b.mustDown(true); !strings.Contains(out, "there is no stack") {
		t.Errorf("a purge of nothing says %q", out)
	}
}
