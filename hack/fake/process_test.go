// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// envOrder makes the test's program a plugin in the middle of a build: the path of an order as JSON.
const envOrder = "FAKE_TEST_ORDER"

// order is what such a process is to do.
type order struct {
	Endpoint, Token, Tofu, State, Folder string
	Cluster                              provider.Cluster
	Action                               provider.Action
	Variables                            map[string]json.RawMessage
	Ledger                               []provider.Resource
}

// actAsPlugin carries an order out, and prints each event as a line of JSON.
func actAsPlugin(path string) int {
	text, err := os.ReadFile(path)
	var o order
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err == nil {
		w := world{fake: fake{tofu: o.Tofu, localState: o.State, env: map[string]string{"GORACE": noSleep}}}
		credentials := provider.Credentials{Values: map[string]provider.Secret{
			endpointName: provider.NewSecret(o.Endpoint), tokenName: provider.NewSecret(o.Token),
		}}
		_, err = w.fake.Build(context.Background(), provider.BuildRequest{
			Cluster: o.Cluster, Action: o.Action, Credentials: credentials, Folder: o.Folder, Variables: o.Variables, Ledger: o.Ledger,
		}, &printer{to: json.NewEncoder(os.Stdout)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type printer struct {
	mu sync.Mutex
	to *json.Encoder
}

func (p *printer) Report(e provider.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.to.Encode(e)
}

// process is a plugin in a process of its own.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	events []provider.Event // whole once ended
	errors bytes.Buffer
}

func (w *world) start(t testing.TB, req provider.BuildRequest) *process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "order.json")
	text, err := json.Marshal(order{
		Endpoint: w.server.URL, Token: goodToken, Tofu: w.fake.tofu, State: w.fake.localState, Folder: req.Folder,
		Cluster: req.Cluster, Action: req.Action, Variables: req.Variables, Ledger: req.Ledger,
	})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), envOrder+"="+path, "GORACE="+noSleep)
	p.cmd.Stderr = &p.errors
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = p.cmd.Process.Kill(); <-p.ended })
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var e provider.Event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				p.events = append(p.events, e)
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
	}()
	return p
}

// tofus are the processes of OpenTofu itself that run for the world's cluster.
func (w *world) tofus() []int {
	var pids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		program, _ := os.Readlink(entry + "/exe")
		environ, _ := os.ReadFile(entry + "/environ")
		if program == w.fake.tofu && bytes.Contains(environ, []byte("INFRARED_TOFU_RUN="+w.cluster.Name+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(entry))
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until check says that something is gone.
func gone(t testing.TB, what string, check func() bool) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !check() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("%s is still there", what)
			return
		}
	}
}

// dead says that a process has ended, be it that nobody has asked for how yet.
func dead(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return bytes.HasPrefix(rest, []byte("Z"))
}

func kill9(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }
