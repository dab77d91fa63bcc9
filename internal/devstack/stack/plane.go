// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

// plane keeps one control plane up. Only one goroutine calls start and stop; rows
// may be called at any time.
type plane struct {
	stack *Stack
	name  string

	mu      sync.Mutex
	cp      *devstack.ControlPlane // nil until its folder could be claimed
	address string                 // cp.URL as last seen between starts, which may change it
	busy    bool                   // start is under way
	readyAt time.Time              // zero until it was ready once
	err     error                  // why the last start failed
}

// start starts what doesn't run of the control plane, and writes the kubeconfig
// that people use once it is ready.
func (p *plane) start(ctx context.Context, w Wanted) error {
	if p.allReady() {
		return nil
	}
	p.set(func() { p.busy, p.err = true, nil })
	err := p.tryStart(ctx, w)
	p.set(func() {
		p.busy, p.err = false, err
		if err == nil {
			p.readyAt = time.Now()
		}
	})
	return err
}

func (p *plane) tryStart(ctx context.Context, w Wanted) error {
	cp := p.controlPlane()
	if cp == nil {
		var err error
		options := devstack.Options{
			Dir:     p.stack.clusterDir(p.name),
			Name:    p.name,
			Binary:  p.stack.Binary,
			NewPort: w.NewPorts,
		}
		if p.name == Management {
			options.APIServerArgs = realFlags(w.Node)
		}
		cp, err = devstack.Prepare(options)
		if err != nil {
			return err
		}
		p.set(func() { p.cp, p.address = cp, cp.URL })
	} else if w.NewPorts && p.apiServerEnded() {
		if err := cp.NewPort(); err != nil {
			return err
		}
	}
	err := cp.Start(ctx)
	p.set(func() { p.address = cp.URL })
	if err != nil {
		return err
	}
	return p.writeKubeconfig(ctx, cp)
}

// writeKubeconfig gives people the administrator's kubeconfig on the
// management control plane. On the others it is what somebody would
// register a cluster with: a ServiceAccount's token inline.
func (p *plane) writeKubeconfig(ctx context.Context, cp *devstack.ControlPlane) error {
	var data []byte
	var err error
	if p.name == Management {
		data, err = os.ReadFile(cp.Kubeconfig())
	} else {
		data, err = cp.ServiceAccountKubeconfig(ctx, "kube-system", "infrared", "cluster-admin")
	}
	if err != nil {
		return fmt.Errorf("making the kubeconfig: %w", err)
	}
	return folder.WriteFile(p.stack.kubeconfig(p.name), data)
}

// stop ends the control plane; its data stays.
func (p *plane) stop() {
	if cp := p.controlPlane(); cp != nil {
		cp.Stop()
	}
}

func (p *plane) apiServerEnded() bool {
	process := p.controlPlane().Process(devstack.APIServer)
	if process == nil {
		return true
	}
	_, ended := process.Exited()
	return ended
}

func (p *plane) controlPlane() *devstack.ControlPlane {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cp
}

func (p *plane) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *plane) allReady() bool {
	for _, row := range p.rows() {
		if row.Phase != Ready {
			return false
		}
	}
	return true
}

// rows describes each component as it is now.
func (p *plane) rows() []Component {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cp == nil && p.err != nil {
		return []Component{{Cluster: p.name, Name: "control plane", Phase: Failed, Reason: p.err.Error()}}
	}
	var rows []Component
	broken := "" // the first component that is dead: those after it can't work
	for _, name := range devstack.AllComponents() {
		row := Component{Cluster: p.name, Name: name, Phase: Waiting}
		if p.cp != nil {
			p.describe(&row, broken)
		}
		if (row.Phase == Dead || row.Phase == Failed) && broken == "" {
			broken = name
		}
		rows = append(rows, row)
	}
	return rows
}

// describe fills in a row from the component's process.
func (p *plane) describe(row *Component, broken string) {
	row.Log = p.cp.LogFile(row.Name)
	if row.Name == devstack.APIServer {
		row.Address = p.address
	}
	process := p.cp.Process(row.Name)
	if p.portTaken(row.Name, process) {
		// How an earlier one ended doesn't matter any more.
		row.Phase, row.Reason = Failed, p.err.Error()
		return
	}
	if process == nil {
		if p.err != nil {
			row.Phase, row.Reason = NotReady, "not started: "+firstOf(broken, "the control plane")+" is not ready"
		}
		return
	}
	describeProcess(row, process)
	switch {
	case row.Phase == Dead:
	case broken != "":
		row.Phase, row.Reason = NotReady, broken+" is dead"
	case p.busy:
		row.Phase = Starting
	case p.err != nil:
		row.Phase, row.Reason = NotReady, p.err.Error()
	default:
		row.Phase, row.ReadyAt = Ready, p.readyAt
	}
}

// portTaken says whether a component isn't started because somebody else has its port.
func (p *plane) portTaken(component string, process *proc.Process) bool {
	var taken *devstack.PortTakenError
	if component != devstack.APIServer || p.busy || !errors.As(p.err, &taken) {
		return false
	}
	if process == nil {
		return true
	}
	_, ended := process.Exited()
	return ended
}

// describeProcess fills in what is seen of a process from outside: it runs, or
// how it ended.
func describeProcess(row *Component, process *proc.Process) {
	row.Pid, row.Ticks, row.Started = process.Pid(), process.Found().StartTicks, process.Started()
	exit, ended := process.Exited()
	if !ended {
		row.Phase = Starting
		return
	}
	row.Phase, row.Exit = Dead, &exit
	row.Reason = process.Cause()
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
