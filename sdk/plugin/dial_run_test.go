// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

func TestPlugin(t *testing.T) {
	var out heard
	p := dialed(t, "good", func(l *plugin.Launch) { l.Output = &out })
	if d := p.Description(); d.Facts.Name != "toy" || !slices.Contains(d.Capabilities, provider.CapabilityAccounts) {
		t.Errorf("it describes itself as %v", d)
	}
	if p.Protocol() != 1 || !running(p.PID()) {
		t.Errorf("protocol %d, process %d", p.Protocol(), p.PID())
	}
	must(t, p.Ping(t.Context()))
	c, err := p.Provider().Connect(t.Context(), provider.ConnectRequest{Cluster: provider.Cluster{Incarnation: "uid"}})
	if err != nil || c.Identity.KubeSystemUID != "uid" {
		t.Errorf("Connect answers %v, %v", c, err)
	}
	must(t, p.Stop(t.Context()))
	<-p.Done()
	if err := p.Err(); err != nil {
		t.Errorf("after a stop it ended as %v, want nil: that was asked for", err)
	}
	if _, ok := stat(p.PID()); ok {
		t.Error("the process is still there after Stop")
	}
	must(t, p.Stop(t.Context()))
	p.Kill()
	if _, err := p.Provider().Connect(t.Context(), provider.ConnectRequest{}); !errors.Is(err, provider.Unavailable) {
		t.Errorf("a call after the end is %v, want Unavailable", err)
	}
}

func TestPluginEnds(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		plugin string
		do     func(t *testing.T, p *plugin.Plugin)
		want   string
	}{
		"kill -9": {
			reason: "anybody may do that", plugin: "good",
			do: func(t *testing.T, p *plugin.Plugin) { must(t, syscall.Kill(p.PID(), syscall.SIGKILL)) }, want: "was killed by signal 9",
		},
		"crash": {
			reason: "what it printed may be about any call, and this is told to everybody", plugin: "crash-connect",
			do: func(t *testing.T, p *plugin.Plugin) {
				if _, err := p.Provider().Connect(t.Context(), provider.ConnectRequest{}); !errors.Is(err, provider.Unavailable) {
					t.Errorf("the call is %v, want Unavailable: it is unknown what it did", err)
				}
			}, want: "exited with code 3",
		},
		"its host's kill": {
			reason: "a host knows its own hand", plugin: "good",
			do: func(_ *testing.T, p *plugin.Plugin) { p.Kill() }, want: "was killed by its host",
		},
		"kill while it is stopped": {
			reason: "SIGSTOP must not save it", plugin: "good",
			do: func(t *testing.T, p *plugin.Plugin) {
				must(t, syscall.Kill(p.PID(), syscall.SIGSTOP))
				p.Kill()
			}, want: "was killed by its host",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dialed(t, c.plugin)
			c.do(t, p)
			eventually(t, "the end", p.Done())
			if err := p.Err(); err == nil || err.Error() != c.want {
				t.Errorf("it ended as %v, want %q: %s", err, c.want, c.reason)
			}
			if err := p.Ping(t.Context()); err == nil {
				t.Error("a plugin that is gone answers a ping")
			}
		})
	}
}

func TestPanicIsTold(t *testing.T) {
	path := script(t, `echo 'panic: no zone' >&2; echo >&2; echo 'goroutine 1 [running]:' >&2; exit 2`)
	message := refused(t, plugin.Launch{Path: path}, plugin.ReasonCrashedAtStart)
	if !strings.Contains(message, `exited with code 2: "panic: no zone"`) {
		t.Errorf("%s: of a panic the first line tells most", message)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := t.TempDir() + "/plugin"
	write("#!/bin/sh\n"+text+"\n", 0o755)(t, path)
	return path
}

func TestStopWaitsForAnswers(t *testing.T) {
	p := dialed(t, "winds-down")
	credentials, lines := marked(t)
	credentials.Values["WAIT"] = provider.NewSecret("500ms")
	const calls = 10
	ends := make(chan error, calls+1)
	for range calls {
		go func() {
			_, err := p.Provider().Sweep(t.Context(), provider.SweepRequest{Credentials: credentials})
			ends <- err
		}()
	}
	go func() {
		_, err := p.Provider().Build(t.Context(), provider.BuildRequest{Credentials: credentials}, &events{})
		ends <- err
	}()
	until(t, "all calls run", func() bool { return len(lines()) == calls+1 })
	must(t, p.Stop(t.Context()))
	for range calls + 1 {
		if err := <-ends; err != nil {
			t.Errorf("a call that wound down ended as %v: its answer must arrive", err)
		}
	}
	if err := p.Err(); err != nil {
		t.Errorf("it ended as %v", err)
	}
}

func TestStopAlwaysEnds(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		plugin string
		before func(t *testing.T, p *plugin.Plugin)
		within time.Duration
		fails  bool
	}{
		"a verb that never returns": {
			reason: "the time that Stop is given is all there is", plugin: "stuck-sweep", within: 500 * time.Millisecond, fails: true,
			before: func(t *testing.T, p *plugin.Plugin) {
				credentials, lines := marked(t)
				go func() {
					_, _ = p.Provider().Sweep(context.WithoutCancel(t.Context()), provider.SweepRequest{Credentials: credentials})
				}()
				until(t, "the verb runs", func() bool { return len(lines()) > 0 })
			},
		},
		"a stopped process": {
			reason: "it answers nobody", plugin: "good", within: 500 * time.Millisecond, fails: true,
			before: func(t *testing.T, p *plugin.Plugin) { must(t, syscall.Kill(p.PID(), syscall.SIGSTOP)) },
		},
		"one that ignores SIGTERM": {
			reason: "without the SDK nothing watches the host", plugin: "ignores-sigterm", within: time.Minute, fails: true,
			before: func(*testing.T, *plugin.Plugin) {},
		},
		"one without the SDK": {
			reason: "SIGTERM ends it", plugin: "two-versions", within: time.Minute,
			before: func(*testing.T, *plugin.Plugin) {},
		},
		"one that is gone": {
			reason: "there is nobody to ask", plugin: "good", within: time.Minute,
			before: func(t *testing.T, p *plugin.Plugin) {
				must(t, syscall.Kill(p.PID(), syscall.SIGKILL))
				eventually(t, "the end", p.Done())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := dialed(t, c.plugin)
			c.before(t, p)
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- p.Stop(ctx) }()
			if err := eventually(t, "the end of Stop", ended); (err != nil) != c.fails {
				t.Errorf("Stop returns %v, want an error: %v: %s", err, c.fails, c.reason)
			}
			if _, ok := stat(p.PID()); ok {
				t.Error("the process is still there after Stop")
			}
		})
	}
}

