// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

func TestInstall(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "infrared")
	must(t, 0, os.WriteFile(filepath.Join(from, "toy"), []byte("a plugin"), 0o600))
	for range 2 { // a second time, over the first
		if err := Install(from, "toy", to); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{"plugin": filepath.Join(to, "plugins", "toy"), "program": filepath.Join(to, Program)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 || info.Size() == 0 {
			t.Errorf("the %s: %v, %v", name, info, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(to, "*", ".part-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for name, want := range map[string]string{"eks": "has no plugin", "../toy": "no file's name", "": "no file's name", "..": "no file's name"} {
		if err := Install(from, name, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("plugin %q: %v, want %q", name, err, want)
		}
	}
}

func TestReadCredentials(t *testing.T) {
	folder := t.TempDir()
	must(t, 0, os.MkdirAll(filepath.Join(folder, "..2026"), 0o700))
	for name, text := range map[string]string{"..2026/A_KEY": "k\n", ".hidden": "x", "B_KEY": "two\nlines\n\n"} {
		must(t, 0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	must(t, 0, os.Symlink("..2026", filepath.Join(folder, "..data")))
	must(t, 0, os.Symlink("..data/A_KEY", filepath.Join(folder, "A_KEY")))
	c, err := readCredentials(folder)
	if err != nil || c.Values["A_KEY"].Reveal() != "k" || c.Values["B_KEY"].Reveal() != "two\nlines\n" || len(c.Values) != 2 || c.Folder != folder {
		t.Errorf("read %v: %v", c.Names(), err)
	}
}

func TestOutput(t *testing.T) {
	var shown strings.Builder
	o := &output{red: newRedactor(provider.Credentials{}), to: &shown}
	line := strings.Repeat("x", 1000)
	for i := range 3000 {
		_, _ = fmt.Fprintf(o, "%d %s\n", i, line)
	}
	log := o.log(largestLog)
	if len(log) > largestLog || len(log) < largestLog-2000 || !strings.HasSuffix(log, "2999 "+line+"\n") {
		t.Errorf("the log has %d bytes, and ends with %q", len(log), log[len(log)-20:])
	}
	if first, _, _ := strings.Cut(log, " "); first == "" || strings.Contains(first, "x") {
		t.Errorf("the log begins in the middle of a line: %q", first)
	}
	if len(o.kept) > 2*largestLog || shown.Len() < 3_000_000 {
		t.Errorf("%d bytes are kept, %d shown", len(o.kept), shown.Len())
	}
	if small := o.log(10); len(small) > 10 {
		t.Errorf("a log of 10 bytes has %d", len(small))
	}
	if !o.news() || o.news() {
		t.Error("there is news once")
	}
}

// The ledger has each thing once, and none that is gone.
func TestLedgerNotes(t *testing.T) {
	l := &ledger{objects: &objects{}, wake: make(chan struct{}, 1)}
	thing := func(kind, id, why string) *provider.Resource { return &provider.Resource{Kind: kind, ID: id, Why: why} }
	for _, e := range []provider.Event{
		{Kind: provider.EventDone, Operation: provider.OperationCreate, Resource: thing("disk", "1", "first")},
		{Kind: provider.EventStarted, Operation: provider.OperationCreate, Resource: thing("disk", "2", "only begun")},
		{Kind: provider.EventDone, Operation: provider.OperationCreate, Resource: thing("node", "1", "of another kind")},
		{Kind: provider.EventDone, Operation: provider.OperationCreate, Resource: thing("disk", "3", "")},
		{Kind: provider.EventDone, Operation: provider.OperationCreate, Resource: thing("disk", "1", "second")},
		{Kind: provider.EventDone, Operation: provider.OperationRead, Resource: thing("disk", "4", "data")},
		{Kind: provider.EventDone, Operation: provider.OperationDelete, Resource: thing("disk", "3", "")},
		{Kind: provider.EventDone, Operation: provider.OperationDelete, Resource: thing("disk", "5", "")},
		{Kind: provider.EventDone, Operation: provider.OperationCreate},
	} {
		l.note(e)
	}
	want := []provider.Resource{*thing("node", "1", "of another kind"), *thing("disk", "1", "second")}
	if diff := cmp.Diff(want, l.snapshot().Made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

// What does not fit into an object is shortened where it can be.
func TestBounds(t *testing.T) {
	var things []provider.Resource
	for range 8_000 {
		things = append(things, provider.Resource{Kind: "disk", ID: fmt.Sprintf("%x", noise(200))})
	}
	outcome := run.Outcome{Resources: things, Failure: &run.Failure{Reason: "X"}}
	packed, err := packOutcome(outcome)
	must(t, 0, err)
	var back run.Outcome
	must(t, 0, run.Unpack(packed, &back))
	if len(packed) > largestOutcome || len(back.Resources) < 1000 || back.Failure == nil || len(outcome.Resources) != 8_000 {
		t.Errorf("packed into %d bytes with %d things", len(packed), len(back.Resources))
	}
	l := run.Ledger{Made: things[:4_000], Applied: &run.Outcome{Resources: things, Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}}, LeftBehind: things[4_000:]}
	packed, err = packLedger(l)
	must(t, 0, err)
	var kept run.Ledger
	must(t, 0, run.Unpack(packed, &kept))
	if len(kept.Made) != 4_000 || kept.Applied == nil || len(kept.Applied.Outputs) != 1 || len(l.Applied.Resources) != 8_000 {
		t.Errorf("kept %d things of the ledger, applied %v", len(kept.Made), kept.Applied != nil)
	}
	if _, err := packLedger(run.Ledger{Made: things}); err == nil || !strings.Contains(err.Error(), "8000 things") {
		t.Errorf("a ledger that fits nowhere: %v", err)
	}
}

func TestRedactor(t *testing.T) {
	r := newRedactor(provider.Credentials{Values: map[string]provider.Secret{
		"AWS_REGION": provider.NewSecret("us-east-1"), "KEY": provider.NewSecret("S3CR3T"), "LONGER": provider.NewSecret("S3CR3T-and-more"),
		"SHORT": provider.NewSecret("abc"), "PEM": provider.NewSecret("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n"),
	}}, "token-of-the-proxy")
	for name, test := range map[string]struct{ in, want string }{
		"plain":       {"a S3CR3T b", "a [redacted] b"},
		"longer":      {"S3CR3T-and-more", "[redacted]"},
		"base64":      {"UzNDUjNU", "[redacted]"},
		"one line":    {"x MIIEvQIBADANBgkqhkiG9w0 y", "x [redacted] y"},
		"region":      {"in us-east-1", "in us-east-1"},
		"short":       {"abc", "abc"},
		"more":        {"token-of-the-proxy", "[redacted]"},
		"no progress": {"nothing", "nothing"},
	} {
		if got := r.text(test.in); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	value := json.RawMessage(`{"a":["S3CR3T", 1],"S3CR3T":true}`)
	if got := string(r.value(value)); got != `{"[redacted]":true,"a":["[redacted]",1]}` {
		t.Errorf("a value with secrets: %s", got)
	}
	if same := json.RawMessage(`{ "big" : 12345678901234567890 }`); string(r.value(same)) != string(same) {
		t.Errorf("a value without secrets changes: %s", r.value(same))
	}
}

// A flood of events costs twenty lines.
func TestProgressIsBounded(t *testing.T) {
	p := newProgress(nil, &output{}, nil)
	for i := range 1000 {
		p.note(provider.Event{Kind: provider.EventMessage, Time: time.Unix(int64(i), 0), Message: fmt.Sprint(i)})
	}
	events := p.newest().Events
	if len(events) != mostEvents || events[mostEvents-1].Message != "999" || p.hasNews() {
		t.Errorf("%d events, the last %+v", len(events), events[len(events)-1])
	}
}
