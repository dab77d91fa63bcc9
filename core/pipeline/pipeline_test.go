// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pipeline"
)

// world is what the steps of these tests work on: things that stand, and the order in which they went.
type world struct {
	standing map[string]bool
	gone     []string
	blocked  string // why a step can't go on, or ""
	refused  bool
	broken   error
}

func newWorld(things ...string) *world {
	w := &world{standing: map[string]bool{}}
	for _, thing := range things {
		w.standing[thing] = true
	}
	return w
}

// remove is a step that takes one thing away. It looks before it acts.
func remove(thing string) pipeline.Step[*world] {
	return pipeline.Step[*world]{
		Name: thing, Timeout: 15 * time.Minute,
		Run: func(_ context.Context, w *world) (pipeline.Outcome, error) {
			switch {
			case !w.standing[thing]:
				return pipeline.Done(thing + " is gone"), nil
			case w.broken != nil:
				return pipeline.Outcome{}, w.broken
			case w.refused:
				return pipeline.Outcome{Cause: v1alpha1.CauseCloud}, pipeline.Refused(errors.New("the cloud said no"))
			case w.blocked != "":
				return pipeline.Wait(time.Hour, v1alpha1.CauseCluster, w.blocked), nil
			}
			w.standing[thing] = false
			w.gone = append(w.gone, thing)
			return pipeline.Wait(time.Second, v1alpha1.CauseInfrared, "taking "+thing+" away"), nil
		},
		Abandon: func(_ context.Context, w *world) ([]v1alpha1.Leftover, error) {
			if w.broken != nil {
				return nil, w.broken
			}
			return []v1alpha1.Leftover{{Kind: "Thing", ID: thing}}, nil
		},
	}
}

// day is when these tests begin.
func day() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// finish advances until the pipeline has finished, and fails where it does not. Each record goes through keep, which may lose it.
func finish(t *testing.T, p pipeline.Pipeline[*world], w *world, record []v1alpha1.StepStatus, keep func([]v1alpha1.StepStatus) []v1alpha1.StepStatus) []v1alpha1.StepStatus {
	t.Helper()
	for range 100 {
		result := p.Advance(t.Context(), w, &record, day(), nil)
		if result.Finished {
			return record
		}
		if result.After <= 0 {
			t.Fatalf("a pipeline that has not finished says when to go on, got %+v", result)
		}
		record = keep(record)
	}
	t.Fatalf("the pipeline does not end: %+v", record)
	return nil
}

func kept(record []v1alpha1.StepStatus) []v1alpha1.StepStatus { return record }

func clone(record []v1alpha1.StepStatus) []v1alpha1.StepStatus {
	var copied []v1alpha1.StepStatus
	for _, step := range record {
		copied = append(copied, *step.DeepCopy())
	}
	return copied
}

// states are the record in short.
func states(record []v1alpha1.StepStatus) []string {
	var short []string
	for _, step := range record {
		short = append(short, step.Name+" "+string(step.State))
	}
	return short
}

func TestOrder(t *testing.T) {
	w := newWorld("a", "b", "c")
	p := pipeline.Pipeline[*world]{remove("a"), remove("b"), remove("c")}
	record := finish(t, p, w, nil, kept)
	if diff := cmp.Diff([]string{"a", "b", "c"}, w.gone); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a Done", "b Done", "c Done"}, states(record)); diff != "" {
		t.Error(diff)
	}
	if p.Current(record) != nil || record[0].EndedAt == nil || record[0].Message != "a is gone" {
		t.Errorf("the record does not say how it ended: %+v", record)
	}
	// Once more changes nothing.
	before := clone(record)
	if result := p.Advance(t.Context(), w, &record, day(), nil); !result.Finished || !cmp.Equal(before, record) {
		t.Errorf("after the end: %+v %+v", result, record)
	}
}

