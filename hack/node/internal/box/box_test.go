// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary be the inside of a box, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case EnterCommand:
			_ = Enter()
			os.Exit(1)
		case HelperCommand:
			_ = Helper(context.Background())
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// shell runs a script with the host's programs in sight.
func shell(t *testing.T, script string) Spec {
	t.Helper()
	spec := Spec{
		Root: t.TempDir(), Hostname: "pod-a", Args: []string{"sh", "-c", script}, UID: os.Geteuid(), GID: os.Getegid(),
		Env: []string{"PATH=/usr/bin:/bin"}, Files: map[string]string{"/etc/hosts": "127.0.0.1 localhost\n"},
		Capabilities: DefaultCapabilities(),
	}
	for _, dir := range []string{"/bin", "/usr", "/lib", "/lib64"} {
		if _, err := os.Stat(dir); err == nil {
			spec.Mounts = append(spec.Mounts, Mount{Source: dir, Target: dir, ReadOnly: true})
		}
	}
	return spec
}

// run runs a spec to its end and returns what it printed.
func run(t *testing.T, spec Spec) (string, Exit) {
	t.Helper()
	l := NewLauncher()
	defer l.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Start(spec, w, w)
	w.Close()
	if err != nil {
		t.Fatalf("starting the box: %v", err)
	}
	if err := b.Go(); err != nil {
		t.Fatalf("running the program: %v", err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), b.Wait()
}

func TestBox(t *testing.T) {
	volume := t.TempDir()
	if err := os.WriteFile(filepath.Join(volume, "key"), []byte("a\x00b"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(volume, "out")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		script string
		change func(*Spec)
		want   string
		exit   Exit
	}{
		"First":    {reason: "the program is process 1 of its own numbers", script: "echo $$; ls -d /proc/[0-9]* | head -1", want: "1\n/proc/1\n"},
		"Hostname": {reason: "the host name is the pod's", script: "cat /proc/sys/kernel/hostname", want: "pod-a\n"},
		"Root":     {reason: "only what was mounted is there", script: "ls /", want: "bin\ndev\netc\nlib\nlib64\nproc\ntmp\nusr\n"},
		"Code":     {reason: "the exit code is the program's", script: "exit 7", exit: Exit{Code: 7}},
		"Signal":   {reason: "process 1 is not ended by a signal that it doesn't handle", script: "kill -TERM $$; kill -KILL $$; echo on", want: "on\n"},
		"User": {
			reason: "the user and group are those that were asked for", script: "id -u; id -g",
			change: func(s *Spec) { s.UID, s.GID = 1234, 4321 }, want: "1234\n4321\n",
		},
		"NoRights": {
			reason: "a program that is not user 0 has no capabilities", script: "grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status",
			change: func(s *Spec) { s.UID, s.GID = 1234, 4321 },
			want:   "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n",
		},
		"RootsRights": {
			reason: "user 0 has what container engines leave it, and can't mount", script: "grep CapEff /proc/self/status; mount -o remount,rw / 2>&1 >/dev/null | grep -c denied",
			change: func(s *Spec) { s.UID, s.GID, s.ReadOnlyRoot = 0, 0, true }, want: "CapEff:\t00000000a80425fb\n1\n",
		},
		"NoCapabilities": {
			reason: "what is dropped is gone for user 0 too", script: "grep CapEff /proc/self/status",
			change: func(s *Spec) { s.UID, s.GID, s.Capabilities = 0, 0, nil }, want: "CapEff:\t0000000000000000\n",
		},
		"ReadOnlyRoot": {
			reason: "a read-only root folder refuses writes, a volume takes them", script: "touch /x /tmp/x /etc/x 2>/dev/null; touch /data/x && ls /data; ls /tmp",
			change: func(s *Spec) {
				s.ReadOnlyRoot = true
				s.Mounts = append(s.Mounts, Mount{Source: t.TempDir(), Target: "/data"})
			}, want: "x\n",
		},
		"WritableRoot": {reason: "the root folder takes writes otherwise", script: "touch /x && ls /x", want: "/x\n"},
		"ReadOnlyVolume": {
			reason: "a read-only volume can be read and not written", script: "od -An -c /in/key; touch /in/y 2>/dev/null || echo no",
			change: func(s *Spec) { s.Mounts = append(s.Mounts, Mount{Source: volume, Target: "/in", ReadOnly: true}) },
			want:   "   a  \\0   b\nno\n",
		},
		"SubPath": {
			reason: "one file of a volume can be mounted", script: "od -An -c /etc/one",
			change: func(s *Spec) { s.Mounts = append(s.Mounts, Mount{Source: volume, SubPath: "key", Target: "/etc/one"}) },
			want:   "   a  \\0   b\n",
		},
		"LinkInVolume": {
			reason: "a mount point behind a link in a volume is made in the box", script: "ls -d /data/out/inner 2>&1 >/dev/null | grep -c 'No such'; ls /data/own",
			change: func(s *Spec) {
				own := t.TempDir()
				if err := os.Symlink("/tmp", filepath.Join(own, "own")); err != nil {
					t.Fatal(err)
				}
				s.Mounts = append(s.Mounts, Mount{Source: own, Target: "/data"}, Mount{Source: volume, Target: "/data/own/inner", ReadOnly: true})
			}, want: "1\ninner\n",
		},
		"NoNewPrivileges": {
			reason: "the flag is set where it was asked for", script: "grep NoNewPrivs /proc/self/status",
			change: func(s *Spec) { s.NoNewPrivileges = true }, want: "NoNewPrivs:\t1\n",
		},
		"Dir": {reason: "the working folder is made", script: "pwd", change: func(s *Spec) { s.Dir = "/home/here" }, want: "/home/here\n"},
		"Devices": {
			reason: "the usual devices work", script: "echo x >/dev/null && head -c 2 /dev/zero | od -An -c && echo y >/dev/stderr && touch /dev/shm/z",
			want: "  \\0  \\0\ny\n",
		},
		"Environment": {reason: "nothing of the host's environment is seen", script: "env | sort", change: func(s *Spec) { s.Env = append(s.Env, "A=b") }, want: "A=b\nPATH=/usr/bin:/bin\nPWD=/\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := shell(t, tc.script)
			if tc.change != nil {
				tc.change(&spec)
			}
			out, exit := run(t, spec)
			if diff := cmp.Diff(tc.want, out); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if exit != tc.exit {
				t.Errorf("%s: the exit is %+v, want %+v", tc.reason, exit, tc.exit)
			}
		})
	}
	if entries, err := os.ReadDir(volume); err != nil || len(entries) != 2 {
		t.Errorf("the volume holds %v (%v), want what it held before", entries, err)
	}
}

func TestSubPathStaysInside(t *testing.T) {
	volume := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(volume, "out")); err != nil {
		t.Fatal(err)
	}
	spec := shell(t, "true")
	spec.Mounts = append(spec.Mounts, Mount{Source: volume, SubPath: "out/ssl", Target: "/stolen"})
	l := NewLauncher()
	defer l.Close()
	if _, err := l.Start(spec, os.Stdout, os.Stderr); err == nil || !strings.Contains(err.Error(), "/stolen") {
		t.Errorf("a subPath behind a link out of the volume gave %v, want a refusal that names the mount", err)
	}
}

