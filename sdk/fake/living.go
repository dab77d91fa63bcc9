// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// Driver is the CSI driver of the clusters' disks.
const Driver = "disk.csi.fake.example"

// The names of the identity's traits: UIDs from which the names of disks and load balancers are computed.
const (
	traitVolumes  = "volumes"
	traitServices = "services"
)

// Living is a cluster that runs, and what a host has written down of it.
type Living struct {
	Cluster  provider.Cluster
	Identity provider.ClusterIdentity
	Endpoint provider.Endpoint
	// Disks are what its volumes are on, not sorted.
	Disks []provider.Disk
	// Recorded are all its things.
	Recorded []provider.Resource
}

// living is an API server.
type living struct {
	identity provider.ClusterIdentity
	cluster  provider.Cluster
	version  string
	// tokens are when each bearer token ends; zero: never.
	tokens map[string]time.Time
}

// AddCluster adds a cluster that nobody built here but that runs: a network, a control plane, two nodes, three disks and a
// load balancer. Its disks and its load balancer carry no labels of ours: their names are computed from UIDs.
func (c *Cloud) AddCluster(access Access, of provider.Cluster) Living {
	account := access.Account.ID
	network := c.Add(Thing{Kind: KindNetwork, Name: stem(of), Account: account, Labels: labels(of)})
	control := c.Add(Thing{Kind: KindCluster, Name: stem(of), Account: account, Labels: labels(of)})
	things := []Thing{network, control}
	zones := c.options.Zones
	for i := range 2 {
		things = append(things, c.Add(Thing{
			Kind: KindNode, Name: fmt.Sprintf("%s-node-%d", stem(of), i), Zone: zones[i%len(zones)], Account: account,
			Labels: labels(of), Hourly: price(20_000),
		}))
	}
	l := Living{Cluster: of}
	l.Identity = identityOf(of, account, control.ID, network.ID)
	for i := range slices.Backward(l.Identity.Traits[traitVolumes]) {
		volume := "pvc-" + l.Identity.Traits[traitVolumes][i]
		disk := c.Add(Thing{Kind: KindDisk, Name: volume, Zone: zones[i%len(zones)], Account: account, Hourly: price(1_000)})
		things = append(things, disk)
		l.Disks = append(l.Disks, provider.Disk{
			Volume: volume, Claim: fmt.Sprintf("data/claim-%d", i), Driver: Driver, Handle: disk.ID, SizeBytes: 10 << 30, Zone: disk.Zone,
		})
	}
	things = append(things, c.Add(Thing{
		Kind: KindLoadBalancer, Name: balancerName(l.Identity.Traits[traitServices][0]), Account: account,
	}))
	for _, t := range things {
		l.Recorded = append(l.Recorded, t.Resource())
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.start(of, l.Identity)
	l.Endpoint = provider.Endpoint{Server: serverOf(of), CA: caOf(of), Token: provider.NewSecret(c.clusterToken(run, time.Time{}))}
	return l
}

// start lets a cluster's API server answer. It needs the lock.
func (c *Cloud) start(of provider.Cluster, identity provider.ClusterIdentity) *living {
	run := c.clusters[serverOf(of)]
	if run == nil {
		run = &living{tokens: map[string]time.Time{}}
		c.clusters[serverOf(of)] = run
	}
	run.cluster, run.identity, run.version = of, identity, "v1.34.1-fake.1"
	return run
}

// clusterToken makes a token for an API server. It needs the lock.
func (c *Cloud) clusterToken(run *living, expiry time.Time) string {
	c.made++
	text := fmt.Sprintf("cluster-secret-%04d", c.made)
	run.tokens[text] = expiry
	return text
}

func serverOf(of provider.Cluster) string { return "https://" + stem(of) + ".fake.example:6443" }

func caOf(of provider.Cluster) []byte { return []byte("the CA of " + serverOf(of)) }

func balancerName(service string) string { return "a" + strings.ReplaceAll(service, "-", "")[:31] }

func price(hourly provider.USD) *provider.USD { return &hourly }

// identityOf makes up who a cluster is. The UIDs come from the incarnation, so that a test can be run again.
func identityOf(of provider.Cluster, account, control, network string) provider.ClusterIdentity {
	return provider.ClusterIdentity{
		KubeSystemUID: uid(of, "kube-system"), CloudID: control, Account: account, Network: network,
		OIDCIssuer: "https://issuer.fake.example/" + of.Incarnation,
		Traits: map[string][]string{
			traitVolumes:  {uid(of, "volume-0"), uid(of, "volume-1"), uid(of, "volume-2")},
			traitServices: {uid(of, "service-0")},
		},
	}
}

func uid(of provider.Cluster, what string) string {
	sum := sha256.Sum256([]byte(of.Incarnation + "/" + what))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// dial reaches an API server with a bearer token.
func (c *Cloud) dial(server, token string) (living, provider.Nodes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.clusters[server]
	if run == nil || c.things[run.identity.CloudID] == nil || c.trouble.ClusterDown || c.trouble.Silent {
		return living{}, provider.Nodes{}, provider.Unavailablef(0, "the API server of the cluster does not answer: it may be down or unreachable from here")
	}
	expiry, known := run.tokens[token]
	if !known || (!expiry.IsZero() && !c.options.Now().Before(expiry)) {
		return living{}, provider.Nodes{}, provider.Errorf(provider.Unauthenticated, "the API server refuses the token: register the cluster with a valid one")
	}
	var nodes provider.Nodes
	for _, t := range c.things {
		if t.Kind == KindNode && t.Labels[LabelIncarnation] == run.cluster.Incarnation && t.State != StateDeleting {
			nodes.Total++
			nodes.Ready++
		}
	}
	return *run, nodes, nil
}

// grant makes a token for a cluster that was built here.
func (c *Cloud) grant(server string, lifetime time.Duration) (provider.Secret, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run := c.clusters[server]
	if run == nil || c.trouble.ClusterDown {
		return provider.Secret{}, time.Time{}, provider.Unavailablef(0, "the API server of the cluster does not answer: it may be down or unreachable from here")
	}
	c.writes++
	expiry := c.options.Now().Add(lifetime)
	return provider.NewSecret(c.clusterToken(run, expiry)), expiry, nil
}
