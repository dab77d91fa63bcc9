// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"

	"darkshift.io/infrared/sdk/plugin"
	"darkshift.io/infrared/sdk/provider"
)

// TestServe runs a real program, compiled once.
func TestServe(t *testing.T) {
	path := buildProgram(t)
	for name, test := range map[string]func(*testing.T, string){
		"the handshake comes first":                     handshakeComesFirst,
		"the handshake gets through a crowd":            handshakeGetsThroughACrowd,
		"what is printed goes to standard error":        printsGoToStandardError,
		"the last words are not lost":                   lastWordsAreNotLost,
		"by hand":                                       byHandArguments,
		"a host that is killed":                         hostIsKilled,
		"a stubborn verb":                               stubbornVerb,
		"a signal":                                      signalEndsInOrder,
		"a parent that is none":                         parentThatIsNone,
		"children know nothing of the host":             childrenKnowNothing,
		"a host that only knows go-plugin":              plainGoPluginHost,
		"no folder for the socket":                      noFolderForTheSocket,
		"debugging":                                     debugging,
		"debugging where the socket's path is too long": debuggingWithLongPath,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, path)
		})
	}
}

func handshakeComesFirst(t *testing.T, path string) {
	h := launch(t, exec.Command(path))
	h.handshake(t)
	h.waitPrinted(t, "noise: kept: from main")
	want := "noise: from a variable\nnoise: from init, without an end of line noise: from the runtime\n" +
		"noise: to file descriptor 1\nnoise: kept: from init\nnoise: kept: from main\n"
	if diff := cmp.Diff(want, h.printed.String()); diff != "" {
		t.Errorf("what was printed before Serve is not all on standard error (-want +got):\n%s", diff)
	}
}

// Goroutines print all the time while go-plugin prints the handshake to the same os.Stdout.
func handshakeGetsThroughACrowd(t *testing.T, path string) {
	for range 10 {
		h := launch(t, exec.Command(path), "BEHAVIOUR=chatty")
		h.handshake(t)
		if _, err := h.provider().Sweep(t.Context(), provider.SweepRequest{}); err != nil {
			t.Fatal(err)
		}
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		h.exit(t)
		if rest, _ := h.lines.ReadString(0); rest != "" {
			t.Fatalf("the host got more than the handshake: %.200q", rest)
		}
	}
}

func printsGoToStandardError(t *testing.T, path string) {
	h := launch(t, exec.Command(path))
	h.handshake(t)
	if _, err := h.provider().Connect(t.Context(), provider.ConnectRequest{}); err != nil {
		t.Fatal(err)
	}
	h.waitPrinted(t, "noise: kept: printed in Connect\n")
	h.waitPrinted(t, "printed in Connect\nprinted to standard error in Connect\n")
}

func lastWordsAreNotLost(t *testing.T, path string) {
	h := launch(t, exec.Command(path))
	h.handshake(t)
	_, err := h.provider().Snapshot(t.Context(), provider.SnapshotRequest{})
	if e := typed(t, err); e.Kind != provider.Unavailable {
		t.Errorf("the plugin ended in the call: %s: %s", e.Kind, e.Message)
	}
	if code := h.exit(t); code != 3 {
		t.Errorf("the exit code is %d, want the author's 3", code)
	}
	h.waitPrinted(t, "last words on standard output\nlast words on standard error\n")
}

