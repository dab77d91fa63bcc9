// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

// said is the text of an error, or nothing.
func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestCheckConfirm(t *testing.T) {
	disk := func(id string) provider.Resource { return provider.Resource{Kind: "disk", ID: id} }
	found := func(resources ...provider.Resource) []provider.Finding {
		var list []provider.Finding
		for _, r := range resources {
			list = append(list, provider.Finding{Resource: r})
		}
		return list
	}
	west, east := disk("data"), disk("data")
	west.Location, east.Location = "us-west-2", "us-east-1"
	for name, c := range map[string]struct {
		reason   string
		recorded []provider.Resource
		findings provider.Findings
		want     string
	}{
		"each once": {
			reason: "this is what the contract asks for", recorded: []provider.Resource{disk("a"), disk("b"), disk("c")},
			findings: provider.Findings{Present: found(disk("c")), Absent: found(disk("a")), Unknown: found(disk("b"))},
		},
		"one left out": {
			reason: "a thing without an answer would be taken for gone", recorded: []provider.Resource{disk("a"), disk("b")},
			findings: provider.Findings{Absent: found(disk("a"))}, want: `disk "b" was asked about once, and is answered not at all`,
		},
		"nothing answered": {
			reason: "an empty answer is not a clean one", recorded: []provider.Resource{disk("a")},
			want: `disk "a" was asked about once, and is answered not at all`,
		},
		"in two lists": {
			reason: "it can't be there and gone", recorded: []provider.Resource{disk("a")},
			findings: provider.Findings{Present: found(disk("a")), Absent: found(disk("a"))}, want: `disk "a" was asked about once, and is answered 2 times`,
		},
		"only among the backups": {
			reason: "backups are no answer to what was asked", recorded: []provider.Resource{disk("a")},
			findings: provider.Findings{Backups: found(disk("a"))}, want: `disk "a" was asked about once, and is answered not at all`,
		},
		"another kind": {
			reason: "the same ID of another kind is another thing", recorded: []provider.Resource{disk("a")},
			findings: provider.Findings{Absent: found(provider.Resource{Kind: "address", ID: "a"})}, want: `disk "a" was asked about once, and is answered not at all`,
		},
		"two of one name": {
			reason: "names are only unique within a region", recorded: []provider.Resource{west, east},
			findings: provider.Findings{Present: found(west), Absent: found(east)},
		},
		"two of one name, one answered": {
			reason: "one answer does not do for two things", recorded: []provider.Resource{west, east},
			findings: provider.Findings{Absent: found(east)}, want: `disk "data" was asked about 2 times, and is answered once`,
		},
		"more than asked": {
			reason: "what else the plugin saw does no harm", recorded: []provider.Resource{disk("a")},
			findings: provider.Findings{Absent: found(disk("a")), Present: found(disk("z"))},
		},
		"nothing asked": {reason: "nothing recorded is nothing to answer"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checkConfirm(provider.ConfirmRequest{Recorded: c.recorded}, c.findings)
			if said(err) != c.want {
				t.Errorf("got %q, want %q: %s", said(err), c.want, c.reason)
			}
			if err == nil && cmp.Diff(c.findings, got) != "" || err != nil && !cmp.Equal(provider.Findings{}, got) {
				t.Errorf("the answer became %+v: %s", got, c.reason)
			}
		})
	}
}

