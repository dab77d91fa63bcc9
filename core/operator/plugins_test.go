// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/internal/testplugin"
)

// healthy is a plugin that nobody hurts.
func healthy(binary string) outcome {
	return outcome{why: "it runs", binary: binary, reason: v1alpha1.ReasonHealthy, status: metav1.ConditionTrue}
}

// TestPluginProcesses kills the plugin, the operator, and both in turn. Whatever is killed, in the end one process runs, and none when
// no operator does.
func TestPluginProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := testplugin.Build(t)
	folder.Add(t, "good")
	ctx, cancel := context.WithTimeout(t.Context(), 4*testenv.Patience)
	defer cancel()
	command := operatorCommand(t, w.OperatorKubeconfig, "--leader-elect=true", "--metrics-bind-address=0", "--plugins", folder.Path)
	first := run(t, command())
	w.applyProvider(ctx, t, "toy", folder.Path, healthy("good"))
	w.providerMustBe(ctx, t, "toy", healthy("good"))
	mustRun(ctx, t, w, folder.Path)

	for kills := int32(1); kills <= 2; kills++ {
		killPlugin(t, folder.Path)
		err := testenv.Poll(ctx, func() error {
			if got := w.provider(ctx, t, "toy").Status.Restarts; got < kills {
				return fmt.Errorf("%d restarts after %d kills", got, kills)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		w.providerMustBe(ctx, t, "toy", healthy("good"))
		mustRun(ctx, t, w, folder.Path)
	}
	before := w.provider(ctx, t, "toy").Status.Restarts

	first.kill()
	mustEnd(ctx, t, folder.Path)
	second := run(t, command())
	mustRun(ctx, t, w, folder.Path)
	killPlugin(t, folder.Path)
	err := testenv.Poll(ctx, func() error {
		if got := w.provider(ctx, t, "toy").Status.Restarts; got <= before {
			return fmt.Errorf("%d restarts, and there were %d before the operator was killed", got, before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.gone:
	case <-ctx.Done():
		t.Fatal("the operator was asked to end and did not")
	}
	if code := second.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the operator was asked to end, and exited with %d", code)
	}
	if left := processesOf(t, folder.Path); len(left) > 0 {
		t.Errorf("the operator is gone, and these of its plugins are left: %v", left)
	}
}

// TestPluginsOfALeader is that of two operators only the leading one runs plugins, and ends them before it ends itself. This plugin would go on by
// itself.
func TestPluginsOfALeader(t *testing.T) {
	t.Parallel()
	const mulish = "ignores-sigterm"
	w := newWorld(t)
	folder := testplugin.Build(t)
	folder.Add(t, mulish)
	t.Cleanup(func() { killPlugin(t, folder.Path) })
	ctx, cancel := context.WithTimeout(t.Context(), 4*testenv.Patience)
	defer cancel()
	command := operatorCommand(t, w.OperatorKubeconfig, "--leader-elect=true", "--metrics-bind-address=0", "--plugins", folder.Path)
	first := run(t, command())
	was := leader(ctx, t, w, "")
	second := run(t, command())
	w.applyProvider(ctx, t, "toy", folder.Path, healthy(mulish))
	w.providerMustBe(ctx, t, "toy", healthy(mulish))
	mustRun(ctx, t, w, folder.Path)

	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	leader(ctx, t, w, was)
	<-first.gone
	mustRun(ctx, t, w, folder.Path)
	w.providerMustBe(ctx, t, "toy", healthy(mulish))
	if got := w.provider(ctx, t, "toy").Status.Restarts; got != 0 {
		t.Errorf("another leader's start counts as a restart of the plugin: %d", got)
	}

	w.stealLease(ctx, t)
	select {
	case <-second.gone:
	case <-ctx.Done():
		t.Fatal("the operator lost its lease and goes on")
	}
	if left := processesOf(t, folder.Path); len(left) > 0 {
		t.Errorf("the operator lost its lease, and these of its plugins are left: %v", left)
	}
}

// stealLease has nobody lead for an hour.
func (w *world) stealLease(ctx context.Context, t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "infrared-operator"}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":3600}}`))
	if err := w.Client.Patch(ctx, lease, patch); err != nil {
		t.Fatal(err)
	}
}

// mustRun waits until exactly one plugin process runs, and is the one that the Provider says.
func mustRun(ctx context.Context, t testing.TB, w *world, folder string) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		pids, told := processesOf(t, folder), w.provider(ctx, t, "toy").Status.PID
		if !slices.Equal(pids, []int{int(told)}) {
			return fmt.Errorf("plugin processes %v run, and the Provider says %d", pids, told)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mustEnd waits until no plugin process runs.
func mustEnd(ctx context.Context, t testing.TB, folder string) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		if pids := processesOf(t, folder); len(pids) > 0 {
			return fmt.Errorf("plugin processes are left: %v", pids)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func killPlugin(t testing.TB, folder string) {
	t.Helper()
	for _, pid := range processesOf(t, folder) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// processesOf are the processes that run a program in the folder. The dead that nobody has waited for run none.
func processesOf(t testing.TB, folder string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil || len(links) == 0 {
		t.Fatalf("there are no processes in /proc: %v", err)
	}
	var pids []int
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(path, folder+string(filepath.Separator)) {
			continue // it ended meanwhile, or is somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
