// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"compress/gzip"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/build/run"
)

// job is a run of infrared-build.
type job struct {
	c      *cluster
	record string
	cmd    *exec.Cmd
	out    lockedBuffer
	ended  chan struct{}
	err    error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

var _ io.Writer = (*lockedBuffer)(nil)

// start starts a run, as its Job would.
func (c *cluster) start(order run.Order) *job {
	c.t.Helper()
	c.runs++
	j := &job{c: c, record: c.record(c.runs), ended: make(chan struct{})}
	packed := must(c.t, func() []byte { b, _ := run.Pack(order); return b }(), nil)
	_, err := management.client.CoreV1().ConfigMaps(namespace).Create(c.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: j.record}, BinaryData: map[string][]byte{run.KeyOrder: packed},
	}, metav1.CreateOptions{})
	must(c.t, 0, err)
	programs := c.t.TempDir()
	if err := Install(c.programs.Plugins, c.programs.Plugin, programs); err != nil {
		c.t.Fatal(err)
	}
	j.cmd = exec.Command(c.programs.Build, "run", "--programs", programs, "--work", c.work, "--credentials", c.credentials, "--kubeconfig", c.kubeconfig)
	j.cmd.Env = []string{
		"PATH=" + filepath.Dir(c.programs.Tofu) + ":/usr/bin:/bin", "HOME=" + c.work, "GIT_TOKEN=S3CR3T-of-the-host",
		run.EnvNamespace + "=" + namespace, run.EnvRecord + "=" + j.record, run.EnvSuffix + "=" + c.names.Suffix,
		run.EnvJob + "=job-" + strconv.Itoa(c.runs), run.EnvJobUID + "=job-uid", run.EnvPod + "=pod-" + strconv.Itoa(c.runs), run.EnvPodUID + "=pod-uid", run.EnvNode + "=node-1",
	}
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.out
	if err := j.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() {
		j.err = j.cmd.Wait()
		close(j.ended)
	}()
	c.t.Cleanup(func() {
		_ = j.cmd.Process.Kill()
		<-j.ended
		for _, p := range tofuProcesses(c.cloud.Name) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if c.t.Failed() {
			c.t.Logf("%s:\n%s", j.record, j.out.String())
		}
	})
	return j
}

// wait waits for the run's end.
func (j *job) wait() {
	j.c.t.Helper()
	limit := time.NewTimer(testPatience)
	defer limit.Stop()
	select {
	case <-j.ended:
	case <-limit.C:
		j.c.t.Fatalf("%s does not end:\n%s", j.record, j.out.String())
	}
}

// end waits for the run's end and returns its outcome.
func (j *job) end() run.Outcome {
	j.c.t.Helper()
	j.wait()
	outcome := j.outcome()
	if outcome == nil {
		j.c.t.Fatalf("%s has no outcome: %v", j.record, j.err)
	}
	if failed := outcome.Failure != nil; failed != (j.err != nil) {
		j.c.t.Errorf("%s ended with %v, and its outcome is %+v", j.record, j.err, outcome.Failure)
	}
	return *outcome
}

// ok runs an order that has to succeed.
func (c *cluster) ok(order run.Order) run.Outcome {
	c.t.Helper()
	outcome := c.start(order).end()
	if outcome.Failure != nil {
		c.t.Fatalf("%s failed: %+v", order.Action, outcome.Failure)
	}
	return outcome
}

// fails runs an order that has to fail for a reason.
func (c *cluster) fails(order run.Order, reason string) run.Outcome {
	c.t.Helper()
	outcome := c.start(order).end()
	if outcome.Failure == nil || outcome.Failure.Reason != reason {
		c.t.Fatalf("%s ended with %+v, want %s", order.Action, outcome.Failure, reason)
	}
	return outcome
}

func (j *job) configMap() *corev1.ConfigMap {
	j.c.t.Helper()
	record, err := management.client.CoreV1().ConfigMaps(namespace).Get(j.c.t.Context(), j.record, metav1.GetOptions{})
	return must(j.c.t, record, err)
}

func (j *job) outcome() *run.Outcome {
	j.c.t.Helper()
	packed := j.configMap().BinaryData[run.KeyOutcome]
	if packed == nil {
		return nil
	}
	var outcome run.Outcome
	must(j.c.t, 0, run.Unpack(packed, &outcome))
	return &outcome
}

func (c *cluster) ledger() run.Ledger {
	c.t.Helper()
	object, err := management.client.CoreV1().ConfigMaps(namespace).Get(c.t.Context(), c.names.Ledger(), metav1.GetOptions{})
	must(c.t, 0, err)
	var l run.Ledger
	must(c.t, 0, run.Unpack(object.BinaryData[run.KeyLedger], &l))
	return l
}

func (c *cluster) getSecret(name string) *corev1.Secret {
	c.t.Helper()
	secret, err := management.client.CoreV1().Secrets(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	return must(c.t, secret, err)
}

// state is OpenTofu's own text.
func (c *cluster) state() string {
	c.t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(c.getSecret(c.names.State()).Data[keyState]))
	must(c.t, 0, err)
	text, err := io.ReadAll(zip)
	return string(must(c.t, text, err))
}

func (c *cluster) lease() *coordinationv1.Lease {
	c.t.Helper()
	lease, err := management.client.CoordinationV1().Leases(namespace).Get(c.t.Context(), c.names.Lease(), metav1.GetOptions{})
	return must(c.t, lease, err)
}

// unlock is what the operator does once it knows that the holder is dead.
func (c *cluster) unlock() {
	c.t.Helper()
	lease := c.lease()
	lease.Spec.HolderIdentity = nil
	delete(lease.Annotations, lockInfo)
	_, err := management.client.CoordinationV1().Leases(namespace).Update(c.t.Context(), lease, metav1.UpdateOptions{})
	must(c.t, 0, err)
}

func (c *cluster) locked() bool { return ptr.Deref(c.lease().Spec.HolderIdentity, "") != "" }

// objects are the run's own, by its own account.
func (c *cluster) objects() *objects {
	c.t.Helper()
	o, err := newObjects(Run{Config: c.config, Namespace: namespace, Record: c.record(1), Names: c.names, Clock: clock.RealClock{}})
	return must(c.t, o, err)
}
