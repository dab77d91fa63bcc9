// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package record

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newFolder(t *testing.T) Folder {
	t.Helper()
	f := Of(t.TempDir(), "uid-1")
	if err := f.Make(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestBeginsOnce(t *testing.T) {
	f := newFolder(t)
	if f.Began() {
		t.Error("a fresh pod counts as begun")
	}
	if err := f.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(); !errors.Is(err, fs.ErrExist) || !f.Began() {
		t.Errorf("the second Begin gave %v, want that it exists", err)
	}
}

func TestAnswersAreFound(t *testing.T) {
	f := newFolder(t)
	if _, err := f.Plan(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no plan gave %v", err)
	}
	if _, asked, err := f.Stop(); asked || err != nil {
		t.Errorf("no order gave %t, %v", asked, err)
	}
	if _, there, err := f.Status(); there || err != nil {
		t.Errorf("no status gave %t, %v", there, err)
	}
	want := Stop{GraceSeconds: 3, Reason: "Why"}
	if err := f.WriteStop(want); err != nil {
		t.Fatal(err)
	}
	got, asked, err := f.Stop()
	if diff := cmp.Diff(want, got); diff != "" || !asked || err != nil {
		t.Errorf("the order came back as %s, %t, %v", diff, asked, err)
	}
	if err := os.WriteFile(f.path("run", "status.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Status(); err == nil {
		t.Error("an empty status, which a crash of the machine may leave, gave no error")
	}
}

func TestLock(t *testing.T) {
	f := newFolder(t)
	if lives, err := f.Supervised(); lives || err != nil {
		t.Errorf("nobody supervises: %t, %v", lives, err)
	}
	lock, err := f.LockSupervisor()
	if err != nil {
		t.Fatal(err)
	}
	if lives, err := f.Supervised(); !lives || err != nil {
		t.Errorf("somebody supervises: %t, %v", lives, err)
	}
	waited := make(chan error, 1)
	go func() { waited <- f.WaitSupervisor() }()
	lock.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	first, err := Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := Lock(first.Name()); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock gave %v", err)
	}
}

func TestProcess(t *testing.T) {
	cmd := exec.Command("tail", "-f", "/dev/null")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := Look(cmd.Process.Pid)
	if !ok || !p.Alive() {
		t.Errorf("a running process is %+v, %t", p, ok)
	}
	other := p
	other.Start++
	if other.Alive() {
		t.Error("another process with the same number counts as this one")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if p.Alive() {
		t.Error("a process that was killed is alive")
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	root := t.TempDir()
	f := Of(root, "uid-1")
	deep := filepath.Join(f.Scratch("main", 0), "root", "shut")
	if err := os.MkdirAll(filepath.Join(deep, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(deep, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
