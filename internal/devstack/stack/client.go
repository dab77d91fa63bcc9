// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	operatorFiles = "operator" // operator.kubeconfig, so no cluster may be called that

	clientGrace     = 10 * time.Second
	clientReadyPoll = 50 * time.Millisecond
)

// client is one of the project's programs that runs against the management
// control plane under a ServiceAccount of its own. It serves /readyz on health.
type client struct {
	name      string // of the program and of the component
	files     string // <files>.kubeconfig in the data folder
	namespace string // of its ServiceAccount
	account   string
	wanted    func(Wanted) bool
	args      func(s *Stack, kubeconfig, metrics, health string) []string
}

// clients is the table of the project's programs on a stack.
func clients() []client {
	return []client{{
		name:      "infrared-operator",
		files:     operatorFiles,
		namespace: "infrared",
		account:   "infrared-operator",
		wanted:    func(w Wanted) bool { return w.Operator },
		args: func(s *Stack, kubeconfig, metrics, health string) []string {
			return []string{
				"--kubeconfig=" + kubeconfig,
				"--plugins=" + s.pluginFolder(),
				// The stack's own control planes are all it can reach, and they are there.
				"--allow-address=127.0.0.0/8",
				"--leader-elect=false",
				"--metrics-bind-address=" + metrics,
				"--health-probe-bind-address=" + health,
			}
		},
	}}
}

// clientUnit keeps one client up. Only one goroutine calls start and stop; rows
// may be called at any time.
type clientUnit struct {
	client
	stack    *Stack
	launcher *proc.Launcher

	mu       sync.Mutex
	process  *proc.Process
	identity string // of the file that process runs and the address it was given
	health   string // http://127.0.0.1:<port>
	busy     bool
	readyAt  time.Time
	err      error
}

// start runs the program as it is now on disk, in place of an older one. A
// program that isn't built is left out.
func (c *clientUnit) start(ctx context.Context, cp *devstack.ControlPlane) error {
	identity := fileIdentity(c.stack.program(c.name))
	if identity == "" {
		return nil
	}
	identity += " " + cp.URL
	if identity == c.identity && c.isReady() {
		return nil
	}
	c.stop()
	c.set(func() { c.busy, c.err = true, nil })
	err := c.tryStart(ctx, cp)
	c.set(func() {
		c.busy, c.err, c.identity = false, err, identity
		if err == nil {
			c.readyAt = time.Now()
		}
	})
	return err
}

func (c *clientUnit) tryStart(ctx context.Context, cp *devstack.ControlPlane) error {
	data, err := cp.ServiceAccountKubeconfig(ctx, c.namespace, c.account, "")
	if err != nil {
		return err
	}
	kubeconfig := c.stack.path(c.files + ".kubeconfig")
	if err := folder.WriteFile(kubeconfig, data); err != nil {
		return err
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	health, err := freeAddress()
	if err != nil {
		return err
	}
	process, err := c.launcher.Start(proc.Spec{
		Name: c.name,
		Path: c.stack.program(c.name),
		Args: c.args(c.stack, kubeconfig, metrics, health),
		Dir:  cp.Dir(),
		Log:  c.log(),
	})
	if err != nil {
		return err
	}
	c.set(func() { c.process, c.health = process, "http://"+health })
	return c.waitReady(ctx, process, "http://"+health+"/readyz")
}

func freeAddress() (string, error) {
	port, err := devstack.FreePort()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", port), nil
}

// waitReady asks until the program says that it is ready, dies, or ctx ends.
func (c *clientUnit) waitReady(ctx context.Context, process *proc.Process, url string) error {
	ticker := time.NewTicker(clientReadyPoll)
	defer ticker.Stop()
	for {
		if answersOK(ctx, url) {
			return nil
		}
		select {
		case <-process.Done():
			return fmt.Errorf("%s", process.Death())
		case <-ctx.Done():
			return fmt.Errorf("%s runs but doesn't get ready: %s (log: %s)", c.name, firstOf(proc.LastError(c.log()), "it printed nothing"), c.log())
		case <-ticker.C:
		}
	}
}

func answersOK(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop ends the program, if it runs.
func (c *clientUnit) stop() {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return
	}
	process.Stop(clientGrace)
	c.set(func() { c.process, c.identity, c.err = nil, "", nil })
}

func (c *clientUnit) log() string {
	return filepath.Join(c.stack.clusterDir(Management), "logs", c.name+".log")
}

func (c *clientUnit) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *clientUnit) isReady() bool {
	rows := c.rows()
	return len(rows) == 1 && rows[0].Phase == Ready
}

// rows describes the program; nothing when it was not to be started.
func (c *clientUnit) rows() []Component {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := Component{Cluster: Management, Name: c.name, Phase: Starting}
	switch {
	case c.process != nil:
		row.Log, row.Address = c.log(), c.health
		describeProcess(&row, c.process)
		if row.Phase == Dead || c.busy {
			break
		}
		row.Phase, row.ReadyAt = Ready, c.readyAt
		if c.err != nil {
			row.Phase, row.Reason, row.ReadyAt = NotReady, c.err.Error(), time.Time{}
		}
	case c.err != nil:
		row.Phase, row.Reason = Failed, c.err.Error()
	case !c.busy:
		return nil
	}
	return []Component{row}
}
