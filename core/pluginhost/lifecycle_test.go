// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// begin makes a call that goes on, and returns once the plugin has it.
func begin(t *testing.T, p provider.Provider, wait string) <-chan error {
	t.Helper()
	mark := t.TempDir() + "/mark"
	result := make(chan error, 1)
	go func() { result <- callConnect(t.Context(), p, values("MARK", mark, "WAIT", wait)) }()
	if !eventually(func() bool { return marks(t, mark) != "" }) {
		t.Fatal("the plugin does not get the call")
	}
	return result
}

func TestSpecChangesWhileCallsRun(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, before := f.healthy(t, "slow")
	running := begin(t, p, "2s")
	_, sum := f.folder.Add(t, "good")
	f.host.Ensure("slow", pluginhost.Spec{Binary: "good", SHA256: sum})
	if err := callConnect(t.Context(), p, provider.Credentials{}); err != nil {
		t.Errorf("a new call gives %v, want an answer of the new process", err)
	}
	if s, _ := f.host.State("slow"); s.PID == before.PID || !s.Healthy {
		t.Errorf("the state is %+v, want another process", s)
	}
	select {
	case err := <-running:
		t.Errorf("the call of two seconds ended with %v before the new process had answered", err)
	default:
	}
	if err := <-running; err != nil {
		t.Errorf("the running call gives %v, want its answer", err)
	}
	if !eventually(func() bool { return isGone(before.PID) }) {
		t.Error("the old process is left")
	}
}

func TestRemoveWhileCallsRun(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	p, before := f.healthy(t, "slow")
	running := begin(t, p, "1s")
	f.host.Remove("slow")
	if err := callConnect(t.Context(), p, provider.Credentials{}); !errors.Is(err, provider.Unavailable) || err.Error() != `there is no plugin "slow"` {
		t.Errorf("a new call gives %v, want Unavailable", err)
	}
	if err := <-running; err != nil {
		t.Errorf("the running call gives %v, want its answer", err)
	}
	if !eventually(func() bool { return isGone(before.PID) }) {
		t.Error("the process of a removed plugin is left")
	}
}

func TestCloseWhileCallsRun(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		call   string
		ends   func(error) bool
	}{
		"winds-down":    {reason: "a call that winds down still gives its answer", call: "300ms", ends: func(err error) bool { return err == nil }},
		"stuck-connect": {reason: "a verb that never returns is killed", ends: func(err error) bool { return errors.Is(err, provider.Unavailable) }},
		"slow":          {reason: "a verb that heeds its context says so", call: "1h", ends: func(err error) bool { return errors.Is(err, provider.Unavailable) }},
		"hang-connect":  {reason: "the same", ends: func(err error) bool { return errors.Is(err, provider.Unavailable) }},
		"grandchild":    {reason: "a call that is over has its answer", ends: func(err error) bool { return err == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, pluginhost.Options{})
			p, before := f.healthy(t, name)
			running := begin(t, p, c.call)
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			f.host.Close(ctx)
			if ctx.Err() != nil {
				t.Error("Close took longer than it was given")
			}
			if !isGone(before.PID) {
				t.Error("the process is left after Close")
			}
			if err := <-running; !c.ends(err) {
				t.Errorf("the running call gives %v: %s", err, c.reason)
			}
			if err := callConnect(t.Context(), p, provider.Credentials{}); !errors.Is(err, provider.Unavailable) {
				t.Errorf("a call after Close gives %v, want Unavailable", err)
			}
		})
	}
}

// debug starts a plugin the way an author's debugger does, and returns the command and its line.
func debug(t *testing.T, path string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(path, "serve", "--debug")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the plugin prints no line: %v", err)
	}
	_, text, ok := strings.Cut(strings.TrimSpace(line), "=")
	if !ok {
		t.Fatalf("the plugin prints %q, want an assignment", line)
	}
	return cmd, strings.Trim(text, "'")
}

func TestAttachedPluginIsLeftAlone(t *testing.T) {
	outer := newFixture(t, pluginhost.Options{})
	path, _ := outer.folder.Add(t, "good")
	cmd, text := debug(t, path)
	attachments, err := pluginhost.ParseAttachments(text)
	if err != nil || len(attachments) != 1 {
		shown, _ := json.Marshal(attachments)
		t.Fatalf("reading %q gives %s, %v, want one plugin", text, shown, err)
	}
	for range 2 {
		f := newFixture(t, pluginhost.Options{Attach: attachments})
		f.host.Ensure("toy", pluginhost.Spec{Binary: "nothing"})
		s := f.until(t, "toy", func(s pluginhost.State) bool { return s.Healthy })
		if s.Reason != pluginhost.ReasonAttached || s.PID != cmd.Process.Pid {
			t.Errorf("the state is %+v, want Attached to process %d", s, cmd.Process.Pid)
		}
		if err := callConnect(t.Context(), f.host.Provider("toy", ""), provider.Credentials{}); err != nil {
			t.Errorf("a call gives %v", err)
		}
		f.close(t)
		if isGone(cmd.Process.Pid) {
			t.Fatal("the host ended a plugin that is not its own")
		}
	}

	f := newFixture(t, pluginhost.Options{Attach: attachments})
	f.host.Ensure("toy", pluginhost.Spec{})
	f.until(t, "toy", func(s pluginhost.State) bool { return s.Healthy })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	f.until(t, "toy", func(s pluginhost.State) bool { return !s.Healthy && s.PID == 0 })
	if err := callConnect(t.Context(), f.host.Provider("toy", ""), provider.Credentials{}); !errors.Is(err, provider.Unavailable) {
		t.Errorf("a call on a plugin that its author ended gives %v, want Unavailable", err)
	}
}

func TestCloseWhileAPluginStarts(t *testing.T) {
	f := newFixture(t, pluginhost.Options{})
	f.run(t, "silent")
	if !eventually(func() bool { return len(processesOf(t, f.folder.Path)) == 1 }) {
		t.Fatal("the plugin is not started")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	f.host.Close(ctx)
	if left := processesOf(t, f.folder.Path); len(left) > 0 || ctx.Err() != nil {
		t.Errorf("processes %v are left, %v", left, ctx.Err())
	}
}
