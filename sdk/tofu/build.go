// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// run is one call of Build.
type run struct {
	o         Options
	req       provider.BuildRequest
	reporter  provider.Reporter
	variables map[string]json.RawMessage
	source    Source // the zero value: the module built in
	env       map[string]string
	folder    folder
	red       redactor
	log       *log
	binary    string
	handles   map[string]*tfexec.Terraform // by the folder that they run in

	refused error // why the request can't be carried out, where a destroy may still find that there is nothing to do

	dir    string // the module's folder, where OpenTofu runs
	module string // hash of the module with all that it calls
	pinned bool   // there is a lock file for the providers
	made   []made // what this run reported as made, and not as gone since
}

// Build carries a plugin's verb Build out. It keeps the promises of [provider.Provider]; the package's comment says how.
//
// An apply of a request with a PlanDigest is a Conflict, and nothing is done, when the module, its variables, the state or what
// would change is no longer what that digest names; the error says which. A destroy is not held against a plan.
func Build(ctx context.Context, o Options, req provider.BuildRequest, reporter provider.Reporter) (provider.BuildResult, error) {
	r, err := begin(ctx, o, req, reporter)
	if err != nil {
		return provider.BuildResult{}, err
	}
	defer r.folder.close()
	defer r.log.flush()
	switch req.Action {
	case provider.ActionPlan:
		return r.planOnly(ctx)
	case provider.ActionApply:
		return r.apply(ctx)
	case provider.ActionDestroy:
		return r.destroy(ctx)
	}
	return provider.BuildResult{}, provider.Invalidf("action", "%q is none of plan, apply and destroy", cut(string(req.Action), 40))
}

// begin checks the request before anything is run.
func begin(ctx context.Context, o Options, req provider.BuildRequest, reporter provider.Reporter) (*run, error) {
	r := &run{o: o, req: req, reporter: reporter, red: newRedactor(req), handles: map[string]*tfexec.Terraform{}}
	r.log = &log{to: o.Log, red: r.red}
	if !slices.Contains([]provider.Action{provider.ActionPlan, provider.ActionApply, provider.ActionDestroy}, req.Action) {
		return nil, provider.Invalidf("action", "%q is none of plan, apply and destroy", cut(string(req.Action), 40))
	}
	var err error
	if r.variables, err = o.complete(req); err == nil {
		r.source, err = o.sourceOf(req)
	}
	if err != nil && req.Action != provider.ActionDestroy {
		return nil, err
	}
	r.refused = err
	if o.LocalState == "" {
		if err := checkState(req.State); err != nil {
			return nil, err
		}
	}
	if !req.Plan.IsZero() && req.PlanDigest == "" {
		return nil, provider.Invalidf("planDigest", "is missing beside the saved plan")
	}
	if r.folder, err = newFolder(ctx, req.Folder, req.Cluster.Name); err != nil {
		return nil, err
	}
	if r.env, err = o.environment(req, r.folder); err == nil {
		err = r.writeFiles()
	}
	if err != nil {
		r.folder.close()
		return nil, err
	}
	return r, nil
}

// writeFiles puts in place what OpenTofu reads.
func (r *run) writeFiles() error {
	variables, err := json.Marshal(r.variables)
	if err != nil {
		return fmt.Errorf("writing the variables: %w", err)
	}
	backend, err := kubeconfig(r.req.State)
	if err != nil {
		return fmt.Errorf("writing the backend's kubeconfig: %w", err)
	}
	for path, content := range map[string][]byte{
		r.folder.variables: variables, r.folder.backend: backend, r.folder.cliConfig: []byte("disable_checkpoint = true\n" + r.o.CLIConfig + "\n"),
	} {
		if err := r.folder.write(path, content); err != nil {
			return err
		}
	}
	return nil
}

// say reports a line.
func (r *run) say(kind provider.EventKind, text string) {
	r.report(provider.Event{Kind: kind, Message: text})
}

