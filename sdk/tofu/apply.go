// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// carryOut applies the plan in the file. Whatever comes of it, the result says what there is afterwards.
func (r *run) carryOut(ctx context.Context, p plan, left []provider.Resource) (provider.BuildResult, error) {
	stream := &stream{run: r, ids: map[string]string{}, done: map[string]bool{}}
	var failed error
	if p.any {
		failed = r.applyFile(ctx, stream)
	}
	if failed != nil {
		r.rescue(ctx)
	}
	s, err := r.pull(ctx, r.dir)
	if err != nil {
		// Nothing is known of the state: all that was made in this run may be missing from it.
		result := r.result(state{}, append(left, r.lost(state{})...))
		result.Changes = stream.finished(p.changes)
		if failed == nil {
			failed = err
		}
		return result, failed
	}
	result := r.result(s, append(left, r.lost(s)...))
	result.Changes = p.changes
	if failed != nil {
		result.Changes = stream.finished(p.changes)
	}
	return result, failed
}

func (r *run) applyFile(ctx context.Context, out *stream) error {
	step := "applying"
	if r.req.Action == provider.ActionDestroy {
		step = "destroying"
	}
	err := r.command(ctx, call{
		step: step, dir: r.dir, data: r.folder.data,
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			return tf.ApplyJSON(ctx, out, tfexec.DirOrPlan(r.folder.plan))
		},
	})
	out.flush()
	if err == nil || ctx.Err() != nil || len(out.errors) == 0 {
		return err
	}
	// What OpenTofu said in its stream is more than its exit status.
	slices.Sort(out.errors)
	return r.failure(step, strings.Join(slices.Compact(out.errors), "\n"))
}

// spilled is the file in which OpenTofu leaves a state that it could not write where it belongs.
const spilled = "errored.tfstate"

// How often, and how many times, writing such a state is tried.
const (
	rescueTick = 2 * time.Second
	maxRescues = 20
)

// rescue puts a state in place that OpenTofu could not write, when the API server was away for a while.
func (r *run) rescue(ctx context.Context) {
	path := filepath.Join(r.dir, spilled)
	if _, err := os.Stat(path); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	tick := time.NewTicker(rescueTick)
	defer tick.Stop()
	var err error
	for range maxRescues {
		if err = r.push(ctx, path); err == nil {
			_ = os.Remove(path)
			r.say(provider.EventMessage, "the state is written, which OpenTofu could not do at the end of its apply")
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	r.say(provider.EventWarning, fmt.Sprintf("the state could not be written, and the next run goes by what was reported: %s", lastLine(err)))
}

// push writes a state from a file.
func (r *run) push(ctx context.Context, path string) error {
	return r.command(ctx, call{
		step: "writing the state", dir: r.dir, data: r.folder.data, show: true,
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			// The lock is still held by the apply, which is over and could not release it. Should anybody else have written since,
			// the serial number tells.
			return tf.StatePush(ctx, path, tfexec.Lock(false))
		},
	})
}
