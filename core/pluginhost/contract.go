// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/provider"
)

// The checks of what a plugin answers. They are those on which the host's own safety rests; the rest of the contract is for
// the kit that authors run. Each returns the answer as it may be used, or what is wrong with it.

// accept takes any answer.
func accept[T any](answer T) (T, error) { return answer, nil }

// checkConnect lets no plugin lead the host to another API server than it asked about.
func checkConnect(req provider.ConnectRequest, c provider.Connection) (provider.Connection, error) {
	switch {
	case c.Endpoint.Server == "":
		return provider.Connection{}, errors.New("the connection has no server")
	case req.Endpoint != nil && req.Endpoint.Server != c.Endpoint.Server:
		return provider.Connection{}, fmt.Errorf("it was asked about server %q, and answered with %q", req.Endpoint.Server, c.Endpoint.Server)
	case c.Version == "":
		return provider.Connection{}, errors.New("the connection has no version")
	case c.Nodes != nil && (c.Nodes.Ready < 0 || c.Nodes.Ready > c.Nodes.Total):
		return provider.Connection{}, fmt.Errorf("%d of %d nodes are ready", c.Nodes.Ready, c.Nodes.Total)
	}
	for _, resource := range c.Holds {
		if err := proven(resource); err != nil {
			return provider.Connection{}, err
		}
	}
	return c, nil
}

// checkSnapshot wants one answer a disk, in order: a disk is told apart by its place alone where two have no claim. A state that is
// not known counts as Pending.
func checkSnapshot(req provider.SnapshotRequest, answers []provider.Snapshot) ([]provider.Snapshot, error) {
	if len(answers) != len(req.Disks) {
		return nil, fmt.Errorf("it was asked about %d disks, and answered for %d", len(req.Disks), len(answers))
	}
	for i, answer := range answers {
		if answer.Disk != req.Disks[i] {
			return nil, fmt.Errorf("answer %d is about disk %q, and was to be about %q", i, answer.Disk.Volume, req.Disks[i].Volume)
		}
		switch answer.State {
		case provider.SnapshotReady:
			if answer.Resource == nil || answer.Resource.ID == "" {
				return nil, fmt.Errorf("the snapshot of disk %q is ready, and has no ID", answer.Disk.Volume)
			}
		case provider.SnapshotPending, provider.SnapshotFailed, provider.SnapshotUnsupported:
		default:
			answers[i].State = provider.SnapshotPending
		}
	}
	return answers, nil
}

// thing is what a resource is known by in an answer.
type thing struct{ kind, id string }

// checkConfirm wants each recorded thing in exactly one of the three lists: one that is in none would be taken for looked at.
func checkConfirm(req provider.ConfirmRequest, f provider.Findings) (provider.Findings, error) {
	answers := map[thing]int{}
	for _, list := range [][]provider.Finding{f.Present, f.Absent, f.Unknown} {
		for _, finding := range list {
			answers[thing{finding.Resource.Kind, finding.Resource.ID}]++
		}
	}
	// Two of the same kind and ID, in two regions say, are answered twice.
	asked := map[thing]int{}
	for _, resource := range req.Recorded {
		asked[thing{resource.Kind, resource.ID}]++
	}
	for _, resource := range req.Recorded {
		key := thing{resource.Kind, resource.ID}
		if answers[key] != asked[key] {
			return provider.Findings{}, fmt.Errorf("%s %q was asked about %s, and is answered %s", key.kind, key.id, times(asked[key]), times(answers[key]))
		}
	}
	return f, nil
}

// checkSweep wants a proof with everything that is said to be the cluster's: people delete by this list.
func checkSweep(f provider.Findings) (provider.Findings, error) {
	for _, list := range [][]provider.Finding{f.Present, f.Absent, f.Unknown, f.Backups} {
		for _, finding := range list {
			if err := proven(finding.Resource); err != nil {
				return provider.Findings{}, err
			}
		}
	}
	return f, nil
}

func checkVerify(identity provider.Identity) (provider.Identity, error) {
	if identity.Account == "" {
		return provider.Identity{}, errors.New("it does not say which account the role is in")
	}
	return identity, nil
}

func checkMint(c provider.Credentials) (provider.Credentials, error) {
	if c.IsZero() {
		return provider.Credentials{}, errors.New("there are no credentials in its answer")
	}
	return c, nil
}

// proven says what a resource lacks to be somebody's.
func proven(r provider.Resource) error {
	switch {
	case r.Kind == "" || r.ID == "":
		return fmt.Errorf("a resource has no kind or no ID: kind %q, ID %q, name %q", r.Kind, r.ID, r.Name)
	case r.Proof == "":
		return fmt.Errorf("%s %q is said to be the cluster's without proof", r.Kind, r.ID)
	}
	return nil
}

func times(n int) string {
	switch n {
	case 0:
		return "not at all"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
