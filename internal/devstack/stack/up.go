// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
)

// followLimit is how long Up waits: for a start that is under way and then for
// its own, and a little for the supervisor itself.
const followLimit = 2*startLimit + 30*time.Second

// UpOptions says what should run beyond what ran before.
type UpOptions struct {
	Clusters []string  // further control planes, added to those there were
	Operator bool      // run the operator, where it is built
	Node     string    // the kind of node that runs pods; "" for NodeNone
	NewPorts bool      // give up the addresses of control planes that don't run
	Out      io.Writer // progress and what to do next

	// Limit ends the waiting, not the stack; zero is long enough for a start
	// that has to wait for another.
	Limit time.Duration
}

// Up brings the stack up, adds to it, or starts again what died in it, and
// returns when everything is ready. The manifests are applied each time; when
// that too changes nothing it says so. Its error names each component that isn't
// ready, why, and where its log is.
//
// When ctx ends first the stack goes on starting without us.
func (s *Stack) Up(ctx context.Context, o UpOptions) error {
	if err := checkClusters(o.Clusters); err != nil {
		return err
	}
	binary, err := devstack.Binary()
	if err != nil {
		return err
	}
	s.Binary = binary
	if err := s.checkNode(o.Node); err != nil {
		return err
	}
	if err := s.claim(); err != nil {
		return err
	}
	unlock, err := s.lockCommand(o.Out)
	if err != nil {
		return err
	}
	defer unlock()

	wanted, err := s.readWanted()
	if err != nil {
		return err
	}
	next := merge(wanted, o)
	pid, running, err := s.supervisor()
	if err != nil {
		return err
	}
	if err := checkKindChange(wanted.Node, next.Node, running); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(o.Limit, followLimit), errFollowLimit)
	defer cancel()
	told := teller{out: o.Out, start: time.Now(), said: map[string]bool{}}
	if running {
		// A supervisor that has only just been started has written nothing yet.
		if told.before, err = s.readState(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		told.know(told.before)
	}
	if !told.before.Healthy() || !slices.Equal(wanted.Clusters, next.Clusters) {
		fmt.Fprintf(o.Out, "starting what doesn't run of %s\n", strings.Join(append([]string{Management}, next.Clusters...), ", "))
	}
	next.Generation = wanted.Generation + 1
	if err := writeJSON(s.wantedFile(), next); err != nil {
		return err
	}
	var ended <-chan struct{}
	if !running {
		if pid, ended, err = s.spawn(); err != nil {
			return err
		}
	}
	// The rest only looks on. Once the supervisor is at work another command may
	// come, most of all a Down by somebody who is tired of waiting.
	return s.follow(ctx, pid, next, ended, told, unlock)
}

// merge adds what Up asks for to what was wanted before.
func merge(was Wanted, o UpOptions) Wanted {
	clusters := slices.Concat(was.Clusters, o.Clusters)
	slices.Sort(clusters)
	return Wanted{
		Format:   format,
		Clusters: slices.Compact(clusters),
		Operator: o.Operator,
		Node:     o.Node,
		NewPorts: o.NewPorts,
	}
}

// lockCommand keeps two commands from changing the stack at the same time.
func (s *Stack) lockCommand(out io.Writer) (unlock func(), err error) {
	path := s.path("command.lock")
	lock, err := folder.TryLock(path)
	if errors.Is(err, folder.ErrLocked) {
		fmt.Fprintln(out, "waiting for another ir dev command on this stack to end")
		lock, err = folder.Lock(path)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Close() }, nil
}

// errFollowLimit tells Up's own limit from an end that came from outside.
var errFollowLimit = errors.New("the limit of waiting for the stack")

