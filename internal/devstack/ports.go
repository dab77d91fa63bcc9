// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

// portFile keeps the API server's port over restarts, because kubeconfigs name it.
const portFile = "port"

// PortTakenError says that the port a control plane had is now in other hands.
type PortTakenError struct {
	Name   string // the control plane
	Port   int
	Holder string // who listens there, "" when that can't be seen
}

// Error names the port, who holds it as far as known, and the way out.
func (e *PortTakenError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another program"
	}
	return fmt.Sprintf("port 127.0.0.1:%d of control plane %q is taken by %s: stop that, or give the control plane another port with --new-ports",
		e.Port, e.Name, holder)
}

func (cp *ControlPlane) portTaken() error {
	return &PortTakenError{Name: cp.opts.Name, Port: cp.port, Holder: proc.PortHolder(cp.port)}
}

// choosePort gives the API server's port: the one it had, which must be free,
// or any free one when it had none or fresh is asked for.
//
// The one it had may still be held for a moment by an API server that was just
// killed: the kernel takes its time to take a large process apart.
func choosePort(dir, name string, fresh bool) (int, error) {
	path := filepath.Join(dir, portFile)
	if !fresh {
		port, err := readPort(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return 0, err
		case !PortFreeSoon(port):
			return 0, &PortTakenError{Name: name, Port: port, Holder: proc.PortHolder(port)}
		default:
			return port, nil
		}
	}
	port, err := FreePort()
	if err != nil {
		return 0, err
	}
	return port, folder.WriteFile(path, []byte(strconv.Itoa(port)+"\n"))
}

func readPort(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("the file %s should hold a port number: remove it", path)
	}
	return port, nil
}

// FreePort finds a TCP port of 127.0.0.1 that nobody listens on. Somebody may
// take it before it is used; whoever uses it must be ready for that.
func FreePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port of 127.0.0.1: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// portPatience is how long a dying process may hold its port.
const portPatience = 5 * time.Second

// PortFreeSoon says whether a TCP port of 127.0.0.1 can be listened on. It waits
// for a process that is just ending.
func PortFreeSoon(port int) bool {
	for end := time.Now().Add(portPatience); ; <-time.After(readyPoll) {
		if portFree(port) {
			return true
		}
		// Somebody who can be named is alive, and won't go by himself.
		if proc.PortHolder(port) != "" || time.Now().After(end) {
			return false
		}
	}
}

func portFree(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