func byHandArguments(t *testing.T, path string) {
	description, err := json.MarshalIndent(provider.Description{Facts: provider.Facts{Name: "program", Version: "v0.1.0"}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	cookie := plugin.MagicCookieKey + "=" + plugin.MagicCookieValue
	const usage = "This program is an Infrared provider plugin: Infrared starts it. By hand:\n\n" +
		"  program describe        prints what the provider says about itself, as JSON\n" +
		"  program serve --debug   serves until Ctrl-C, for an Infrared that attaches to it\n"
	for name, c := range map[string]struct {
		reason string
		args   []string
		env    []string
		code   int
		// stdout is the end of standard output, stderr of standard error.
		stdout, stderr string
	}{
		"describe":             {"the facts, for people and scripts", []string{"describe"}, nil, 0, string(description) + "\n", ""},
		"describe by a host":   {"the cookie in a person's shell changes nothing", []string{"describe"}, []string{cookie}, 0, string(description) + "\n", ""},
		"bad facts":            {"one line with the field", []string{"describe"}, []string{"BEHAVIOUR=bad-facts"}, 1, "", "the facts are not valid: templates[0].name: \"other/cluster\" is no template's name: it is the provider's, a slash and the template's own, such as program/cluster\n"},
		"bad facts for a host": {"the host finds the line in what the plugin printed", nil, []string{"BEHAVIOUR=bad-facts", cookie}, 1, "", "such as program/cluster\n"},
		"no provider":          {"a mistake in main", nil, []string{"BEHAVIOUR=no-provider", cookie}, 1, "", "Serve was called without a provider\n"},
		"twice":                {"a mistake in main", nil, []string{cookie, "BEHAVIOUR=twice"}, 1, "", "Serve was called a second time; a program serves one provider\n"},
		"nothing":              {"somebody started it by hand", nil, nil, 2, "", usage},
		"another cookie":       {"it is another program's plugin", nil, []string{plugin.MagicCookieKey + "=x"}, 2, "", usage},
		"another word":         {"say what there is", []string{"serve"}, nil, 2, "", usage},
		"one word too many":    {"say what there is", []string{"describe", "all"}, []string{cookie}, 2, "", usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(path, c.args...)
			cmd.Env = append([]string{"TMPDIR=" + t.TempDir()}, c.env...)
			stdout, stderr := &logged{}, &logged{}
			cmd.Stdout, cmd.Stderr = stdout, stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d: %s", got, c.code, c.reason)
			}
			if !strings.HasSuffix(stdout.String(), c.stdout) || !strings.HasSuffix(stderr.String(), c.stderr) {
				t.Errorf("%s\nstandard output:\n%s\nstandard error:\n%s", c.reason, stdout, stderr)
			}
			if len(c.env) > 0 && c.env[len(c.env)-1] == cookie && stdout.String() != c.stdout {
				t.Errorf("standard output has more than what it is for:\n%s", stdout)
			}
		})
	}
}

// begun starts a build, and waits until it runs.
func (h *byHand) begun(t *testing.T, folder string) (*events, <-chan error) {
	t.Helper()
	told, done := &events{}, make(chan error, 1)
	started := make(chan struct{})
	go func() {
		_, err := h.provider().Build(t.Context(), provider.BuildRequest{Folder: folder}, both{told, started})
		done <- err
	}()
	eventually(t, "the build's begin", started)
	return told, done
}

// both keeps the events, and closes a channel at the first.
type both struct {
	*events
	first chan struct{}
}

func (b both) Report(e provider.Event) {
	if len(b.messages()) == 0 {
		close(b.first)
	}
	b.events.Report(e)
}

// A host that is killed reads nothing any more, so each line that the plugin prints is a SIGPIPE.
func hostIsKilled(t *testing.T, path string) {
	h, folder := launch(t, exec.Command(path)), t.TempDir()
	h.handshake(t)
	h.begun(t, folder)
	h.leave()
	if code := h.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if _, err := os.Stat(filepath.Join(folder, "wound-down")); err != nil {
		t.Errorf("the build was cut in the middle of winding down: %v", err)
	}
	h.noSocket(t)
}

func stubbornVerb(t *testing.T, path string) {
	h := launch(t, exec.Command(path))
	h.handshake(t)
	swept := make(chan error, 1)
	go func() {
		_, err := h.provider().Sweep(t.Context(), provider.SweepRequest{Cluster: provider.Cluster{Name: "stubborn"}})
		swept <- err
	}()
	h.waitPrinted(t, "stubborn\n")
	_ = h.parent.Close()
	if code := h.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if e := typed(t, eventually(t, "the call's end", swept)); e.Kind != provider.Unavailable {
		t.Errorf("the call that was cut: %s: %s", e.Kind, e.Message)
	}
	h.waitPrinted(t, "the plugin ends although a verb does not stop: still running Sweep\n")
	h.noSocket(t)
}

