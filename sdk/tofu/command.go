// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// readTime is how long a look at the state may take after the call's context has ended.
const readTime = time.Minute

// call is one command of OpenTofu.
type call struct {
	step string            // what it does, for its error: "planning"
	dir  string            // where it runs
	data string            // its TF_DATA_DIR
	env  map[string]string // nil: the run's
	init string            // flags for init
	show bool              // its output is for people
	do   func(ctx context.Context, tf *tfexec.Terraform) error
}

// command runs one command, through the shim. When ctx ends, OpenTofu is interrupted once and waited for, however long it
// takes: whoever has no more patience kills the plugin, and OpenTofu still ends in order.
func (r *run) command(ctx context.Context, c call) error {
	if err := ctx.Err(); err != nil {
		return r.interrupted(c.step, context.Cause(ctx))
	}
	tf, err := r.opentofu(c)
	if err != nil {
		return fmt.Errorf("%s: %w", c.step, err)
	}
	release, err := r.armStop(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.step, err)
	}
	defer release()
	// Not ctx itself: terraform-exec loses a process whose context ends while it starts.
	err = c.do(context.WithoutCancel(ctx), tf)
	if err == nil {
		return nil
	}
	if signalOf(err) != 0 {
		_ = awaitOrphan(context.WithoutCancel(ctx), r.folder.pid, r.req.Cluster.Name)
	}
	if ctx.Err() != nil {
		return r.interrupted(c.step, context.Cause(ctx))
	}
	return r.failed(c.step, err)
}

// opentofu is terraform-exec's handle on one folder, set up for a command.
func (r *run) opentofu(c call) (*tfexec.Terraform, error) {
	tf := r.handles[c.dir]
	if tf == nil {
		program, err := self()
		if err != nil {
			return nil, fmt.Errorf("finding the plugin's own program: %w", err)
		}
		if tf, err = tfexec.NewTerraform(c.dir, program); err != nil {
			return nil, err
		}
		r.handles[c.dir] = tf
	}
	env := maps.Clone(c.env)
	if env == nil {
		env = maps.Clone(r.env)
	}
	env[envProgram], env[envStop], env[envPID] = r.binary, r.folder.stop, r.folder.pid
	env["TF_DATA_DIR"] = c.data
	if c.init != "" {
		env[envInitArgs] = c.init
	}
	out := io.Discard
	if c.show {
		out = r.log
	}
	tf.SetStdout(out)
	tf.SetStderr(out)
	return tf, tf.SetEnv(env)
}

// armStop makes the pipe by which the shim is told that ctx has ended, or that this process has.
func (r *run) armStop(ctx context.Context) (release func(), err error) {
	_ = os.Remove(r.folder.stop)
	_ = os.Remove(r.folder.pid)
	if err := syscall.Mkfifo(r.folder.stop, 0o600); err != nil {
		return nil, fmt.Errorf("making the pipe that stops OpenTofu: %w", err)
	}
	// For reading too, so that opening it does not wait for the shim.
	pipe, err := os.OpenFile(r.folder.stop, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the pipe that stops OpenTofu: %w", err)
	}
	detach := context.AfterFunc(ctx, func() { _, _ = pipe.Write([]byte{1}) })
	return func() {
		detach()
		_ = pipe.Close()
		_ = os.Remove(r.folder.stop)
	}, nil
}

// checkProgram finds out whether OpenTofu is there, and whether the plugin starts as its shim.
func (r *run) checkProgram(ctx context.Context, dir string) error {
	binary := r.o.Binary
	if binary == "" {
		binary = "tofu"
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return provider.Errorf(provider.Other, "OpenTofu is not there: put tofu into PATH, or take an image that has it")
	}
	r.binary = path
	return r.command(ctx, call{
		step: "asking for OpenTofu's version", dir: dir, data: r.dataOf(dir),
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			if _, _, err := tf.Version(ctx, true); err != nil {
				return fmt.Errorf("%w (does the plugin's main call tofu.Shim first of all?)", err)
			}
			return nil
		},
	})
}

// later is a context for what has to be looked at also when ctx has ended.
func later(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), readTime)
}

// interrupted is the error of a step of this run that the caller ended.
func (r *run) interrupted(step string, cause error) error {
	if r.req.Action == provider.ActionPlan {
		return &provider.Error{Kind: provider.Unavailable, Err: cause, Message: step + " was interrupted; nothing was made, and the same plan can be started again"}
	}
	return interrupted(step, cause)
}

// interrupted is the error of a step that the caller ended, where something may have been made.
func interrupted(step string, cause error) error {
	return &provider.Error{
		Kind: provider.Unavailable, Err: cause,
		Message: step + " was interrupted; what was made is in the state or reported, and the same run can be started again",
	}
}

// signalOf is the signal that ended OpenTofu; 0: none did.
func signalOf(err error) syscall.Signal {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}
