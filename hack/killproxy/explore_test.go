// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// toyScenario is a toy of a kind on an empty server. Its end is the names of what is there.
func toyScenario(t *testing.T, s *toyServer, kind string) Scenario {
	t.Helper()
	born := &births{}
	proxy := newToyProxy(t, s)
	return Scenario{
		Proxy:   proxy,
		Command: toyCommand(t, proxy, kind, born),
		Prepare: func(context.Context, int) error { s.reset(); return nil },
		Job: func(ctx context.Context, _ int) error {
			return s.wait(ctx, func(objects map[string]string) bool { return objects[donePath] != "" })
		},
		End: func(ctx context.Context, _ int) (string, error) {
			err := s.wait(ctx, func(objects map[string]string) bool { return objects[donePath] == born.latest() })
			return s.names(), err
		},
		Timeout: time.Minute,
	}
}

func TestExploreToy(t *testing.T) {
	cases := map[string]struct {
		reason   string
		kind     string
		writes   []string
		rows     int
		problems []string // a part of each, in order
	}{
		"Good": {
			reason: "a program that looks before it writes comes to the same end from every kill",
			kind:   "good",
			writes: []string{
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"delete /api/v1/namespaces/toy/secrets/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
			},
			rows: 8,
		},
		"Forgetful": {
			reason: "a program that adds again what it had added is found out after its first write, and only there",
			kind:   "forgetful",
			writes: []string{
				"create /api/v1/namespaces/toy/configmaps",
				"update /api/v1/namespaces/toy/configmaps/{name}",
			},
			rows: 4,
			problems: []string{
				"killed before write 2 (update /api/v1/namespaces/toy/configmaps/{name}): ended as",
				"killed after write 1 (create /api/v1/namespaces/toy/configmaps): ended as",
				"killed after write 2 (update /api/v1/namespaces/toy/configmaps/{name}): ended as",
			},
		},
		"Fragile": {
			reason: "a program that ends by itself is a problem of that run, with its exit status, well before the time-out",
			kind:   "fragile",
			writes: []string{
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"delete /api/v1/namespaces/toy/secrets/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
			},
			rows: 8,
			problems: []string{
				"killed before write 2 (update /api/v1/namespaces/toy/configmaps/{name}): the program ended by itself: exit status 1",
				"killed before write 3",
				"killed before write 4",
				"killed after write 1",
				"killed after write 2",
				"killed after write 3",
				"killed after write 4",
			},
		},
		"Moody": {
			reason: "writes that change places between runs are found by name where counting met another one twice",
			kind:   "moody",
			writes: []string{
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"delete /api/v1/namespaces/toy/secrets/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
			},
			rows: 8,
		},
		"Shy": {
			reason: "a write that never comes again is named as one without a row; the number it made the run longer by is no gap of its own",
			kind:   "shy",
			writes: []string{
				"update /api/v1/namespaces/toy/configmaps/{name}",
				"delete /api/v1/namespaces/toy/secrets/{name}",
				"update /api/v1/namespaces/toy/configmaps/{name}",
			},
			rows: 4,
			problems: []string{
				"no run was killed before delete /api/v1/namespaces/toy/secrets/{name}",
				"no run was killed after delete /api/v1/namespaces/toy/secrets/{name}",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newToyServer(t)
			report, err := Explore(t.Context(), toyScenario(t, server, tc.kind))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			t.Log("\n" + report.Table())
			var writes []string
			for _, w := range report.Writes {
				writes = append(writes, w.String())
			}
			if diff := cmp.Diff(tc.writes, writes); diff != "" {
				t.Errorf("%s: writes, -want +got:\n%s", tc.reason, diff)
			}
			if len(report.Rows) != tc.rows {
				t.Errorf("%s: want %d rows, got %d", tc.reason, tc.rows, len(report.Rows))
			}
			problems := report.Problems()
			if len(problems) != len(tc.problems) {
				t.Fatalf("%s: want %d problems, got %q", tc.reason, len(tc.problems), problems)
			}
			for i, want := range tc.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("%s: want problem %q, got %q", tc.reason, want, problems[i])
				}
			}
		})
	}
}

func TestExploreCannot(t *testing.T) {
	server := newToyServer(t)
	cases := map[string]struct {
		reason string
		change func(*Scenario)
		want   string
	}{
		"NoSuchProgram": {
			reason: "a program that cannot be started is no finding about kills",
			change: func(s *Scenario) { s.Command = func() *exec.Cmd { return exec.Command("/no/such/program") } },
			want:   "the first run without a kill: starting the program",
		},
		"BrokenWorld": {
			reason: "a world that cannot be made ready is no finding either",
			change: func(s *Scenario) {
				s.Prepare = func(context.Context, int) error { return errors.New("no room") }
			},
			want: "preparing run 0: no room",
		},
		"WrongAtOnce": {
			reason: "a job that fails without any kill has nothing to compare kills with",
			change: func(s *Scenario) {
				s.Job = func(context.Context, int) error { return errors.New("not done") }
			},
			want: "the first run without a kill: not done",
		},
		"PastTheProxy": {
			reason: "a program that goes past the proxy would pass every kill, so no writes at all is an error",
			change: func(s *Scenario) {
				direct := newToyProxy(t, server)
				s.Command = toyCommand(t, direct, "good", &births{})
				s.End = func(context.Context, int) (string, error) { return "", nil }
			},
			want: "made no write through the proxy",
		},
		"TooSlow": {
			reason: "a job that never ends is cut off, and the error says after how long",
			change: func(s *Scenario) {
				s.Timeout = 50 * time.Millisecond
				s.Job = func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }
			},
			want: "the job was not done within 50ms",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := toyScenario(t, server, "good")
			tc.change(&s)
			_, err := Explore(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

func TestRun(t *testing.T) {
	report := Run(t, toyScenario(t, newToyServer(t), "good"))
	if got := report.Problems(); len(got) != 0 {
		t.Errorf("a good program has no problems, got %q", got)
	}
}
