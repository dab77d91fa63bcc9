// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testenv"
)

// programDir is where program was built; TestMain removes it.
var programDir string

// program builds infrared-operator once a test run, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	root, err := devstack.RepoRoot()
	if err != nil {
		return "", err
	}
	if programDir, err = os.MkdirTemp("", "infrared-operator-"); err != nil {
		return "", err
	}
	path := filepath.Join(programDir, "infrared-operator")
	build := exec.Command("go", "build", "-o", path, "./cmd/infrared-operator")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building infrared-operator: %w: %s", err, out)
	}
	return path, nil
})

// operatorCommand makes commands that run the operator as a program of its own. What it prints goes to a file, whose end is shown
// when the test fails.
func operatorCommand(t testing.TB, kubeconfig string, args ...string) func() *exec.Cmd {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			showEnd(t, log.Name())
		}
		_ = log.Close()
	})
	args = append([]string{
		"--kubeconfig", kubeconfig, "--allow-address", testenv.Loopback[0].String(), "--health-probe-bind-address", "0",
	}, args...)
	return func() *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Stdout, cmd.Stderr = log, log
		return cmd
	}
}

func showEnd(t testing.TB, log string) {
	const most = 4 << 10
	text, err := os.ReadFile(log)
	if err != nil {
		t.Log(err)
		return
	}
	t.Logf("the operator's last words:\n%s", text[max(0, len(text)-most):])
}

// process is a running operator.
type process struct {
	*exec.Cmd
	gone chan struct{}
}

// run starts a command, and kills it at the end of the test.
func run(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		// A process that is to die with its parent dies when the thread ends that started it.
		runtime.LockOSThread()
		dieWithParent(cmd)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(p.gone)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// kill ends the process with SIGKILL and waits until it is gone. It may be called again.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.gone
}

func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func objectVersion(see func(client.Object)) func(k8sruntime.Object) error {
	return func(item k8sruntime.Object) error {
		obj, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("a list holds a %T", item)
		}
		see(obj)
		return nil
	}
}
