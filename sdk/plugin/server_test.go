// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"darkshift.io/infrared/sdk/plugin"
	pb "darkshift.io/infrared/sdk/protocol/v1"
	"darkshift.io/infrared/sdk/provider"
)

// verbs calls each verb with a request that names it.
func verbs(w wire, t *testing.T) map[string]func(context.Context) error {
	p, a := w.provider(), w.accounts(t)
	return map[string]func(context.Context) error{
		"Connect": func(ctx context.Context) error { _, err := p.Connect(ctx, provider.ConnectRequest{}); return err },
		"Build": func(ctx context.Context) error {
			_, err := p.Build(ctx, provider.BuildRequest{}, &events{})
			return err
		},
		"Snapshot": func(ctx context.Context) error { _, err := p.Snapshot(ctx, provider.SnapshotRequest{}); return err },
		"Confirm":  func(ctx context.Context) error { _, err := p.Confirm(ctx, provider.ConfirmRequest{}); return err },
		"Sweep":    func(ctx context.Context) error { _, err := p.Sweep(ctx, provider.SweepRequest{}); return err },
		"Verify":   func(ctx context.Context) error { _, err := a.Verify(ctx, provider.Account{}); return err },
		"Mint": func(ctx context.Context) error {
			_, err := a.Mint(ctx, provider.Account{}, provider.MintRequest{})
			return err
		},
	}
}

// everyVerb is a provider all of whose verbs end as do says.
func everyVerb(do func(ctx context.Context, verb string) error) *scriptedAccounts {
	return &scriptedAccounts{
		scripted: scripted{
			connect: func(ctx context.Context, _ provider.ConnectRequest) (provider.Connection, error) {
				return provider.Connection{}, do(ctx, "Connect")
			},
			build: func(ctx context.Context, _ provider.BuildRequest, _ provider.Reporter) (provider.BuildResult, error) {
				return provider.BuildResult{}, do(ctx, "Build")
			},
			snapshot: func(ctx context.Context, _ provider.SnapshotRequest) ([]provider.Snapshot, error) {
				return nil, do(ctx, "Snapshot")
			},
			confirm: func(ctx context.Context, _ provider.ConfirmRequest) (provider.Findings, error) {
				return provider.Findings{}, do(ctx, "Confirm")
			},
			sweep: func(ctx context.Context, _ provider.SweepRequest) (provider.Findings, error) {
				return provider.Findings{}, do(ctx, "Sweep")
			},
		},
		verify: func(ctx context.Context, _ provider.Account) (provider.Identity, error) {
			return provider.Identity{}, do(ctx, "Verify")
		},
		mint: func(ctx context.Context, _ provider.Account, _ provider.MintRequest) (provider.Credentials, error) {
			return provider.Credentials{}, do(ctx, "Mint")
		},
	}
}

// keeper is a provider that keeps what it is asked, and gives the answers of a test.
type keeper struct {
	asked   []any
	answers answers
}

type answers struct {
	connection  provider.Connection
	event       provider.Event
	result      provider.BuildResult
	snapshots   []provider.Snapshot
	confirmed   provider.Findings
	swept       provider.Findings
	identity    provider.Identity
	credentials provider.Credentials
}

func (k *keeper) Connect(_ context.Context, req provider.ConnectRequest) (provider.Connection, error) {
	k.asked = append(k.asked, req)
	return k.answers.connection, nil
}

func (k *keeper) Build(_ context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	k.asked = append(k.asked, req)
	r.Report(k.answers.event)
	return k.answers.result, nil
}

func (k *keeper) Snapshot(_ context.Context, req provider.SnapshotRequest) ([]provider.Snapshot, error) {
	k.asked = append(k.asked, req)
	return k.answers.snapshots, nil
}

func (k *keeper) Confirm(_ context.Context, req provider.ConfirmRequest) (provider.Findings, error) {
	k.asked = append(k.asked, req)
	return k.answers.confirmed, nil
}

func (k *keeper) Sweep(_ context.Context, req provider.SweepRequest) (provider.Findings, error) {
	k.asked = append(k.asked, req)
	return k.answers.swept, nil
}

func (k *keeper) Verify(_ context.Context, a provider.Account) (provider.Identity, error) {
	k.asked = append(k.asked, a)
	return k.answers.identity, nil
}