func TestCheckSnapshot(t *testing.T) {
	a, b := provider.Disk{Volume: "pv-a", Handle: "vol-1"}, provider.Disk{Volume: "pv-b", Handle: "vol-2"}
	ready := &provider.Resource{Kind: "snapshot", ID: "snap-1"}
	for name, c := range map[string]struct {
		reason  string
		answers []provider.Snapshot
		want    string
		states  []provider.SnapshotState
	}{
		"in order": {
			reason: "one answer a disk", states: []provider.SnapshotState{"Ready", "Unsupported"},
			answers: []provider.Snapshot{{Disk: a, State: "Ready", Resource: ready}, {Disk: b, State: "Unsupported"}},
		},
		"a state from the future": {
			reason: "what is not known is not ready", states: []provider.SnapshotState{"Pending", "Pending"},
			answers: []provider.Snapshot{{Disk: a, State: "Thawing"}, {Disk: b}},
		},
		"one missing": {
			reason: "a disk without a snapshot would be lost", answers: []provider.Snapshot{{Disk: a, State: "Ready", Resource: ready}},
			want: "it was asked about 2 disks, and answered for 1",
		},
		"the wrong way round": {
			reason: "the position names the snapshot", answers: []provider.Snapshot{{Disk: b, State: "Pending"}, {Disk: a, State: "Pending"}},
			want: `answer 0 was to be about disk "pv-a", and is about another one`,
		},
		"ready without an ID": {
			reason: "a backup that nobody can find is none", answers: []provider.Snapshot{{Disk: a, State: "Ready"}, {Disk: b, State: "Pending"}},
			want: `the snapshot of disk "pv-a" is ready, and has no ID`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checkSnapshot(provider.SnapshotRequest{Disks: []provider.Disk{a, b}}, c.answers)
			if said(err) != c.want {
				t.Errorf("got %q, want %q: %s", said(err), c.want, c.reason)
			}
			var states []provider.SnapshotState
			for _, s := range got {
				states = append(states, s.State)
			}
			if diff := cmp.Diff(c.states, states); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestCheckConnect(t *testing.T) {
	here := provider.Endpoint{Server: "https://edge:6443"}
	good := provider.Connection{Endpoint: here, Version: "v1.37.0", Nodes: &provider.Nodes{Ready: 1, Total: 2}, Region: "us-ord",
		Identity: provider.ClusterIdentity{KubeSystemUID: "0e6f4bbc-0e7c-4b0c-9d9a-7b4e2b1a0c11"}}
	const noVersion = "the connection's version is not one that an API server gives, such as v1.33.4"
	const noRegion = "the connection's region can't be the value of a label: at most 63 letters, digits and . _ -"
	const noUID = "the identity's UID of kube-system is none: 1 to 64 letters, digits and hyphens"
	type connection = provider.Connection
	for name, c := range map[string]struct {
		reason string
		change func(*provider.Connection)
		want   string
	}{
		"good":                  {reason: "nothing is wrong", change: func(*provider.Connection) {}},
		"no server":             {reason: "there is nothing to connect to", change: func(c *provider.Connection) { c.Endpoint.Server = "" }, want: "the connection has no server"},
		"another server":        {reason: "a plugin must not lead the host elsewhere", change: func(c *provider.Connection) { c.Endpoint.Server = "https://evil" }, want: `it was asked about server "https://edge:6443", and answered with another one`},
		"no version":            {reason: "a server that answered has a version", change: func(c *provider.Connection) { c.Version = "" }, want: "the connection has no version"},
		"too many ready":        {reason: "no more are ready than there are", change: func(c *provider.Connection) { c.Nodes = &provider.Nodes{Ready: 3, Total: 2} }, want: "3 of 2 nodes are ready"},
		"fewer than none":       {reason: "a count is not negative", change: func(c *provider.Connection) { c.Nodes = &provider.Nodes{Ready: -1} }, want: "-1 of 0 nodes are ready"},
		"a version of a vendor": {reason: "vendors add to it", change: func(c *connection) { c.Version = "v1.33.4-gke.1036000" }},
		"a version of words":    {reason: "it stands in the status", change: func(c *connection) { c.Version = "A/b c\n2026" }, want: noVersion},
		"a huge version":        {reason: "a status that is too large can't be written, ever", change: func(c *connection) { c.Version = "v1.33.0+" + strings.Repeat("x", 2<<20) }, want: noVersion},
		"no region":             {reason: "not every cluster has one", change: func(c *connection) { c.Region = "" }},
		"a region in red":       {reason: "it is shown on terminals", change: func(c *connection) { c.Region = "us\n\x1b[31m" }, want: noRegion},
		"a long region":         {reason: "it is the value of a label", change: func(c *connection) { c.Region = strings.Repeat("a", 64) }, want: noRegion},
		"a UID of words":        {reason: "by it a cluster is known again", change: func(c *connection) { c.Identity.KubeSystemUID = "A/b c\n2026" }, want: noUID},
		"a long UID":            {reason: "by it a cluster is known again", change: func(c *connection) { c.Identity.KubeSystemUID = strings.Repeat("a", 65) }, want: noUID},
		"no UID": {
			reason: "nobody would know the cluster again", change: func(c *connection) { c.Identity.KubeSystemUID = "" },
			want: "the identity has no UID of kube-system, and nothing is named that could not be looked at",
		},
		"no UID and why": {
			reason: "what may not be read is said", change: func(c *connection) {
				c.Identity.KubeSystemUID, c.NotLooked = "", []provider.NotLooked{{What: "the namespace kube-system", Why: "no right"}}
			},
		},
		"an issuer of lines": {
			reason: "it is written down", change: func(c *connection) { c.Identity.OIDCIssuer = "https://a\nb" },
			want: "the identity's OIDC issuer has characters that can't be seen",
		},
		"huge traits": {
			reason: "they are written down", change: func(c *connection) {
				c.Identity.Traits = map[string][]string{"subnets": {strings.Repeat("x", 1<<20)}}
			}, want: "the identity's traits are larger than 256 KiB",
		},
		"a thing's ID in red": {
			reason: "half an ID is another thing's", change: func(c *connection) { c.Holds = []provider.Resource{{Kind: "disk", ID: "\x1b[31m", Proof: "Label"}} },
			want: "a resource's ID has characters that can't be seen",
		},
		"a thing's long ID": {
			reason: "half an ID is another thing's", change: func(c *connection) {
				c.Holds = []provider.Resource{{Kind: "disk", ID: strings.Repeat("x", 1025), Proof: "Label"}}
			}, want: "a resource's ID is longer than 1024 bytes",
		},
		"without proof": {
			reason: "what is recorded as the cluster's is deleted with it",
			change: func(c *provider.Connection) { c.Holds = []provider.Resource{{Kind: "disk", ID: "vol-1"}} },
			want:   `disk "vol-1" is said to be the cluster's without proof`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			connection := good
			c.change(&connection)
			if _, err := checkConnect(provider.ConnectRequest{Endpoint: &here}, connection); said(err) != c.want {
				t.Errorf("got %q, want %q: %s", said(err), c.want, c.reason)
			}
		})
	}
	if _, err := checkConnect(provider.ConnectRequest{}, good); err != nil {
		t.Errorf("a way in that the provider made is refused with %v", err)
	}
}

func TestCheckTheOthers(t *testing.T) {
	proven := provider.Finding{Resource: provider.Resource{Kind: "disk", ID: "vol-1", Proof: provider.ProofLabel}}
	bare := provider.Finding{Resource: provider.Resource{Kind: "disk", ID: "vol-2"}}
	nameless := provider.Finding{Resource: provider.Resource{Kind: "disk", Name: "data", Proof: provider.ProofName}}
	sweep := func(f provider.Findings) error { _, err := checkSweep(f); return err }
	verify := func(i provider.Identity) error { _, err := checkVerify(i); return err }
	mint := func(c provider.Credentials) error { _, err := checkMint(c); return err }
	for name, c := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"swept with proof":       {reason: "this is what the contract asks for", err: sweep(provider.Findings{Present: []provider.Finding{proven}, Backups: []provider.Finding{proven}})},
		"swept without proof":    {reason: "people delete by this list", err: sweep(provider.Findings{Unknown: []provider.Finding{bare}}), want: `disk "vol-2" is said to be the cluster's without proof`},
		"swept without an ID":    {reason: "nobody finds it", err: sweep(provider.Findings{Present: []provider.Finding{nameless}}), want: `a resource has no kind or no ID: kind "disk", ID "", name "data"`},
		"verified":               {reason: "an account is an answer", err: verify(provider.Identity{Account: "123456789012"})},
		"verified as nobody":     {reason: "the host compares the account", err: verify(provider.Identity{Principal: "role"}), want: "it does not say which account the role is in"},
		"minted":                 {reason: "one value is enough", err: mint(provider.Credentials{Values: map[string]provider.Secret{"AWS_REGION": provider.NewSecret("x")}})},
		"minted without a value": {reason: "nothing would let nobody in", err: mint(provider.Credentials{}), want: "there are no credentials in its answer"},
	} {
		if said(c.err) != c.want {
			t.Errorf("%s: got %q, want %q: %s", name, said(c.err), c.want, c.reason)
		}
	}
}
