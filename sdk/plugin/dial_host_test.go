// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"darkshift.io/infrared/internal/testplugin"
	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// host runs the small host program, and returns what it prints line by line. It ends with the test.
func host(t *testing.T, cmd *exec.Cmd) (stdin io.Closer, line func() string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return in, func() string {
		if !lines.Scan() {
			t.Fatalf("the host program ended: %v", lines.Err())
		}
		return lines.Text()
	}
}

// A host that is killed has no time to end its plugins: they see it themselves, or its next run ends them.
func TestHostIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		stays  bool
	}{
		"good":            {reason: "the SDK watches the host"},
		"grandchild":      {reason: "the SDK ends what the plugin started"},
		"ignores-sigterm": {reason: "without the SDK, the host's next run ends it", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := testplugin.Build(t)
			path, _ := folder.Add(t, name)
			base := socketBase(t)
			hold := func() (*exec.Cmd, int) {
				cmd := exec.Command(folder.Host, "hold", path)
				cmd.Env = []string{"TMPDIR=" + base, "PATH=" + os.Getenv("PATH")}
				_, line := host(t, cmd)
				pid, err := strconv.Atoi(line())
				must(t, err)
				return cmd, pid
			}
			launches := func() []string {
				entries, err := os.ReadDir(base)
				must(t, err)
				var names []string
				for _, e := range entries {
					names = append(names, e.Name())
				}
				return names
			}
			first, pid := hold()
			old := "INFRARED_LAUNCH=" + launches()[0]
			if len(withEnv(t, old)) == 0 {
				t.Fatal("the plugin has no mark, so this test shows nothing")
			}
			must(t, first.Process.Kill())
			if !c.stays {
				until(t, "nothing is left of the killed host's plugin: "+c.reason, func() bool { return len(withEnv(t, old)) == 0 })
			}
			_, now := hold()
			until(t, "the old plugin is gone: "+c.reason, func() bool { return !running(pid) && len(withEnv(t, old)) == 0 })
			until(t, "its folder is gone", func() bool { return len(launches()) == 1 })
			if !running(now) {
				t.Error("the new plugin went with the old one")
			}
		})
	}
}

func TestStoppedHostProgram(t *testing.T) {
	folder := testplugin.Build(t)
	path, _ := folder.Add(t, "good")
	in, line := host(t, exec.Command(folder.Host, "hold", path))
	pid, err := strconv.Atoi(line())
	must(t, err)
	must(t, in.Close())
	until(t, "the plugin is gone", func() bool { return !running(pid) })
}

// In a container the operator is process 1, to which all orphans fall.
func TestHostIsProcessOne(t *testing.T) {
	folder := testplugin.Build(t)
	for _, name := range []string{"good", "grandchild", "orphans"} {
		path, _ := folder.Add(t, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := unshared("--pid", "--fork", "--mount-proc", "--kill-child", folder.Host, "restart", path, "4").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(string(out), "dead children: 0\n") {
				t.Errorf("process 1 says %q: the dead pile up", out)
			}
		})
	}
}

// unshared is a command in namespaces of its own, also for those who are not root.
func unshared(args ...string) *exec.Cmd {
	if os.Geteuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	return exec.Command("unshare", args...)
}

func TestSocketFolder(t *testing.T) {
	path, sum := testplugin.Build(t).Add(t, "good")
	long := filepath.Join("/tmp", strings.Repeat("l", 90))
	must(t, os.MkdirAll(long, 0o700))
	t.Cleanup(func() { _ = os.RemoveAll(long) })
	file := filepath.Join(socketBase(t), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		reason string
		folder string
		says   string
	}{
		"long":    {reason: "a socket's path has 107 bytes and no more", folder: long, says: "too long: 95 bytes"},
		"missing": {reason: "somebody has to make it", folder: "/nonexistent", says: "does not exist"},
		"a file":  {reason: "that is no place for a socket", folder: file, says: "not a directory"},
	} {
		t.Run("TMPDIR is "+name, func(t *testing.T) {
			t.Setenv("TMPDIR", c.folder)
			p, err := plugin.Dial(t.Context(), plugin.Launch{Path: path, SHA256: sum})
			if err != nil {
				t.Fatalf("%v: there are other folders", err)
			}
			must(t, p.Ping(t.Context()))
			p.Kill()
		})
		t.Run("only a folder that is "+name, func(t *testing.T) {
			_, err := plugin.Dial(t.Context(), plugin.Launch{Path: path, SHA256: sum, SocketFolder: c.folder})
			var e *plugin.StartError
			if !errors.As(err, &e) || e.Reason != plugin.ReasonNoSocketFolder || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, c.folder) {
				t.Errorf("%v, want NoSocketFolder with %q and the folder: %s", err, c.says, c.reason)
			}
		})
	}
}