// The signal comes to the plugin alone: its host is there, and gets what ran to its end.
func signalEndsInOrder(t *testing.T, path string) {
	h, folder := launch(t, exec.Command(path)), t.TempDir()
	h.handshake(t)
	told, done := h.begun(t, folder)
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := eventually(t, "the build's end", done); err != nil {
		t.Errorf("the build's end did not arrive: %v", err)
	}
	if got := len(told.messages()); got != 51 {
		t.Errorf("%d events, want 51", got)
	}
	if code := h.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	h.noSocket(t)
}

func parentThatIsNone(t *testing.T, path string) {
	for value, want := range map[string]string{
		"x":  `INFRARED_PARENT_FD is "x": it must be the number of an open pipe that the host holds the other end of`,
		"1":  `INFRARED_PARENT_FD is "1": it must be the number of an open pipe that the host holds the other end of`,
		"77": `INFRARED_PARENT_FD is 77, which is not open: the host must pass that pipe on`,
	} {
		h := launch(t, exec.Command(path), plugin.EnvParent+"="+value)
		if code := h.exit(t); code != 1 {
			t.Errorf("%s: exit code %d, want 1", value, code)
		}
		h.waitPrinted(t, want)
	}
}

func childrenKnowNothing(t *testing.T, path string) {
	h := launch(t, exec.Command(path), "INFRARED_LAUNCH=marker")
	h.handshake(t)
	connection, err := h.provider().Connect(t.Context(), provider.ConnectRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "INFRARED_LAUNCH PATH"; connection.Version != want {
		t.Errorf("the environment has %s, want %s", connection.Version, want)
	}
	found, err := h.provider().Confirm(t.Context(), provider.ConfirmRequest{})
	if err != nil {
		t.Fatal(err)
	}
	// Some are open in every program that this test's own parent started.
	everywhere, err := exec.Command("/bin/sh", "-c", "echo /proc/$$/fd/*").Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(openFiles(string(everywhere)), openFiles(found.Present[0].Why)); diff != "" {
		t.Errorf("a child inherits file descriptors of the plugin (-want +got):\n%s", diff)
	}
	if env := found.Present[0].Why; !strings.Contains(env, "INFRARED_LAUNCH=marker") || strings.Contains(env, plugin.MagicCookieKey) || strings.Contains(env, "PLUGIN_") {
		t.Errorf("a child's environment:\n%s", env)
	}
}

// openFiles are the file descriptors that the first line of a shell lists.
func openFiles(text string) []string {
	line, _, _ := strings.Cut(text, "\n")
	var numbers []string
	for _, file := range strings.Fields(line) {
		numbers = append(numbers, filepath.Base(file))
	}
	return numbers
}

// Other hosts may start a plugin with go-plugin as it comes.
func plainGoPluginHost(t *testing.T, path string) {
	sockets, err := os.MkdirTemp("", "ir-test-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	printed := &logged{}
	c := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: plugin.MagicCookieKey, MagicCookieValue: plugin.MagicCookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{1: {}},
		Cmd:              exec.Command(path), SkipHostEnv: true, AutoMTLS: true, Stderr: printed,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: sockets},
		Logger:           hclog.NewNullLogger(),
	})
	t.Cleanup(c.Kill)
	protocol, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := protocol.Ping(); err != nil {
		t.Errorf("ping: %v", err)
	}
	conn := protocol.(*goplugin.GRPCClient).Conn
	d, err := plugin.Describe(t.Context(), conn)
	if err != nil || d.Facts.Name != "program" {
		t.Fatalf("%v, %v", d, err)
	}
	if _, err := plugin.NewClient(conn, nil).Connect(t.Context(), provider.ConnectRequest{}); err != nil {
		t.Error(err)
	}
	c.Kill()
	if !c.Exited() {
		t.Error("the plugin is still there after Kill")
	}
	if !strings.Contains(printed.String(), "printed in Connect") {
		t.Errorf("what the plugin printed did not come:\n%s", printed)
	}
	left, err := filepath.Glob(sockets + "/*/*")
	if err != nil || len(left) > 0 {
		t.Errorf("sockets are left: %q, %v", left, err)
	}
}

func noFolderForTheSocket(t *testing.T, path string) {
	h := launch(t, exec.Command(path), "PLUGIN_UNIX_SOCKET_DIR=/nonexistent")
	if code := h.exit(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	h.waitPrinted(t, "no such file or directory")
	h.waitPrinted(t, "the plugin could not begin to serve; the line before says why\n")
}
