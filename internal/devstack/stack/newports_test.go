// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/stack"
)

// The port of an API server that died may be taken while the supervisor lives
// on: Up says by whom, and --new-ports is a way out, for all that knew the old
// port and for nobody else.
func (b *bench) testPortTakenUnderneath(t *testing.T) {
	b.t = t
	edge := b.row("edge", devstack.APIServer)
	before := b.row(stack.Management, devstack.APIServer)
	l := b.steal(before)
	defer l.Close()

	_, err := b.up()
	wants := []string{
		fmt.Sprintf(`of control plane "management" is taken by process %d`, os.Getpid()), "--new-ports",
	}
	for _, want := range wants {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Up with a dead API server's port in other hands: %v\nwant %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "SIGKILL") {
		t.Errorf("Up tells of the death before, which is no help: %v", err)
	}

	if out, err := b.upWith(stack.UpOptions{NewPorts: true}); err != nil {
		t.Fatalf("Up with new ports: %v\n%s", err, out)
	}
	after := b.row(stack.Management, devstack.APIServer)
	if after.Address == before.Address {
		t.Errorf("management is still at %s", after.Address)
	}
	if now := b.row("edge", devstack.APIServer); now.Pid != edge.Pid || now.Address != edge.Address {
		t.Errorf("edge ran, and was moved from %+v to %+v", edge, now)
	}
	b.kubectl(stack.Management, "get", "things")
	b.kubectl("operator", "auth", "whoami")
	// Only a controller manager that knows the new port makes this one.
	b.kubectl(stack.Management, "create", "namespace", "moved")
	b.kubectl(stack.Management, "wait", "--for=create", "--timeout=60s", "serviceaccount/default", "--namespace=moved")
	if st := b.status(); !st.Healthy() {
		t.Errorf("not everything is ready: %+v", st.Bad())
	}
}

// steal kills a server and listens on its port.
func (b *bench) steal(victim stack.Component) net.Listener {
	b.t.Helper()
	kill(b.t, victim.Pid)
	var l net.Listener
	b.eventually("its port can be taken", func() bool {
		var err error
		l, err = net.Listen("tcp4", strings.TrimPrefix(victim.Address, "https://"))
		return err == nil
	})
	b.eventually("its death is in the state", func() bool { return b.row(victim.Cluster, victim.Name).Phase == stack.Dead })
	return l
}
