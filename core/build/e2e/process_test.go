// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// service is a program that is always to run: killed, it is started again at once.
type service struct {
	name    string
	command func() *exec.Cmd
	log     *os.File

	mu      sync.Mutex
	current *exec.Cmd
	gone    chan struct{}
	stopped bool
	// fell are the ends that nobody asked for.
	fell []string
}

// startService starts a program whose output goes to a file.
func startService(name, log string, command func() *exec.Cmd) (*service, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	s := &service{name: name, command: command, log: file}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.start()
}

// start needs the lock.
func (s *service) start() error {
	cmd, gone := s.command(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = s.log, s.log
	// An interrupted test leaves nothing.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// Linux ends a process that is to die with its parent as soon as the thread ends that started it.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(gone)
			s.ended(cmd)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	s.current, s.gone = cmd, gone
	return nil
}

// ended starts a program again that ended by itself, and writes that down.
func (s *service) ended(cmd *exec.Cmd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != cmd || s.stopped {
		return
	}
	s.fell = append(s.fell, fmt.Sprintf("%s ended by itself: %s", s.name, cmd.ProcessState))
	_ = s.start()
}

// kill ends the program with SIGKILL, waits until it is gone, and starts it again.
func (s *service) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.end()
	return s.start()
}

// end needs the lock.
func (s *service) end() {
	dying, gone := s.current, s.gone
	s.current = nil
	if dying != nil {
		_ = dying.Process.Kill()
		<-gone
	}
}

// stop ends the program for good.
func (s *service) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.end()
}

func (s *service) falls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fell
}

// The programs that are killed.
const (
	victimOperator = "operator"
	victimNode     = "node"
	victimBuild    = "infrared-build"
	victimPlugin   = "plugin"
	victimTofu     = "tofu"
)

func victims() []string {
	return []string{victimTofu, victimPlugin, victimBuild, victimOperator, victimNode}
}

// podProcesses are the processes of a Cluster's run, by what they are. All that is there of them is in this machine's /proc.
func podProcesses(cluster string) map[string]int {
	found, parents := map[string]int{}, map[int]int{}
	plugins := map[int]bool{}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		name, _ := os.ReadFile(filepath.Join(entry, "comm"))
		switch string(bytes.TrimSpace(name)) {
		case "infrared-build":
			if environHas(entry, "INFRARED_SUFFIX="+cluster+"-u") {
				found[victimBuild] = pid
			}
		case "tofu":
			if environHas(entry, "INFRARED_TOFU_RUN="+cluster+"\x00") {
				found[victimTofu] = pid
			}
		case "fake":
			// OpenTofu is started through the same program, by which it is known.
			if !environHas(entry, "INFRARED_TOFU_RUN=") {
				plugins[pid] = true
				parents[pid] = parentOf(entry)
			}
		}
	}
	for pid := range plugins {
		if build, ok := found[victimBuild]; ok && parents[pid] == build {
			found[victimPlugin] = pid
		}
	}
	return found
}

func environHas(entry, text string) bool {
	environ, _ := os.ReadFile(filepath.Join(entry, "environ"))
	return bytes.HasPrefix(environ, []byte(text)) || bytes.Contains(environ, []byte("\x00"+text))
}

func parentOf(entry string) int {
	stat, _ := os.ReadFile(filepath.Join(entry, "stat"))
	// The second field is the program's name in parentheses, and may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

// kill9 kills a process, and returns when it runs no more.
func kill9(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return nil
	}
	tick, deadline := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) || bytes.Contains(stat, []byte(") X ")) {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("process %d does not die", pid)
		}
	}
}
