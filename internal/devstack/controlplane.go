// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack/pki"
	"darkshift.io/infrared/internal/devstack/proc"
)

// etcdGrace is how long etcd may take to close its files. The others keep
// nothing and are simply killed: a graceful stop of an API server waits up
// to 20 seconds for those who watch it.
const etcdGrace = 5 * time.Second

// ControlPlane is one Kubernetes control plane on loopback. Its methods may be
// called from any goroutine.
type ControlPlane struct {
	URL    string // https://127.0.0.1:<port>
	CAFile string // PEM file with the authority of its serving certificate

	opts      Options
	port      int
	freshPort bool // nobody knows the port yet, so another is as good
	files     pki.Files
	ca        []byte
	api       *apiClient
	lock      *os.File
	launcher  *proc.Launcher

	mu    sync.Mutex
	procs map[string]*proc.Process // the last process of each component, running or not
}

// StartControlPlane runs a control plane and returns when it is ready: the API
// server says so, namespace default exists and, with a controller manager, its
// default ServiceAccount too. Call Stop when done. The error of a component
// that died names it, how it ended, its last error and its log.
func StartControlPlane(ctx context.Context, opts Options) (*ControlPlane, error) {
	cp, err := Prepare(opts)
	if err != nil {
		return nil, err
	}
	if err := cp.Start(ctx); err != nil {
		cp.Stop()
		return nil, err
	}
	return cp, nil
}

// Prepare claims the data folder and writes certificates and kubeconfigs, but
// starts nothing. Stop gives the folder back.
func Prepare(opts Options) (*ControlPlane, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	lock, err := claimFolder(opts.Dir, opts.Binary)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{opts: opts, lock: lock, procs: map[string]*proc.Process{}}
	_, err = os.Stat(filepath.Join(opts.Dir, portFile))
	cp.freshPort = opts.NewPort || errors.Is(err, os.ErrNotExist)
	if err := cp.takePort(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	cp.launcher = proc.NewLauncher()
	return cp, nil
}

// takePort chooses the port and writes what names it.
func (cp *ControlPlane) takePort() error {
	port, err := choosePort(cp.opts.Dir, cp.opts.Name, cp.freshPort)
	if err != nil {
		return err
	}
	cp.port = port
	return cp.writeConfig(time.Now())
}

// NewPort gives another port to a control plane whose API server doesn't run,
// which makes kubeconfigs handed out before useless. The components that talk to the
// API server are ended; Start starts them with the new address. It writes
// URL, so nobody may read that meanwhile.
func (cp *ControlPlane) NewPort() error {
	if cp.runs(APIServer) {
		return fmt.Errorf("the API server of control plane %q runs: its port can't be changed", cp.opts.Name)
	}
	cp.Kill(Scheduler)
	cp.Kill(ControllerManager)
	cp.freshPort = true
	return cp.takePort()
}

// runs says whether a component's process is there.
func (cp *ControlPlane) runs(component string) bool {
	p := cp.Process(component)
	if p == nil {
		return false
	}
	_, ended := p.Exited()
	return !ended
}

// Name is what messages and the kubeconfig call it.
func (cp *ControlPlane) Name() string { return cp.opts.Name }

// Dir is its data folder.
func (cp *ControlPlane) Dir() string { return cp.opts.Dir }

// Components are those it runs, in the order in which they start.
func (cp *ControlPlane) Components() []string { return cp.opts.Components }

// Kubeconfig is the path of its administrator's kubeconfig, all inline.
func (cp *ControlPlane) Kubeconfig() string {
	return filepath.Join(cp.opts.Dir, "admin.kubeconfig")
}

// Process is the last process of a component, running or ended; nil when it was never
// started.
func (cp *ControlPlane) Process(component string) *proc.Process {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.procs[component]
}

// Start starts the components that don't run and returns when the control
// plane is ready.
func (cp *ControlPlane) Start(ctx context.Context) error {
	const attempts = 3
	for n := 1; ; n++ {
		err := cp.startOnce(ctx)
		var taken *PortTakenError
		// Between choosing a free port and listening on it, somebody else may
		// have come. As long as nobody was told of it, any other will do.
		if !errors.As(err, &taken) || !cp.freshPort || n == attempts {
			return err
		}
		if err := cp.takePort(); err != nil {
			return err
		}
	}
}

func (cp *ControlPlane) startOnce(ctx context.Context) error {
	// Somebody may have come since the API server died. It would try to listen
	// for half a minute and then say nothing of a way out.
	if !cp.runs(APIServer) && !PortFreeSoon(cp.port) {
		return cp.portTaken()
	}
	for _, c := range []string{Etcd, APIServer} {
		if err := cp.ensureRunning(c); err != nil {
			return err
		}
	}
	// Not together with the API server: the controller manager gives up when
	// it doesn't hear that it is well within ten seconds, which a busy machine may take.
	if err := cp.waitHealthy(ctx); err != nil {
		return err
	}
	for _, c := range cp.opts.Components {
		if err := cp.ensureRunning(c); err != nil {
			return err
		}
	}
	if err := cp.waitReady(ctx); err != nil {
		return err
	}
	cp.freshPort = false
	return nil
}

// ensureRunning starts a component unless it runs.
func (cp *ControlPlane) ensureRunning(component string) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if p := cp.procs[component]; p != nil {
		if _, ended := p.Exited(); !ended {
			return nil
		}
	}
	p, err := cp.launcher.Start(cp.spec(component))
	if err != nil {
		return fmt.Errorf("control plane %q: %w", cp.opts.Name, err)
	}
	cp.procs[component] = p
	return nil
}

// Kill ends a component with SIGKILL and returns when it is gone. The other
// components go on. One that doesn't run is fine.
func (cp *ControlPlane) Kill(component string) {
	if p := cp.Process(component); p != nil {
		p.Kill()
	}
}

// StartComponent starts a component again after Kill. It doesn't wait until
// the component is ready: Start does, for all.
func (cp *ControlPlane) StartComponent(component string) error {
	return cp.ensureRunning(component)
}

// Stop ends every component and gives the data folder back. The data stays.
// It may be called again.
func (cp *ControlPlane) Stop() {
	for _, c := range []string{Scheduler, ControllerManager, APIServer} {
		cp.Kill(c)
	}
	if p := cp.Process(Etcd); p != nil {
		p.Stop(etcdGrace)
	}
	cp.launcher.Close()
	_ = cp.lock.Close()
}
