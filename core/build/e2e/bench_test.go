// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/fake/module"
)

// creation is how long the cloud takes for each of the three things that an apply makes, one after the other.
const creation = 8 * time.Second

// BenchmarkRunOverPlainTofu compares an apply's Job, from when it is made until it is complete, with OpenTofu alone doing the same on this
// machine: init, plan and apply of the same module, with its state in the same API server.
func BenchmarkRunOverPlainTofu(b *testing.B) {
	w := newWorld(b, 1)
	var ours, plain time.Duration
	for i := range b.N {
		ctx, cancel := limit(b.Context(), 10)
		l := w.newLife(i, "edge0")
		ours += w.timeJob(ctx, b, l)
		b.StopTimer()
		w.endLife(ctx, b, l)
		b.StartTimer()
		plain += w.timePlain(ctx, b, i)
		cancel()
	}
	n := float64(b.N)
	b.ReportMetric(ours.Seconds()/n, "s/run")
	b.ReportMetric(plain.Seconds()/n, "s/plain")
	b.ReportMetric(ours.Seconds()/plain.Seconds(), "run/plain")
}

// BenchmarkKilledRun compares an apply that is killed at its middle and run again, as a person sees it, with one that is not killed.
func BenchmarkKilledRun(b *testing.B) {
	w := newWorld(b, 1)
	middle := point{streamCloud, "put things/cluster/{life}", after}
	var killed, unkilled time.Duration
	for i := range b.N {
		ctx, cancel := limit(b.Context(), 10)
		for kill, total := range map[bool]*time.Duration{false: &unkilled, true: &killed} {
			l := w.newLife(2*i, "edge0")
			if kill {
				l = w.newLife(2*i+1, "edge0")
				w.killer.mayKill(l.name)
				w.killer.todo[middle] = map[string]bool{victimBuild: true}
			}
			w.planned(ctx, b, l)
			began := time.Now()
			if err := l.run(ctx, v1alpha1.ActionApply, "2"); err != nil {
				b.Fatal(err)
			}
			*total += time.Since(began)
			if kill && l.again == 0 {
				b.Fatal("nobody was killed")
			}
			w.endLife(ctx, b, l)
		}
		cancel()
	}
	n := float64(b.N)
	b.ReportMetric(unkilled.Seconds()/n, "s/unkilled")
	b.ReportMetric(killed.Seconds()/n, "s/killed")
	b.ReportMetric(killed.Seconds()/unkilled.Seconds(), "killed/unkilled")
}

// planned makes a Cluster whose things take a while, and plans it.
func (w *world) planned(ctx context.Context, b *testing.B, l *life) {
	b.Helper()
	l.variables = map[string]string{"delay": creation.String()}
	err := l.create(ctx)
	if err == nil {
		err = l.run(ctx, v1alpha1.ActionPlan, "2")
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (w *world) endLife(ctx context.Context, b *testing.B, l *life) {
	b.Helper()
	err := l.destroy(ctx)
	if err == nil {
		err = l.nothingLeft(ctx)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// timeJob is how long the Job of an apply takes.
func (w *world) timeJob(ctx context.Context, b *testing.B, l *life) time.Duration {
	b.Helper()
	w.planned(ctx, b, l)
	made := make(chan time.Time, 1)
	go func() {
		_ = testenv.Poll(ctx, func() error {
			_, err := w.applyJob(ctx, l)
			return err
		})
		made <- time.Now()
	}()
	if err := l.run(ctx, v1alpha1.ActionApply, "2"); err != nil {
		b.Fatal(err)
	}
	ended := time.Now()
	return ended.Sub(<-made)
}

func (w *world) applyJob(ctx context.Context, l *life) (*batchv1.Job, error) {
	var jobs batchv1.JobList
	if err := w.Client.List(ctx, &jobs, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: l.name}); err != nil {
		return nil, err
	}
	if len(jobs.Items) < 2 { // the plan's is there already
		return nil, fmt.Errorf("%s has no Job for its apply yet", l.name)
	}
	return &jobs.Items[len(jobs.Items)-1], nil
}

// timePlain is how long OpenTofu alone takes.
func (w *world) timePlain(ctx context.Context, b *testing.B, number int) time.Duration {
	b.Helper()
	dir, name := b.TempDir(), fmt.Sprintf("plain-%d", number)
	if err := os.CopyFS(dir, module.FS()); err != nil {
		b.Fatal(err)
	}
	variables, err := json.Marshal(map[string]any{
		"name": name, "control_plane": "edge0", "delay": creation.String(),
		"labels": map[string]string{v1alpha1.LabelCluster: name, v1alpha1.LabelIncarnation: fmt.Sprintf("%08d", number)},
	})
	if err != nil {
		b.Fatal(err)
	}
	backend := fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    namespace     = \"default\"\n    secret_suffix = %q\n    config_path   = %q\n  }\n}\n",
		name, w.ControlPlane.Kubeconfig())
	for file, text := range map[string][]byte{"backend.tf": []byte(backend), "terraform.tfvars.json": variables} {
		if err := os.WriteFile(dir+"/"+file, text, fs.FileMode(0o600)); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	for _, args := range [][]string{{"init", "-input=false"}, {"plan", "-input=false", "-out=plan"}, {"apply", "-input=false", "plan"}} {
		tofu := exec.CommandContext(ctx, w.path("bin", "tofu"), args...)
		tofu.Dir = dir
		tofu.Env = append(os.Environ(), "PATH="+w.path("bin", "plugins"), "FAKE_ENDPOINT="+w.cloudAddress, "FAKE_TOKEN="+cloudToken)
		if out, err := tofu.CombinedOutput(); err != nil {
			b.Fatalf("tofu %s: %v: %s", args[0], err, out)
		}
	}
	return time.Since(began)
}
