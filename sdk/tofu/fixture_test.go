// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/sdk/provider"
)

// patience is how long a test waits for what takes a second on an idle machine.
const patience = 2 * time.Minute

// noSleep takes away the second for which a program with the race detector sleeps before it exits. Each run of OpenTofu has one more
// such program, the shim.
const noSleep = "atexit_sleep_ms=0"

// envRequest makes the test's program a plugin in the middle of a Build.
const envRequest = "TOFU_TEST_REQUEST"

func TestMain(m *testing.M) {
	Shim()
	if path := os.Getenv(envRequest); path != "" {
		os.Exit(actAsPlugin(path))
	}
	os.Exit(m.Run())
}

// request is what a plugin process is asked to do.
type request struct {
	Action                    provider.Action
	Cluster, Folder, State    string
	Files                     map[string]string
	Variables                 map[string]json.RawMessage
	Ledger                    []provider.Resource
	Host, CA, Token           string // of the API server; empty: State is a local file
	Secrets                   map[string]string
	Digest, Plan, Schema, Log string
}

// actAsPlugin carries a request out, prints each event as a line of JSON, and last the result.
func actAsPlugin(path string) int {
	text, err := os.ReadFile(path)
	var req request
	if err == nil {
		err = json.Unmarshal(text, &req)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	terminated := make(chan os.Signal, 1)
	notifyTerm(terminated)
	go func() { <-terminated; stop() }()
	result, err := req.build(ctx, printer{json.NewEncoder(os.Stdout)}, io.Discard)
	answer := map[string]any{"Result": result}
	if err != nil {
		answer["Error"], answer["Kind"] = err.Error(), provider.KindOf(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(answer)
	return 0
}

type printer struct{ to *json.Encoder }

func (p printer) Report(e provider.Event) { _ = p.to.Encode(e) }

// build runs the request in this process.
func (q request) build(ctx context.Context, r provider.Reporter, log io.Writer) (provider.BuildResult, error) {
	binary, err := tofuBinary()
	if err != nil {
		return provider.BuildResult{}, err
	}
	schema := q.Schema
	if schema == "" {
		properties := []string{}
		for name := range q.Variables {
			properties = append(properties, strconv.Quote(name)+":{}")
		}
		schema = `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	}
	credentials := provider.Credentials{Values: map[string]provider.Secret{}}
	for name, value := range q.Secrets {
		credentials.Values[name] = provider.NewSecret(value)
	}
	o := Options{Env: map[string]string{"GORACE": noSleep}, Schema: json.RawMessage(schema), Module: asFS(q.Files), Binary: binary, LocalState: q.State, Log: log}
	return Build(ctx, o, provider.BuildRequest{
		Action: q.Action, Cluster: provider.Cluster{Name: q.Cluster}, Folder: q.Folder, Variables: q.Variables, Ledger: q.Ledger,
		State:       provider.State{Host: q.Host, CA: []byte(q.CA), Token: provider.NewSecret(q.Token), Namespace: "infrared", Suffix: q.Cluster + "-u0123abcd"},
		Credentials: credentials, PlanDigest: q.Digest, Plan: provider.NewSecret(q.Plan),
	}, r)
}

func asFS(files map[string]string) fs.FS {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return all
}

// tofuBinary is the real OpenTofu, compiled from its module.
func tofuBinary() (string, error) {
	bin, err := devstack.BinDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, "tofu")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("OpenTofu is not built: run make stack (%w)", err)
	}
	return path, nil
}

// events collects what a run reports.
type events struct {
	mu  sync.Mutex
	all []provider.Event
}

func (e *events) Report(event provider.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// of are the events of a kind, as ADDRESS OPERATION.
func (e *events) of(kind provider.EventKind) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []string
	for _, event := range e.all {
		if event.Kind == kind && event.Address != "" {
			found = append(found, event.Address+" "+string(event.Operation))
		} else if event.Kind == kind {
			found = append(found, event.Message)
		}
	}
	slices.Sort(found)
	return found
}

// ledger is what a host keeps of the events: what was made and is not gone.
func ledger(all []provider.Event) []provider.Resource {
	var kept []provider.Resource
	for _, e := range all {
		switch {
		case e.Kind != provider.EventDone || e.Resource == nil:
		case e.Operation == provider.OperationDelete:
			kept = slices.DeleteFunc(kept, func(r provider.Resource) bool { return r.ID == e.Resource.ID })
		case e.Operation == provider.OperationCreate:
			kept = append(kept, *e.Resource)
		}
	}
	return kept
}

// newRequest is a run with a folder and a local state of its own.
func newRequest(t *testing.T, action provider.Action, files map[string]string) request {
	t.Helper()
	dir := t.TempDir()
	return request{
		Action: action, Cluster: "edge", Folder: filepath.Join(dir, "run"), State: filepath.Join(dir, "terraform.tfstate"),
		Files: files, Variables: map[string]json.RawMessage{},
	}
}

// with is the request with another action.
func (q request) with(action provider.Action) request {
	q.Action = action
	return q
}

func (q *request) set(name string, value any) {
	text, _ := json.Marshal(value)
	variables := map[string]json.RawMessage{}
	for n, v := range q.Variables {
		variables[n] = v
	}
	variables[name] = text
	q.Variables = variables
}

// must runs the request and fails the test where it fails.
func (q request) must(t *testing.T) (provider.BuildResult, *events, string) {
	t.Helper()
	result, seen, log, err := q.run(t)
	if err != nil {
		t.Fatalf("%s: %v\n%s", q.Action, err, log)
	}
	return result, seen, log
}

func (q request) run(t *testing.T) (provider.BuildResult, *events, string, error) {
	t.Helper()
	seen, log := &events{}, &bytes.Buffer{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := q.build(ctx, seen, log)
	return result, seen, log.String(), err
}

// plugin is a plugin process in the middle of a Build.
type plugin struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	events []provider.Event
	errors bytes.Buffer
}

// answer is the last line of a plugin process.
type answer struct {
	Result struct {
		Resources, LeftBehind []provider.Resource
		Changes               []provider.Change
	}
	Error string
	Kind  provider.ErrorKind
}

func (q request) start(t *testing.T) *plugin {
	t.Helper()
	path := filepath.Join(t.TempDir(), "request.json")
	text, err := json.Marshal(q)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), envRequest+"="+path, "GORACE="+noSleep)
	p.cmd.Stderr = &p.errors
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop(); _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 1<<24)
	return p
}

// await reads events until one is of the kind and address.
func (p *plugin) await(kind provider.EventKind, address string) {
	p.t.Helper()
	for p.lines.Scan() {
		var e provider.Event
		if json.Unmarshal(p.lines.Bytes(), &e) != nil || e.Kind == "" {
			p.t.Fatalf("the run ended before %s %s: %s\n%s", kind, address, p.lines.Text(), p.errors.String())
		}
		p.events = append(p.events, e)
		if e.Kind == kind && e.Address == address {
			return
		}
	}
	p.t.Fatalf("the plugin ended before %s %s\n%s", kind, address, p.errors.String())
}

// end reads the remaining events and the answer.
func (p *plugin) end() answer {
	p.t.Helper()
	var last answer
	for p.lines.Scan() {
		var e provider.Event
		if json.Unmarshal(p.lines.Bytes(), &e) == nil && e.Kind != "" && e.Message != "" {
			p.events = append(p.events, e)
			continue
		}
		if err := json.Unmarshal(p.lines.Bytes(), &last); err != nil {
			p.t.Fatalf("the plugin's answer: %v: %s", err, p.lines.Text())
		}
	}
	return last
}

// eventually polls until check is content.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("still, at the end of the wait: %v", err)
		case <-tick.C:
		}
	}
}

// processes are those that run OpenTofu itself for a cluster.
func processes(t *testing.T, cluster string) []int {
	t.Helper()
	binary, err := tofuBinary()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		program, _ := os.Readlink(entry + "/exe")
		environ, _ := os.ReadFile(entry + "/environ")
		if program == binary && bytes.Contains(environ, []byte("INFRARED_TOFU_RUN="+cluster+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(entry))
			pids = append(pids, pid)
		}
	}
	return pids
}

// ended waits until no OpenTofu runs for a cluster.
func ended(t *testing.T, cluster string) {
	t.Helper()
	eventually(t, func() error {
		if pids := processes(t, cluster); len(pids) > 0 {
			return fmt.Errorf("OpenTofu still runs: %v", pids)
		}
		return nil
	})
}

func kill(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatalf("signal %d to %d: %v", int(signal), pid, err)
	}
}
