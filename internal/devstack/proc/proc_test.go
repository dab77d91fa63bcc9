// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package proc_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/internal/devstack/proc"
)

const parentEnv = "PROC_TEST_PARENT"

// TestMain also plays a parent that is killed: it starts a child, says its
// pid, and waits.
func TestMain(m *testing.M) {
	if dir := os.Getenv(parentEnv); dir != "" {
		p, err := proc.NewLauncher().Start(sleeper(dir))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, p.Pid())
		select {}
	}
	os.Exit(m.Run())
}

func sleeper(dir string) proc.Spec {
	return proc.Spec{Name: "sleeper", Path: "/bin/sh", Args: []string{"-c", "sleep 600"}, Log: filepath.Join(dir, "log"), Env: []string{"PROC_TEST_OWNER=" + dir}}
}

func script(t *testing.T, text string) proc.Spec {
	t.Helper()
	return proc.Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", text}, Log: filepath.Join(t.TempDir(), "script.log")}
}

func newLauncher(t *testing.T) *proc.Launcher {
	t.Helper()
	l := proc.NewLauncher()
	t.Cleanup(l.Close)
	return l
}

// eventually waits for the world to be as it should.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
	}
}

func TestDeath(t *testing.T) {
	tests := map[string]struct {
		reason string
		script string
		want   string // with LOG for the log's path
	}{
		"Code": {
			reason: "A process that ends by itself is described by its code and the error it printed.",
			script: `echo working; echo "Error: no such flag" >&2; echo bye; exit 3`,
			want:   "script ended with exit code 3: Error: no such flag (log: LOG)",
		},
		"Silent": {
			reason: "Without any output there is nothing to quote.",
			script: `exit 1`,
			want:   "script ended with exit code 1 and printed nothing (log: LOG)",
		},
		"Killed": {
			reason: "Who is killed can't know why, so what it printed before is no cause.",
			script: `echo all is well; kill -9 $$`,
			want:   "script was killed by SIGKILL, from somebody or from a kernel short of memory (log: LOG)",
		},
		"Crashed": {
			reason: "A signal that a program brings upon itself comes with what it printed.",
			script: `echo "panic: oh no"; kill -ABRT $$`,
			want:   "script ended with signal SIGABRT: panic: oh no (log: LOG)",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := newLauncher(t).Start(script(t, tc.script))
			if err != nil {
				t.Fatalf("Start: %v", err)
			}
			<-p.Done()
			if got, want := p.Death(), strings.ReplaceAll(tc.want, "LOG", p.Log()); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, want)
			}
		})
	}
}

func TestLastError(t *testing.T) {
	tests := map[string]struct {
		reason string
		log    string
		want   string
	}{
		"Klog": {
			reason: "The head of a klog line changes with each run and says nothing.",
			log:    "I1130 12:00:40.214896   20027 a.go:1] \"fine\"\nE1130 12:00:40.214896   20027 run.go:72] \"command failed\" err=\"no\"\nI1130 12:00:41.1 20027 a.go:1] \"bye\"\n",
			want:   `"command failed" err="no"`,
		},
		"Etcd": {
			reason: "etcd logs in JSON; its message and its error make the reason.",
			log:    `{"level":"warn","msg":"slow"}` + "\n" + `{"level":"fatal","ts":"2026","msg":"discovery failed","error":"disk full"}` + "\n",
			want:   "discovery failed: disk full",
		},
		"Panic": {
			reason: "The panic is the reason, not the stack below it.",
			log:    "panic: assertion failed\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:1\n",
			want:   "panic: assertion failed",
		},
		"Unmarked": {
			reason: "Where nothing is marked the last words are the best there is.",
			log:    "hello\nbye\n\n",
			want:   "bye",
		},
		"Control": {
			reason: "A log may hold anything; a terminal must not obey it.",
			log:    "Error: \x1b[31mred\x07\n",
			want:   "Error:  [31mred ",
		},
		"Empty": {reason: "Nothing printed, nothing to say.", log: "", want: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.log), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := proc.LastError(path); got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

// The log of a process that was started again is what explains why.
func TestStartKeepsTheLogBefore(t *testing.T) {
	l := newLauncher(t)
	spec := script(t, "echo first")
	for _, text := range []string{"echo first", "echo second"} {
		spec.Args = []string{"-c", text}
		p, err := l.Start(spec)
		if err != nil {
			t.Fatalf("Start: %v", err)
		}
		<-p.Done()
	}
	for path, want := range map[string]string{spec.Log: "second\n", spec.Log + ".1": "first\n"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
		}
	}
}

func TestStopKillsWhoDoesNotObey(t *testing.T) {
	p, err := newLauncher(t).Start(script(t, `trap "" TERM; echo ready; while :; do sleep 1; done`))
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	eventually(t, "the process ignores SIGTERM", func() bool { return proc.LastError(p.Log()) == "ready" })
	p.Stop(50 * time.Millisecond)
	exit, ended := p.Exited()
	if !ended || exit.Signal != "SIGKILL" {
		t.Errorf("after Stop: ended %t by %s, want SIGKILL", ended, exit)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	l := proc.NewLauncher()
	p, err := l.Start(sleeper(t.TempDir()))
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	l.Close()
	if _, ended := p.Exited(); !ended {
		t.Error("the process outlived its launcher")
	}
	if _, err := l.Start(sleeper(t.TempDir())); err == nil {
		t.Error("a closed launcher started a process")
	}
}

// kill -9 gives a parent no chance to clean up, so the kernel must.
func TestChildDiesWithKilledParent(t *testing.T) {
	dir := t.TempDir()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+dir)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent said nothing: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent said %q", line)
	}
	child, ok := proc.Look(pid)
	if !ok {
		t.Fatalf("child %d isn't there", pid)
	}
	found, err := proc.FindByEnv("PROC_TEST_OWNER", dir)
	if err != nil || len(found) == 0 || found[0].StartTicks == 0 {
		t.Errorf("FindByEnv found %v (%v), want the child", found, err)
	}
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the child is gone", func() bool { return !child.Alive() })
}

func TestPortHolder(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if got, want := proc.PortHolder(port), fmt.Sprintf("process %d ", os.Getpid()); !strings.HasPrefix(got, want) {
		t.Errorf("PortHolder of our own port: %q, want %q…", got, want)
	}
	_ = l.Close()
	if got := proc.PortHolder(port); got != "" {
		t.Errorf("PortHolder of a free port: %q, want nobody", got)
	}
}