func (k *keeper) Mint(_ context.Context, a provider.Account, req provider.MintRequest) (provider.Credentials, error) {
	k.asked = append(k.asked, a, req)
	return k.answers.credentials, nil
}

func TestRequestsAndAnswersArrive(t *testing.T) {
	cluster := provider.Cluster{Name: "edge", Incarnation: "7c5b9a3e"}
	thing := provider.Resource{Kind: "disk", ID: "vol-1", Name: "data"}
	disk := provider.Disk{Volume: "pvc-1"}
	secret := provider.NewSecret("S3CR3T")
	lent := provider.Credentials{Values: map[string]provider.Secret{"TOKEN": secret}}
	want := answers{
		connection:  provider.Connection{Version: "v1.33.4"},
		event:       provider.Event{Kind: provider.EventDone, Message: "made", Resource: &thing},
		result:      provider.BuildResult{PlanDigest: "d1"},
		snapshots:   []provider.Snapshot{{Disk: disk, State: provider.SnapshotReady}},
		confirmed:   provider.Findings{Absent: []provider.Finding{{Resource: thing, Why: "its API says so"}}},
		swept:       provider.Findings{Present: []provider.Finding{{Resource: thing, Why: "the cloud lists it"}}},
		identity:    provider.Identity{Principal: "arn:role"},
		credentials: lent,
	}
	k := &keeper{answers: want}
	w := overWire(t, k)
	p, a, told, ctx := w.provider(), w.accounts(t), &events{}, t.Context()
	connect := provider.ConnectRequest{Cluster: cluster, Credentials: lent}
	build := provider.BuildRequest{Cluster: cluster, Action: provider.ActionApply, Plan: secret}
	snapshot := provider.SnapshotRequest{Cluster: cluster, Disks: []provider.Disk{disk}}
	confirm := provider.ConfirmRequest{Cluster: cluster, Recorded: []provider.Resource{thing}}
	sweep := provider.SweepRequest{Cluster: cluster, Recorded: []provider.Resource{thing}}
	account := provider.Account{Name: "prod", Token: secret}
	mint := provider.MintRequest{Cluster: cluster, Purpose: provider.PurposeLook, Lifetime: time.Hour}

	var got answers
	var failed [7]error
	got.connection, failed[0] = p.Connect(ctx, connect)
	got.result, failed[1] = p.Build(ctx, build, told)
	got.snapshots, failed[2] = p.Snapshot(ctx, snapshot)
	got.confirmed, failed[3] = p.Confirm(ctx, confirm)
	got.swept, failed[4] = p.Sweep(ctx, sweep)
	got.identity, failed[5] = a.Verify(ctx, account)
	got.credentials, failed[6] = a.Mint(ctx, account, mint)
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	if len(told.all) == 1 {
		got.event = told.all[0]
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(answers{})); diff != "" {
		t.Errorf("the host got something else than the author answered (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{connect, build, snapshot, confirm, sweep, account, account, mint}, k.asked); diff != "" {
		t.Errorf("the author got something else than the host asked (-want +got):\n%s", diff)
	}
}

func TestErrorsOfEveryVerbAreTyped(t *testing.T) {
	want := &provider.Error{Kind: provider.Quota, After: time.Minute, Message: "the account may have no more clusters"}
	w := overWire(t, everyVerb(func(context.Context, string) error { return want }))
	for verb, call := range verbs(w, t) {
		t.Run(verb, func(t *testing.T) {
			if diff := cmp.Diff(want, typed(t, call(t.Context()))); diff != "" {
				t.Errorf("the error did not arrive as it was (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPanicIsOneTypedError(t *testing.T) {
	w := overWire(t, everyVerb(func(_ context.Context, verb string) error { panic("S3CR3T of " + verb) }))
	for verb, call := range verbs(w, t) {
		t.Run(verb, func(t *testing.T) {
			want := &provider.Error{Kind: provider.Other, Message: "the provider crashed in " + verb + "; its log has the stack"}
			for range 2 {
				if diff := cmp.Diff(want, typed(t, call(t.Context()))); diff != "" {
					t.Errorf("a panic is an error, also the second time (-want +got):\n%s", diff)
				}
			}
			if strings.Contains(w.log.String(), "S3CR3T") {
				t.Errorf("what was panicked with is in the log:\n%s", w.log)
			}
			if log := w.log.String(); !strings.Contains(log, "panic in "+verb) || !strings.Contains(log, "server_test.go") {
				t.Errorf("the log has no stack of the panic:\n%s", log)
			}
		})
	}
	if _, err := plugin.Describe(t.Context(), w.conn); err != nil {
		t.Errorf("after the panics the plugin is gone: %v", err)
	}
}

func TestAccountsAreThereAsDeclared(t *testing.T) {
	w := overWire(t, &scripted{})
	if _, ok := plugin.NewClient(w.conn, []provider.Capability{"Else"}).(provider.Accounts); ok {
		t.Error("a client has accounts that nobody declared")
	}
	// A host that tries all the same is told, in the plugin's own words.
	_, err := w.accounts(t).Verify(t.Context(), provider.Account{})
	if e := typed(t, err); e.Kind != provider.Unsupported || e.Message != "the provider scripted has no accounts, so it can't Verify" {
		t.Errorf("Verify without accounts: %s: %s", e.Kind, e.Message)
	}
	_, err = w.accounts(t).Mint(t.Context(), provider.Account{}, provider.MintRequest{})
	if e := typed(t, err); e.Kind != provider.Unsupported {
		t.Errorf("Mint without accounts: %s: %s", e.Kind, e.Message)
	}
	for name, c := range map[string]struct {
		p    provider.Provider
		want []provider.Capability
	}{
		"with accounts":    {&scriptedAccounts{}, []provider.Capability{provider.CapabilityAccounts}},
		"without accounts": {&scripted{}, nil},
	} {
		d, err := plugin.Describe(t.Context(), overWire(t, c.p).conn)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(provider.Description{Facts: goodFacts(), Capabilities: c.want}, d); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDescribeChecksTheFacts(t *testing.T) {
	facts := goodFacts()
	facts.Templates = []provider.Template{{Name: "other/cluster", Variables: []byte(`{"type":"object"}`)}}
	w := overWireRaw(t, plugin.NewServer(&scripted{}, facts), nil)
	_, err := plugin.Describe(t.Context(), w.conn)
	if e := typed(t, err); e.Kind != provider.Invalid || e.Field != "templates[0].name" {
		t.Errorf("wrong facts: %v, want Invalid with the field", err)
	}
}

// The context is the author's only way to learn that nobody waits any more.
func TestContextReachesTheAuthor(t *testing.T) {
	ended := make(chan error, 1)
	deadline := make(chan time.Time, 1)
	w := overWire(t, everyVerb(func(ctx context.Context, _ string) error {
		at, _ := ctx.Deadline()
		deadline <- at
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}))
	for verb, call := range verbs(w, t) {
		t.Run(verb, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			answer := make(chan error, 1)
			go func() { answer <- call(ctx) }()
			at := eventually(t, "the call's begin", deadline)
			if left := time.Until(at); left < 59*time.Minute || left > time.Hour+time.Minute {
				t.Errorf("the author has %s left, the host gave an hour", left)
			}
			cancel()
			err := eventually(t, "the answer", answer)
			if e := typed(t, err); e.Kind != provider.Unavailable || !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call: %v", err)
			}
			_ = eventually(t, "the end of the author's context", ended)
		})
	}
}

func TestDeadlineEndsTheCall(t *testing.T) {
	w := overWire(t, everyVerb(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }))
	for verb, call := range verbs(w, t) {
		t.Run(verb, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := call(ctx)
			if e := typed(t, err); e.Kind != provider.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call past its deadline: %v", err)
			}
		})
	}
}

func TestTooLargeIsSaid(t *testing.T) {
	large := strings.Repeat("x", plugin.MaxMessageBytes)
	fits := strings.Repeat("x", plugin.MaxMessageBytes-1<<10)
	p := &scripted{
		connect: func(context.Context, provider.ConnectRequest) (provider.Connection, error) {
			return provider.Connection{Version: fits}, nil
		},
		sweep: func(context.Context, provider.SweepRequest) (provider.Findings, error) {
			return provider.Findings{Present: []provider.Finding{{Why: large}}}, nil
		},
		build: func(_ context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
			r.Report(provider.Event{Message: "before"})
			r.Report(provider.Event{Message: large})
			r.Report(provider.Event{Message: "after"})
			result := provider.BuildResult{Plan: provider.NewSecret(large)}
			if req.Action == provider.ActionDestroy {
				return result, provider.Errorf(provider.Denied, "no right to delete")
			}
			return result, nil
		},
	}
	w, ctx := overWire(t, p), t.Context()
	client := w.provider()
	if c, err := client.Connect(ctx, provider.ConnectRequest{Cluster: provider.Cluster{Region: fits}}); err != nil || c.Version != fits {
		t.Errorf("what fits is refused: %v", err)
	}
	_, err := client.Sweep(ctx, provider.SweepRequest{})
	if e := typed(t, err); e.Kind != provider.Other || e.Message != "the answer of Sweep is larger than the 16 MiB that fit into a message" {
		t.Errorf("an answer that is too large: %s: %s", e.Kind, e.Message)
	}
	_, err = client.Sweep(ctx, provider.SweepRequest{Cluster: provider.Cluster{Region: large}})
	if e := typed(t, err); e.Kind != provider.Other || !strings.Contains(e.Message, "16 MiB") {
		t.Errorf("a request that is too large: %s: %s", e.Kind, e.Message)
	}
	told := &events{}
	_, err = client.Build(ctx, provider.BuildRequest{}, told)
	if e := typed(t, err); e.Kind != provider.Other || !strings.Contains(e.Message, "16 MiB") {
		t.Errorf("a result that is too large: %s: %s", e.Kind, e.Message)
	}
	if diff := cmp.Diff([]string{"before", "an event that is larger than 16 MiB was left out", "after"}, told.messages()); diff != "" {
		t.Errorf("the events around one that is too large (-want +got):\n%s", diff)
	}
	_, err = client.Build(ctx, provider.BuildRequest{Action: provider.ActionDestroy}, told)
	if e := typed(t, err); e.Kind != provider.Denied {
		t.Errorf("the build's own error is lost behind the size: %s: %s", e.Kind, e.Message)
	}
}

// A dead connection is an error like any other.
func TestErrorsWithoutAPluginAreTyped(t *testing.T) {
	conn, err := grpc.NewClient("unix:"+t.TempDir()+"/nobody", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	calls := verbs(wire{conn: conn}, t)
	calls["Describe"] = func(ctx context.Context) error { _, err := plugin.Describe(ctx, conn); return err }
	calls["Stop"] = func(ctx context.Context) error { return plugin.Stop(ctx, conn) }
	for verb, call := range calls {
		if e := typed(t, call(t.Context())); e.Kind != provider.Unavailable {
			t.Errorf("%s: %s: %s", verb, e.Kind, e.Message)
		}
	}
}

// A hostile host leaves out whatever can be left out.
func TestEmptyRequestsCrashNothing(t *testing.T) {
	w := overWire(t, &scriptedAccounts{})
	client, ctx := pb.NewProviderServiceClient(w.conn), t.Context()
	for verb, call := range map[string]func() error{
		"Connect": func() error { _, err := client.Connect(ctx, nil); return err },
		"Snapshot": func() error {
			_, err := client.Snapshot(ctx, &pb.SnapshotRequest{Disks: []*pb.Disk{nil, {}}})
			return err
		},
		"Confirm": func() error {
			_, err := client.Confirm(ctx, &pb.ConfirmRequest{Recorded: []*pb.Resource{nil}})
			return err
		},
		"Sweep":    func() error { _, err := client.Sweep(ctx, nil); return err },
		"Verify":   func() error { _, err := client.Verify(ctx, &pb.VerifyRequest{}); return err },
		"Mint":     func() error { _, err := client.Mint(ctx, &pb.MintRequest{}); return err },
		"Describe": func() error { _, err := client.Describe(ctx, nil); return err },
		"Build": func() error {
			stream, err := client.Build(ctx, nil)
			if err != nil {
				return err
			}
			_, err = stream.Recv()
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s of an empty request: %v", verb, err)
		}
	}
	if _, err := client.Stop(ctx, nil); err != nil {
		t.Errorf("Stop of an empty request: %v", err)
	}
	if log := w.log.String(); log != "" {
		t.Errorf("something panicked:\n%s", log)
	}
}