// Mounted folders are tried by a host in a mount namespace of its own.
func TestSocketFolderIsMounted(t *testing.T) {
	folder := testplugin.Build(t)
	path, _ := folder.Add(t, "good")
	for name, c := range map[string]struct{ reason, options string }{
		"noexec":    {reason: "a socket is not executed", options: "noexec"},
		"read-only": {reason: "there is /tmp, or /dev/shm", options: "ro"},
	} {
		t.Run(name, func(t *testing.T) {
			base := socketBase(t)
			cmd := unshared("--mount", "--kill-child", "--fork", "sh", "-c", `mount -t tmpfs -o `+c.options+` none "$TMPDIR" && exec "$@"`, "sh", folder.Host, "hold", path)
			cmd.Env = []string{"TMPDIR=" + base, "PATH=" + os.Getenv("PATH")}
			in, line := host(t, cmd)
			if _, err := strconv.Atoi(line()); err != nil {
				t.Errorf("%v: %s", err, c.reason)
			}
			must(t, in.Close())
		})
	}
}

// A stale folder is one whose host is gone; that of a living host, and what belongs to others, stays.
func TestStaleSocketFolders(t *testing.T) {
	base := socketBase(t)
	inBase := func(l *plugin.Launch) { l.SocketFolder = base }
	must(t, os.MkdirAll(filepath.Join(base, "ir-plugin-1", "deep"), 0o700))
	must(t, os.WriteFile(filepath.Join(base, "ir-plugin-1", "plugin2"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(base, "other"), 0o700))
	must(t, os.Symlink("other", filepath.Join(base, "ir-plugin-link")))
	first := dialed(t, "good", inBase)
	second := dialed(t, "good", inBase)
	must(t, first.Ping(t.Context()))
	must(t, second.Ping(t.Context()))
	names := func() []string {
		entries, err := os.ReadDir(base)
		must(t, err)
		var all []string
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	if now := names(); len(now) != 4 || strings.Contains(strings.Join(now, " "), "ir-plugin-1 ") {
		t.Errorf("there are %v, want those of the two plugins, the link and the other", now)
	}
	first.Kill()
	must(t, second.Stop(t.Context()))
	if now := strings.Join(names(), " "); now != "ir-plugin-link other" {
		t.Errorf("at the end there are %s", now)
	}
}

// Fifty restarts leave nothing: no goroutine, no file, no process, no folder.
func TestRestartsLeaveNothing(t *testing.T) {
	folder := testplugin.Build(t)
	base := socketBase(t)
	sums := &plugin.Sums{}
	round := func(i int) {
		names := []string{"good", "grandchild", "exits", "forged", "prints-first", "handshake-exits", "late-exit"}
		name := names[i%len(names)]
		path := filepath.Join(folder.Path, name)
		if _, err := os.Stat(path); err != nil {
			folder.Add(t, name)
		}
		p, err := plugin.Dial(t.Context(), plugin.Launch{Path: path, Sums: sums, SocketFolder: base, Output: io.Discard})
		if err != nil {
			if name == "good" || name == "grandchild" {
				t.Fatal(err)
			}
			return
		}
		switch i % 3 {
		case 0:
			must(t, p.Stop(t.Context()))
		case 1:
			must(t, syscall.Kill(p.PID(), syscall.SIGKILL))
			eventually(t, "the end", p.Done())
		default:
			_, _ = p.Provider().Sweep(t.Context(), provider.SweepRequest{})
			p.Kill()
		}
	}
	round(0)
	goroutines, files := runtime.NumGoroutine(), openFilesOf(t)
	for i := range 50 {
		round(i)
	}
	until(t, "the goroutines are as many as before", func() bool { return runtime.NumGoroutine() <= goroutines })
	until(t, "the open files are as many as before", func() bool { return openFilesOf(t) <= files })
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("the folders %v are left (%v)", left, err)
	}
	binaries, err := os.ReadDir(folder.Path)
	must(t, err)
	for _, b := range binaries {
		if left := processesOf(t, filepath.Join(folder.Path, b.Name())); len(left) > 0 {
			t.Errorf("the processes %v of %s are left", left, b.Name())
		}
	}
}

func openFilesOf(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// An author's plugin runs in a debugger: hosts come and go, it stays.
func TestAttach(t *testing.T) {
	folder := testplugin.Build(t)
	path, _ := folder.Add(t, "good")
	author := exec.Command(path, "serve", "--debug")
	author.Env = append(os.Environ(), "TMPDIR="+socketBase(t))
	_, line := host(t, author)
	text := strings.Trim(strings.TrimPrefix(line(), plugin.EnvAttach+"="), "'")
	all, err := plugin.ParseAttachments(text)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v in %q", err, text)
	}

	other := exec.Command(folder.Host, "attach", text)
	_, said := host(t, other)
	said()
	must(t, other.Process.Kill())
	_ = other.Wait()

	attach := func() *plugin.Plugin {
		p, err := plugin.Attach(t.Context(), all["toy"])
		must(t, err)
		if _, err := p.Provider().Sweep(t.Context(), provider.SweepRequest{}); err != nil {
			t.Errorf("a verb of an attached plugin: %v", err)
		}
		return p
	}
	for name, end := range map[string]func(p *plugin.Plugin){
		"stop": func(p *plugin.Plugin) { must(t, p.Stop(t.Context())) },
		"kill": func(p *plugin.Plugin) { p.Kill() },
	} {
		p := attach()
		if p.PID() != author.Process.Pid || p.Description().Facts.Name != "toy" {
			t.Errorf("%s: process %d, described as %v", name, p.PID(), p.Description())
		}
		end(p)
		eventually(t, "the end of the connection", p.Done())
		if !running(author.Process.Pid) {
			t.Fatalf("%s: the author's plugin ended", name)
		}
	}
	p := attach()
	must(t, author.Process.Kill())
	eventually(t, "the connection is seen to break", p.Done())
	if p.Err() == nil {
		t.Error("the plugin is gone, and Err says nothing")
	}
	_, err = plugin.Attach(t.Context(), all["toy"])
	var e *plugin.StartError
	if !errors.As(err, &e) || e.Reason != plugin.ReasonStartFailed {
		t.Errorf("attaching to what is gone: %v", err)
	}
	gone := all["toy"]
	must(t, os.RemoveAll(filepath.Dir(gone.Socket)))
	_, again := plugin.Attach(t.Context(), gone)
	const want = "the plugin to attach to does not answer: no plugin is at its socket; start it again with serve --debug and give its new line to the operator"
	if err == nil || err.Error() != want || again == nil || again.Error() != want {
		t.Errorf("it says %q, and with its folder gone, too, %q, want %q", err, again, want)
	}
}

func TestParseAttachments(t *testing.T) {
	for name, c := range map[string]struct {
		reason, text string
		want         int
		fails        bool
	}{
		"none":     {reason: "the variable is not set", text: " "},
		"one":      {reason: "as a plugin prints it", text: `{"toy":{"protocol":1,"pid":7,"socket":"/tmp/s"}}`, want: 1},
		"no JSON":  {reason: "the quotes were lost", text: `{toy:{}}`, fails: true},
		"no path":  {reason: "it depends on the working folder", text: `{"toy":{"protocol":1,"pid":7,"socket":"s"}}`, fails: true},
		"no pid":   {reason: "one must see what is attached to", text: `{"toy":{"protocol":1,"socket":"/s"}}`, fails: true},
		"a number": {reason: "no object", text: `7`, fails: true},
	} {
		all, err := plugin.ParseAttachments(c.text)
		if len(all) != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v: %s", name, all, err, c.reason)
		}
	}
	text, err := json.Marshal(map[string]plugin.Attachment{"toy": {Protocol: 1, PID: 7, Socket: "/tmp/s"}})
	must(t, err)
	if all, err := plugin.ParseAttachments(string(text)); err != nil || all["toy"].PID != 7 {
		t.Errorf("what was written is not read back: %v, %v", all, err)
	}
}