// TestCrashAtEveryWrite loses the record of the nth move, as when the process dies before it was written, or all of the record, as when
// the status is gone. The end is always the same.
func TestCrashAtEveryWrite(t *testing.T) {
	p := pipeline.Pipeline[*world]{remove("a"), remove("b"), remove("c")}
	lost := map[string]func(before, after []v1alpha1.StepStatus) []v1alpha1.StepStatus{
		"one move": func(before, _ []v1alpha1.StepStatus) []v1alpha1.StepStatus { return before },
		"all":      func(_, _ []v1alpha1.StepStatus) []v1alpha1.StepStatus { return nil },
	}
	for name, lose := range lost {
		for n := range 12 {
			w, moves := newWorld("a", "b", "c"), 0
			var before []v1alpha1.StepStatus
			record := finish(t, p, w, nil, func(after []v1alpha1.StepStatus) []v1alpha1.StepStatus {
				moves++
				if moves == n+1 {
					return lose(clone(before), clone(after))
				}
				before = clone(after)
				return after
			})
			if diff := cmp.Diff([]string{"a", "b", "c"}, w.gone); diff != "" {
				t.Errorf("%s lost at move %d: each goes once and in order:\n%s", name, n, diff)
			}
			if diff := cmp.Diff([]string{"a Done", "b Done", "c Done"}, states(record)); diff != "" {
				t.Errorf("%s lost at move %d:\n%s", name, n, diff)
			}
		}
	}
}

func TestOtherVersions(t *testing.T) {
	w := newWorld("a", "b", "c")
	record := finish(t, pipeline.Pipeline[*world]{remove("a"), remove("c")}, w, nil, kept)
	inserted := pipeline.Pipeline[*world]{remove("a"), remove("b"), remove("c")}
	record = finish(t, inserted, w, record, kept)
	if w.standing["b"] || !slices.Contains(states(record), "b Done") {
		t.Errorf("a step that a newer version inserts is run: %v", states(record))
	}
	removed := pipeline.Pipeline[*world]{remove("a"), remove("c")}
	record = append(record[:1:1], v1alpha1.StepStatus{Name: "old", State: v1alpha1.StepRunning})
	record = finish(t, removed, w, record, kept)
	if diff := cmp.Diff([]string{"a Done", "old Running", "c Done"}, states(record)); diff != "" {
		t.Errorf("the record of a step that is no more stays, and holds nothing up:\n%s", diff)
	}
	if removed.Current(record) != nil {
		t.Error("a step that is no more is not the current one")
	}
}

func TestSkip(t *testing.T) {
	w := newWorld("a", "b")
	skipped := remove("a")
	skipped.Skip = func(*world) string { return "it was only registered" }
	record := finish(t, pipeline.Pipeline[*world]{skipped, remove("b")}, w, nil, kept)
	if diff := cmp.Diff([]string{"a Skipped", "b Done"}, states(record)); diff != "" {
		t.Error(diff)
	}
	if !w.standing["a"] || record[0].Message != "it was only registered" || record[0].EndedAt == nil {
		t.Errorf("a skipped step does nothing and says why: %+v", record[0])
	}
}

func TestReady(t *testing.T) {
	w := newWorld("a")
	what := "move the environments"
	step := remove("a")
	step.Ready = func(*world) string { return what }
	p := pipeline.Pipeline[*world]{step}
	var record []v1alpha1.StepStatus
	now := day()
	for range 5 {
		now = now.Add(time.Hour)
		p.Advance(t.Context(), w, &record, now, nil)
	}
	if got := record[0]; got.State != v1alpha1.StepWaitingOnYou || got.Cause != v1alpha1.CauseYou || got.Message != what || !w.standing["a"] {
		t.Errorf("a step waits for a person however long it takes, and is never Stuck: %+v", got)
	}
	result := p.Advance(t.Context(), w, &record, now, &pipeline.Force{Step: "a", By: "jane"})
	if result.ForceRefused == "" || record[0].State != v1alpha1.StepWaitingOnYou {
		t.Errorf("what waits for a person can't be forced: %+v %+v", result, record[0])
	}
	what = ""
	finish(t, p, w, record, kept)
}