// A plugin that prints without end and without lines costs the host no memory, and answers all the same.
func TestFloodOfOutput(t *testing.T) {
	var before, after runtime.MemStats
	slow := make(chan struct{})
	p := dialed(t, "floods", func(l *plugin.Launch) { l.Output = blocked{slow} })
	defer close(slow)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 200 {
		if _, err := p.Provider().Sweep(t.Context(), provider.SweepRequest{}); err != nil {
			t.Fatalf("a call amid the flood: %v", err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	p.Kill()
	eventually(t, "the end, although nobody reads the log", p.Done())
}

// blocked is a log that takes nothing until it is let.
type blocked struct{ until chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.until
	return len(p), nil
}

func TestManyResources(t *testing.T) {
	p := dialed(t, "many")
	found, err := p.Provider().Sweep(t.Context(), provider.SweepRequest{})
	if err != nil || len(found.Present) != 40_000 {
		t.Fatalf("Sweep found %d, %v", len(found.Present), err)
	}
	var recorded []provider.Resource
	for _, f := range found.Present {
		recorded = append(recorded, f.Resource)
	}
	confirmed, err := p.Provider().Confirm(t.Context(), provider.ConfirmRequest{Recorded: recorded})
	if err != nil || len(confirmed.Present) != len(recorded) || confirmed.Present[39_999].Resource.ID != "disk-39999" {
		t.Errorf("Confirm answered %d, %v", len(confirmed.Present), err)
	}
}

func TestGrandchildrenEnd(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *plugin.Plugin){
		"stop":    func(t *testing.T, p *plugin.Plugin) { must(t, p.Stop(t.Context())) },
		"kill":    func(_ *testing.T, p *plugin.Plugin) { p.Kill() },
		"kill -9": func(t *testing.T, p *plugin.Plugin) { must(t, syscall.Kill(p.PID(), syscall.SIGKILL)) },
	} {
		for _, program := range []string{"grandchild", "orphans"} {
			t.Run(name+" "+program, func(t *testing.T) {
				t.Parallel()
				mark := "GRANDCHILD_OF=" + rand.Text()
				p := dialed(t, program, func(l *plugin.Launch) { l.Env = []string{mark, "PATH=/usr/bin:/bin"} })
				if len(withEnv(t, mark)) < 2 {
					t.Fatal("the plugin has no children, so this test shows nothing")
				}
				end(t, p)
				eventually(t, "the end, although a child holds its standard error", p.Done())
				if left := withEnv(t, mark); len(left) > 0 {
					t.Errorf("after Done the processes %v live on", left)
				}
			})
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "S3CR3T")
	p := dialed(t, "tells-env", func(l *plugin.Launch) {
		l.Env = []string{"HTTPS_PROXY=http://proxy:3128", "INFRARED_PLUGIN=other", "A="}
	})
	c, err := p.Provider().Connect(t.Context(), provider.ConnectRequest{})
	must(t, err)
	env := c.Identity.Traits["environment"]
	var names []string
	for _, line := range env {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
		if strings.Contains(line, "S3CR3T") {
			t.Errorf("the plugin sees %s of its host", name)
		}
	}
	for _, want := range []string{"HTTPS_PROXY=http://proxy:3128", "A="} {
		if !slices.Contains(env, want) {
			t.Errorf("the plugin's environment lacks %s", want)
		}
	}
	allowed := []string{
		"A", "HTTPS_PROXY", "INFRARED_LAUNCH", "INFRARED_PARENT_FD", "INFRARED_PLUGIN", "PLUGIN_CLIENT_CERT", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT",
		"PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR",
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) {
			t.Errorf("the plugin also got %s", name)
		}
	}
}

// What a plugin prints comes out, by whichever of its two ways, whole lines only.
func TestOutput(t *testing.T) {
	var out heard
	p := dialed(t, "panics-sweep", func(l *plugin.Launch) { l.Output = &out })
	_, err := p.Provider().Sweep(t.Context(), provider.SweepRequest{})
	if !errors.Is(err, provider.Other) {
		t.Errorf("a panic is %v", err)
	}
	until(t, "the stack is in the log", func() bool { return strings.Contains(out.String(), "toy.go") })
	must(t, p.Stop(t.Context()))
	if strings.Contains(out.String(), "S3CR3T") {
		t.Errorf("what the verb panicked with is in the log: %s", &out)
	}
	if text := out.String(); !strings.HasSuffix(text, "\n") {
		t.Errorf("the log ends amid a line: %q", text)
	}
}
