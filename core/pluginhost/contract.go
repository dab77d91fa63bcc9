// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"fmt"

	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/provider"
)

// The checks of what a plugin answers. They are those on which the host's own safety rests; the rest of the contract is for
// the kit that authors run. Each returns the answer as it may be used, or what is wrong with it.

// checkConnect lets no plugin lead the host to another API server than it asked about, nor have it store what can't be stored.
func checkConnect(req provider.ConnectRequest, c provider.Connection) (provider.Connection, error) {
	if err := checkConnection(req, c); err != nil {
		return provider.Connection{}, err
	}
	if err := checkIdentity(c.Identity, len(c.NotLooked) > 0); err != nil {
		return provider.Connection{}, err
	}
	for i := range c.Holds {
		if err := fitResource(&c.Holds[i]); err != nil {
			return provider.Connection{}, err
		}
		if err := proven(c.Holds[i]); err != nil {
			return provider.Connection{}, err
		}
	}
	c.NotLooked = tidied(c.NotLooked)
	return c, nil
}

func checkConnection(req provider.ConnectRequest, c provider.Connection) error {
	switch {
	case c.Endpoint.Server == "":
		return errors.New("the connection has no server")
	case req.Endpoint != nil && req.Endpoint.Server != c.Endpoint.Server:
		return fmt.Errorf("it was asked about server %q, and answered with another one", req.Endpoint.Server)
	case c.Version == "":
		return errors.New("the connection has no version")
	case !connect.IsVersion(c.Version):
		return errors.New("the connection's version is not one that an API server gives, such as v1.33.4")
	case c.Region != "" && !connect.IsRegion(c.Region):
		return errors.New("the connection's region can't be the value of a label: at most 63 letters, digits and . _ -")
	case c.Nodes != nil && (c.Nodes.Ready < 0 || c.Nodes.Ready > c.Nodes.Total):
		return fmt.Errorf("%d of %d nodes are ready", c.Nodes.Ready, c.Nodes.Total)
	}
	return fit(named{"the connection's server", c.Endpoint.Server})
}

// checkIdentity wants to know which cluster it is, or what stood in the way.
func checkIdentity(id provider.ClusterIdentity, excused bool) error {
	traits := 0
	for name, values := range id.Traits {
		traits += len(name)
		for _, value := range values {
			traits += len(value)
		}
	}
	switch {
	case id.KubeSystemUID == "" && !excused:
		return errors.New("the identity has no UID of kube-system, and nothing is named that could not be looked at")
	case id.KubeSystemUID != "" && !connect.IsUID(id.KubeSystemUID):
		return errors.New("the identity's UID of kube-system is none: 1 to 64 letters, digits and hyphens")
	case traits > longestTraits:
		return fmt.Errorf("the identity's traits are larger than %d KiB", longestTraits>>10)
	}
	return fit(
		named{"the identity's cloud ID", id.CloudID}, named{"the identity's account", id.Account},
		named{"the identity's network", id.Network}, named{"the identity's OIDC issuer", id.OIDCIssuer},
	)
}

// checkSnapshot wants one answer a disk, in order: a disk is told apart by its place alone where two have no claim. A state that is
// not known counts as Pending.
func checkSnapshot(req provider.SnapshotRequest, answers []provider.Snapshot) ([]provider.Snapshot, error) {
	if len(answers) != len(req.Disks) {
		return nil, fmt.Errorf("it was asked about %d disks, and answered for %d", len(req.Disks), len(answers))
	}
	for i, answer := range answers {
		if answer.Disk != req.Disks[i] {
			return nil, fmt.Errorf("answer %d was to be about disk %q, and is about another one", i, req.Disks[i].Volume)
		}
		answers[i].Why = prose(answer.Why, longestText)
		if err := fitSnapshot(answer); err != nil {
			return nil, fmt.Errorf("the answer for disk %q: %w", answer.Disk.Volume, err)
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

// fitSnapshot refuses a command that people can't read before they run it.
func fitSnapshot(answer provider.Snapshot) error {
	if answer.Resource != nil {
		if err := fitResource(answer.Resource); err != nil {
			return err
		}
	}
	return fit(named{"the command that restores it", answer.Restore})
}

// thing is what a resource is known by in an answer.
type thing struct{ kind, id string }

// checkConfirm wants each recorded thing in exactly one of the three lists: one that is in none would be taken for looked at.
func checkConfirm(req provider.ConfirmRequest, f provider.Findings) (provider.Findings, error) {
	if err := fitFindings(&f); err != nil {
		return provider.Findings{}, err
	}
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
	if err := fitFindings(&f); err != nil {
		return provider.Findings{}, err
	}
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
	if err := fit(named{"the account", identity.Account}, named{"the principal", identity.Principal}); err != nil {
		return provider.Identity{}, err
	}
	for i, right := range identity.Missing {
		identity.Missing[i] = prose(right, longestText)
	}
	identity.NotLooked = tidied(identity.NotLooked)
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