func TestStuck(t *testing.T) {
	w := newWorld("a")
	w.blocked = "something holds it"
	p := pipeline.Pipeline[*world]{remove("a")}
	var record []v1alpha1.StepStatus
	p.Advance(t.Context(), w, &record, day(), nil)
	cases := []struct {
		after time.Duration
		state v1alpha1.StepState
		again time.Duration
	}{
		{0, v1alpha1.StepRunning, 15*time.Minute + time.Second},
		{14*time.Minute + 59*time.Second, v1alpha1.StepRunning, 2 * time.Second},
		{15 * time.Minute, v1alpha1.StepRunning, time.Second},
		{15*time.Minute + time.Second, v1alpha1.StepStuck, time.Hour},
		{24 * time.Hour, v1alpha1.StepStuck, time.Hour},
	}
	for _, tc := range cases {
		result := p.Advance(t.Context(), w, &record, day().Add(tc.after), nil)
		if record[0].State != tc.state || result.After != tc.again || record[0].Cause != v1alpha1.CauseCluster {
			t.Errorf("after %s: %+v, look again in %s; want %s, %s", tc.after, record[0], result.After, tc.state, tc.again)
		}
	}
	w.blocked = ""
	finish(t, p, w, record, kept)
}

func TestErrors(t *testing.T) {
	w := newWorld("a")
	w.broken = errors.New("the API server is away")
	p := pipeline.Pipeline[*world]{remove("a")}
	var record []v1alpha1.StepStatus
	p.Advance(t.Context(), w, &record, day(), nil)
	p.Advance(t.Context(), w, &record, day(), nil)
	if record[0].State != v1alpha1.StepRunning || record[0].Message != "the API server is away" {
		t.Errorf("an ordinary error is tried again: %+v", record[0])
	}
	p.Advance(t.Context(), w, &record, day().Add(time.Hour), nil)
	if record[0].State != v1alpha1.StepStuck {
		t.Errorf("and is Stuck when it lasts: %+v", record[0])
	}
	w.broken, w.refused = nil, true
	p.Advance(t.Context(), w, &record, day(), nil)
	if record[0].State != v1alpha1.StepFailed || record[0].Cause != v1alpha1.CauseCloud || record[0].Message != "the cloud said no" {
		t.Errorf("a refusal is Failed: %+v", record[0])
	}
	w.refused = false
	finish(t, p, w, record, kept)
	if w.standing["a"] {
		t.Error("a Failed step goes on by itself when the cause goes")
	}
}

func TestForce(t *testing.T) {
	stuck := func(w *world, p pipeline.Pipeline[*world]) []v1alpha1.StepStatus {
		w.blocked = "something holds it"
		var record []v1alpha1.StepStatus
		p.Advance(t.Context(), w, &record, day(), nil)
		p.Advance(t.Context(), w, &record, day().Add(time.Hour), nil)
		return record
	}
	unforcible := remove("a")
	unforcible.Abandon = nil
	cases := map[string]struct {
		reason string
		step   pipeline.Step[*world]
		force  string
		early  bool
		broken error
		want   v1alpha1.StepState
		why    string
	}{
		"stuck":       {"a person's word moves it on", remove("a"), "a", false, nil, v1alpha1.StepForced, ""},
		"early":       {"it may still end by itself", remove("a"), "a", true, nil, v1alpha1.StepRunning, "neither Stuck nor Failed"},
		"other step":  {"nobody forces what isn't there yet", remove("a"), "b", false, nil, v1alpha1.StepStuck, "the step now is a, not b"},
		"unforcible":  {"environments are never skipped", unforcible, "a", false, nil, v1alpha1.StepStuck, "can't be forced"},
		"list failed": {"then even that is written down", remove("a"), "a", false, errors.New("no answer"), v1alpha1.StepForced, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, p := newWorld("a", "b"), pipeline.Pipeline[*world]{tc.step, remove("b")}
			record := stuck(w, p)
			if tc.early {
				record[0].State, record[0].StartedAt = v1alpha1.StepRunning, v1alpha1.Seconds(day().Add(time.Hour))
			}
			w.broken = tc.broken
			result := p.Advance(t.Context(), w, &record, day().Add(time.Hour), &pipeline.Force{Step: tc.force, By: "jane"})
			if record[0].State != tc.want || !strings.Contains(result.ForceRefused, tc.why) || (tc.why == "") != (result.ForceRefused == "") {
				t.Fatalf("%s: %+v, refused %q", tc.reason, record[0], result.ForceRefused)
			}
			if tc.want != v1alpha1.StepForced {
				return
			}
			if got := record[0]; got.ForcedBy != "jane" || got.EndedAt == nil || len(got.LeftBehind) != 1 || !strings.Contains(got.Message, "something holds it") {
				t.Errorf("who, when, what is left, and why it was: %+v", got)
			}
			if left := record[0].LeftBehind[0]; tc.broken != nil && (left.Kind != "Unknown" || !strings.Contains(left.Why, "no answer")) {
				t.Errorf("what could not be listed is said: %+v", left)
			}
			w.blocked, w.broken = "", nil
			finish(t, p, w, record, kept)
		})
	}
	w := newWorld()
	p := pipeline.Pipeline[*world]{remove("a")}
	record := finish(t, p, w, nil, kept)
	if result := p.Advance(t.Context(), w, &record, day(), &pipeline.Force{Step: "a", By: "jane"}); !result.Finished || result.ForceRefused == "" {
		t.Errorf("after the end: %+v", result)
	}
}

