// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

func TestProse(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"as it is": {"nothing is wrong with it", "Région « é », 東京", "Région « é », 東京"},
		"lines":    {"a message is one line", "a\nb\tc", "a b c"},
		"colours":  {"it is shown on terminals", "a\x1b[31mb\x00", "a [31mb "},
		"reversed": {"it must read as it is written", "a\u202eb", "a b"},
		"no UTF-8": {"it could not be stored", "a\xffb", "a\ufffdb"},
		"long":     {"the rest is left out", strings.Repeat("x", 40), strings.Repeat("x", 29) + "…"},
		"cut":      {"no character is cut in half", strings.Repeat("é", 40), strings.Repeat("é", 14) + "…"},
	} {
		if got := prose(c.text, 32); got != c.want {
			t.Errorf("%s: got %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}

// TestTextsOfAnswers is that no answer brings in a text that is endless or unfit for a terminal, whatever list it is in.
func TestTextsOfAnswers(t *testing.T) {
	const dirty, clean = "because\n\x1b[31m", "because  [31m"
	long := strings.Repeat("x", 2<<20)
	resource := func() provider.Resource {
		return provider.Resource{Kind: "disk", ID: "vol-1", Name: dirty, Why: dirty, Proof: provider.ProofLabel}
	}
	tidy := resource()
	tidy.Name, tidy.Why = clean, clean
	parts := []provider.NotLooked{{What: dirty, Where: dirty, Why: dirty}}
	tidyParts := []provider.NotLooked{{What: clean, Where: clean, Why: clean}}
	findings := func() provider.Findings {
		one := func() []provider.Finding { return []provider.Finding{{Resource: resource(), Why: dirty, State: dirty}} }
		return provider.Findings{Present: one(), Absent: one(), Unknown: one(), Backups: one(), NotLooked: append([]provider.NotLooked{}, parts...)}
	}
	one := []provider.Finding{{Resource: tidy, Why: clean, State: clean}}
	want := provider.Findings{Present: one, Absent: one, Unknown: one, Backups: one, NotLooked: tidyParts}
	swept, err := checkSweep(findings())
	if diff := cmp.Diff(want, swept); diff != "" || err != nil {
		t.Errorf("Sweep: %v (-want +got):\n%s", err, diff)
	}
	confirmed, err := checkConfirm(provider.ConfirmRequest{}, findings())
	if diff := cmp.Diff(want, confirmed); diff != "" || err != nil {
		t.Errorf("Confirm: %v (-want +got):\n%s", err, diff)
	}

	snapshots := func(restore, id string) ([]provider.Snapshot, error) {
		r := resource()
		r.ID = id
		return checkSnapshot(provider.SnapshotRequest{Disks: []provider.Disk{{Volume: "pv"}}},
			[]provider.Snapshot{{Disk: provider.Disk{Volume: "pv"}, State: provider.SnapshotReady, Why: dirty, Resource: &r, Restore: restore}})
	}
	made, err := snapshots("restore it", "vol-1")
	if err != nil || made[0].Why != clean || made[0].Resource.Why != clean {
		t.Errorf("Snapshot: %v %+v", err, made)
	}
	for name, c := range map[string]struct{ reason, restore, id, want string }{
		"a command of lines": {"people run it", "a\nb", "vol-1", `the answer for disk "pv": the command that restores it has characters that can't be seen`},
		"a huge ID":          {"it is written down", "a", long, `the answer for disk "pv": a resource's ID is longer than 1024 bytes`},
	} {
		if _, err := snapshots(c.restore, c.id); said(err) != c.want {
			t.Errorf("%s: got %q, want %q: %s", name, said(err), c.want, c.reason)
		}
	}
	identity, err := checkVerify(provider.Identity{Account: "1", Missing: []string{dirty}, NotLooked: append([]provider.NotLooked{}, parts...)})
	if diff := cmp.Diff(provider.Identity{Account: "1", Missing: []string{clean}, NotLooked: tidyParts}, identity); diff != "" || err != nil {
		t.Errorf("Verify: %v (-want +got):\n%s", err, diff)
	}
}

func TestTidied(t *testing.T) {
	var parts []provider.NotLooked
	for i := range 100 {
		parts = append(parts, provider.NotLooked{What: fmt.Sprint(i)})
	}
	if got := tidied(parts); len(got) != 100 || got[99].What != "99" {
		t.Errorf("a hundred parts became %d, and the last %+v", len(got), got[len(got)-1])
	}
	got := tidied(append(parts, provider.NotLooked{What: "100"}))
	if len(got) != 100 || got[98].What != "98" || got[99].What != "2 more parts" {
		t.Errorf("101 parts became %d, and the last %+v, want it to say that two are left out", len(got), got[len(got)-1])
	}
}

// TestErrorsAreFit is that a plugin's error is one that can be stored, and else the plugin's own.
func TestErrorsAreFit(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(serving(fails{err: provider.Invalidf("variables.region", "no\n\x1b[31m%s", strings.Repeat("x", 1<<20))}))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		synctest.Wait()
		_, err := callConnect(t, w.host.Provider("eks", "aws"))
		var e *provider.Error
		if !errors.As(err, &e) || e.Kind != provider.Invalid || e.Field != "variables.region" || errors.Is(err, ErrUnusable) {
			t.Fatalf("got %v, want the plugin's own error", err)
		}
		if len(e.Message) > longestError || !visible(e.Message) {
			t.Errorf("the message has %d bytes and begins with %q", len(e.Message), e.Message[:40])
		}
	})
}

// TestAnotherCloud is that a plugin gets no call that is meant for another cloud's.
func TestAnotherCloud(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		w.change(serving(answers{}))
		w.host.Ensure("eks", Spec{Binary: "eks"})
		for _, cloud := range []string{"aws", ""} {
			if _, err := callConnect(t, w.host.Provider("eks", cloud)); err != nil {
				t.Errorf("a call for %q fails with %v, and it is for aws", cloud, err)
			}
		}
		waiting := newBlocks()
		w.change(serving(waiting))
		w.host.Ensure("eks", Spec{Binary: "eks", SHA256: "2"})
		synctest.Wait()
		_, err := callConnect(t, w.host.Provider("eks", "gcp"))
		const want = "the plugin eks is for provider aws now, not gcp"
		if said(err) != want || !errors.Is(err, ErrUnusable) || provider.KindOf(err) != provider.Unavailable {
			t.Errorf("got %v, want Unavailable, ErrUnusable: %s", err, want)
		}
		if len(waiting.entered) > 0 {
			t.Error("the plugin of another cloud got the call")
		}
	})
}