// follow prints what the supervisor does until it has done all it can. It
// calls atWork when the supervisor has taken up the wish, or a later one: the
// supervisor serves only the newest, and each includes the clusters of those before.
func (s *Stack) follow(ctx context.Context, pid int, w Wanted, ended <-chan struct{}, told teller, atWork func()) error {
	ticker := time.NewTicker(tick / 2)
	defer ticker.Stop()
	for {
		st, err := s.readState()
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		case err == nil && st.Supervisor == pid && st.Generation >= w.Generation:
			atWork()
			told.tell(st)
			if st.Settled {
				return s.conclude(told, st, w)
			}
		}
		select {
		case <-ctx.Done():
			return s.stoppedWaiting(ctx)
		case <-ended:
			return s.supervisorDied()
		case <-ticker.C:
		}
		if ended != nil {
			continue
		}
		now, running, err := s.supervisor()
		switch {
		case err != nil:
		case !running:
			return s.supervisorDied()
		case pid == 0:
			pid = now // it had the lock and was about to write its pid
		case now != 0 && now != pid:
			return errors.New("the stack was taken down and started again meanwhile: run ir dev up again")
		}
	}
}

// stoppedWaiting words why Up gave up on a supervisor that lives.
func (s *Stack) stoppedWaiting(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errFollowLimit) {
		return fmt.Errorf("the stack is not up after all this time and nothing says why: see ir dev status, or start over with ir dev down and ir dev up (log: %s)", shorten(s.supervisorLog()))
	}
	return errors.New("interrupted: the stack goes on starting by itself, see ir dev status; stop it with ir dev down")
}

// conclude says how it went.
func (s *Stack) conclude(told teller, st State, w Wanted) error {
	if err := badError(st); err != nil {
		return err
	}
	out := told.out
	if told.before.Healthy() && slices.EqualFunc(told.before.Components, st.Components, sameLife) {
		fmt.Fprintln(out, "the stack is up already, nothing to do")
		return s.printAddresses(out)
	}
	fmt.Fprintf(out, "the stack is up, after %.1f s\n", time.Since(told.start).Seconds())
	for _, service := range services() {
		if service.makes != "" && service.wanted(w) && s.Repo != "" && fileIdentity(service.program(s, w)) == "" {
			fmt.Fprintf(out, "%s is left out: it isn't built (%s)\n", service.name, service.makes)
		}
	}
	return s.printAddresses(out)
}

// badError words what needs a person: causes only, not what follows from them.
func badError(st State) error {
	var causes, others []string
	for _, c := range st.Bad() {
		text := c.Describe()
		if c.Phase == NotReady {
			others = append(others, text)
		} else {
			causes = append(causes, text)
		}
	}
	if len(causes) == 0 {
		causes = others
	}
	if len(causes) == 0 {
		return nil
	}
	return fmt.Errorf("not everything is up: %s", strings.Join(causes, "; "))
}

// printAddresses lists the kubeconfigs, which are what people go on with.
func (s *Stack) printAddresses(out io.Writer) error {
	st, err := s.readState()
	if err != nil {
		return err
	}
	for _, c := range st.Components {
		if c.Name == devstack.APIServer {
			fmt.Fprintf(out, "  %-12s %s  --kubeconfig %s\n", c.Cluster, c.Address, shorten(s.kubeconfig(c.Cluster)))
		}
	}
	return nil
}

// teller prints each thing as it becomes ready, and in the end what didn't,
// once. Until then a dead component may be one that is about to be started again.
type teller struct {
	out    io.Writer
	start  time.Time
	said   map[string]bool
	before State // of a stack that ran already, else zero
}

func (t teller) tell(st State) {
	for _, c := range st.Components {
		news := c.Phase == Ready || c.Phase.bad() && st.Settled
		if !news || t.said[c.key()] {
			continue
		}
		t.said[c.key()] = true
		fmt.Fprintf(t.out, "%6.1f s  %-12s %-24s %s\n", time.Since(t.start).Seconds(), c.Cluster, c.Name, c.Phase)
	}
}

// know takes what is ready as told already.
func (t teller) know(st State) {
	for _, c := range st.Components {
		if c.Phase == Ready {
			t.said[c.key()] = true
		}
	}
}

// key tells one life of a component in one phase from all others. A thing
// without a process lives from one change to the next.
func (c Component) key() string {
	life := int64(c.Pid)
	if c.Pid == 0 {
		life = c.ReadyAt.UnixNano()
	}
	return fmt.Sprintf("%s/%s %s %d", c.Cluster, c.Name, c.Phase, life)
}

func sameLife(a, b Component) bool { return a.key() == b.key() }