func (r *run) report(e provider.Event) {
	e.Message = r.red.clean(e.Message)
	if e.Time.IsZero() {
		e.Time = r.o.now()
	}
	if r.reporter != nil {
		r.reporter.Report(e)
	}
}

// planOnly shows what an apply would do. It changes nothing outside; an import of what an earlier run made, if one is due, is
// written into the state.
func (r *run) planOnly(ctx context.Context) (provider.BuildResult, error) {
	s, left, err := r.ready(ctx)
	if err != nil {
		return provider.BuildResult{LeftBehind: left}, err
	}
	p, err := r.makePlan(ctx, s)
	if err != nil {
		return r.result(s, left), err
	}
	result := r.result(s, left)
	result.Changes, result.PlanDigest = p.changes, p.digest
	result.Plan, err = r.pack()
	return result, err
}

func (r *run) apply(ctx context.Context) (provider.BuildResult, error) {
	s, left, err := r.ready(ctx)
	if err != nil {
		return provider.BuildResult{LeftBehind: left}, err
	}
	p, err := r.agreed(ctx, s)
	if err != nil {
		return r.result(s, left), err
	}
	return r.carryOut(ctx, p, left)
}

// destroy takes everything away. What was never built is gone already, also where its variables are wrong or its module can't be
// had: such a cluster has to be deleted all the same.
func (r *run) destroy(ctx context.Context) (provider.BuildResult, error) {
	err := r.refused
	if err == nil {
		err = r.prepare(ctx)
	}
	if err != nil {
		if len(r.req.Ledger) == 0 && r.nothingBuilt(ctx) {
			return provider.BuildResult{}, nil
		}
		return provider.BuildResult{LeftBehind: r.req.Ledger}, err
	}
	s, left, err := r.reconcile(ctx)
	if err != nil {
		return provider.BuildResult{LeftBehind: left}, err
	}
	if len(s.things()) == 0 {
		r.say(provider.EventMessage, "there is nothing to destroy")
		return r.result(s, left), nil
	}
	p, err := r.makePlan(ctx, s)
	if err != nil {
		return r.result(s, left), err
	}
	return r.carryOut(ctx, p, left)
}

// ready makes OpenTofu's folder, and brings state and ledger together.
func (r *run) ready(ctx context.Context) (state, []provider.Resource, error) {
	if err := r.prepare(ctx); err != nil {
		return state{}, nil, err
	}
	return r.reconcile(ctx)
}

// reconcile reads the state, after putting into it what earlier runs made and could not write down.
func (r *run) reconcile(ctx context.Context) (state, []provider.Resource, error) {
	if err := r.pushSpilled(ctx); err != nil {
		return state{}, nil, err
	}
	s, err := r.pull(ctx, r.dir)
	if err != nil {
		return state{}, nil, err
	}
	return r.adopt(ctx, s)
}

// result is what a run answers whatever else happens.
func (r *run) result(s state, left []provider.Resource) provider.BuildResult {
	return provider.BuildResult{Outputs: s.outputs(), Resources: r.resources(s), LeftBehind: left}
}

// nothingBuilt says for certain that the state is empty. It looks without the module.
func (r *run) nothingBuilt(ctx context.Context) bool {
	if r.checkProgram(ctx, r.folder.bare) != nil || r.writeBackend(r.folder.bare) != nil {
		return false
	}
	err := r.command(ctx, call{
		step: "looking at the state", dir: r.folder.bare, data: r.dataOf(r.folder.bare),
		do: func(ctx context.Context, tf *tfexec.Terraform) error { return tf.Init(ctx) },
	})
	if err != nil {
		return false
	}
	s, err := r.pull(ctx, r.folder.bare)
	if err != nil || len(s.things()) > 0 {
		return false
	}
	r.say(provider.EventMessage, "there is nothing to destroy: nothing was ever built")
	return true
}