func TestMissingProgram(t *testing.T) {
	for _, name := range []string{"nothing-like-it", "/no/such/file"} {
		spec := shell(t, "")
		spec.Args = []string{name}
		l := NewLauncher()
		b, err := l.Start(spec, os.Stdout, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Go(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("running %q gave %v, want an error that names it", name, err)
		}
		b.Wait()
		l.Close()
	}
}

func TestExec(t *testing.T) {
	l := NewLauncher()
	defer l.Close()
	spec := shell(t, "trap 'exit 3' TERM; echo up; while :; do read -t 60 x </dev/zero; done")
	spec.UID, spec.GID, spec.Exec = 1234, 1234, true
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Start(spec, w, w)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Go(); err != nil {
		t.Fatal(err)
	}
	code, out, err := b.Exec(t.Context(), []string{"sh", "-c", "id -u; cat /proc/sys/kernel/hostname; exit 4"}, spec.Env, "/")
	if err != nil || code != 4 || out != "1234\npod-a\n" {
		t.Errorf("exec gave %d, %q, %v; want the code and output of a program in the box", code, out, err)
	}
	if _, _, err := b.Exec(t.Context(), []string{"nothing-like-it"}, spec.Env, "/"); err == nil {
		t.Error("exec of a missing program gave no error")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := b.Exec(ctx, []string{"tail", "-f", "/dev/null"}, spec.Env, "/"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("exec of an endless program gave %v, want that the time is up", err)
	}
	b.Kill()
	if exit := b.Wait(); exit.Signal != int(syscall.SIGKILL) || exit.Code != 137 {
		t.Errorf("a killed box ended with %+v", exit)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Errorf("something in the box lives on: %v", err)
	}
}

// TestDiesWithSupervisor kills the process that started a box.
func TestDiesWithSupervisor(t *testing.T) {
	if dir := os.Getenv("BOX_TEST_SUPERVISE"); dir != "" {
		superviseUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDiesWithSupervisor$")
	cmd.Env = append(os.Environ(), "BOX_TEST_SUPERVISE="+dir)
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	line := make([]byte, 3)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "up\n" {
		t.Fatalf("the box said %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	// The box and its child held the other end: reading ends when all are gone.
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
}

func superviseUntilKilled(t *testing.T, dir string) {
	spec := shell(t, "tail -f /dev/null & echo up; wait")
	spec.Root, spec.UID, spec.GID = dir, 1234, 1234
	out := os.NewFile(3, "out")
	b, err := NewLauncher().Start(spec, out, out)
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := b.Go(); err != nil {
		t.Fatal(err)
	}
	b.Wait()
}

// TestUnprivileged runs the tests above as a user without rights.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("the tests of this run are unprivileged themselves")
		return
	}
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "box.test")
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777), os.WriteFile(binary, data, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^Test(Box|SubPath|Exec|Dies|Missing)")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, fmt.Sprint(&out))
	}
}