// TestClockGoesBack is a host whose clock is set back: nothing gets Stuck or is undone by it.
func TestClockGoesBack(t *testing.T) {
	w := newWorld("a")
	w.blocked = "something holds it"
	p := pipeline.Pipeline[*world]{remove("a")}
	var record []v1alpha1.StepStatus
	p.Advance(t.Context(), w, &record, day(), nil)
	result := p.Advance(t.Context(), w, &record, day().Add(-time.Hour), nil)
	if record[0].State != v1alpha1.StepRunning || result.After > time.Hour {
		t.Errorf("%+v, look again in %s", record[0], result.After)
	}
}

// TestOutcomes is what a step may say of itself beside Done.
func TestOutcomes(t *testing.T) {
	left := []v1alpha1.Leftover{{Kind: "Disk", ID: "d-1"}}
	for name, tc := range map[string]struct {
		reason string
		out    pipeline.Outcome
		later  time.Duration // since it began
		want   v1alpha1.StepStatus
	}{
		"skipped": {
			reason: "it turned out that there was nothing to do",
			out:    pipeline.Skipped("nothing was ever built"), want: v1alpha1.StepStatus{State: v1alpha1.StepSkipped, Message: "nothing was ever built"},
		},
		"asks": {
			reason: "a person has to act, and no time-out counts",
			out:    pipeline.Ask(time.Minute, "make the Secret"), later: time.Hour,
			want: v1alpha1.StepStatus{State: v1alpha1.StepWaitingOnYou, Cause: v1alpha1.CauseYou, Message: "make the Secret"},
		},
		"leaves": {
			reason: "what it leaves stands in the record",
			out:    pipeline.Outcome{Done: true, Message: "destroyed", Left: left},
			want:   v1alpha1.StepStatus{State: v1alpha1.StepDone, Message: "destroyed", LeftBehind: left},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pipeline.Pipeline[*world]{{Name: "a", Timeout: 15 * time.Minute, Run: func(context.Context, *world) (pipeline.Outcome, error) { return tc.out, nil }}}
			var record []v1alpha1.StepStatus
			p.Advance(t.Context(), nil, &record, day(), nil)
			result := p.Advance(t.Context(), nil, &record, day().Add(tc.later), nil)
			got := record[0]
			if ended := got.EndedAt != nil; ended != tc.out.Done || result.After <= 0 {
				t.Errorf("%s: ended %t, again after %s", tc.reason, ended, result.After)
			}
			got.Name, got.StartedAt, got.EndedAt = "", nil, nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
