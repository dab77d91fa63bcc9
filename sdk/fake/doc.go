// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is a provider that works, over a cloud in memory. It is for the tests of whoever calls a provider, and an
// example for whoever writes one.
//
// A [Cloud] has zones, accounts, clusters and things: networks, nodes, disks, load balancers, snapshots. It behaves as
// clouds do: what is deleted is there for a while yet, a snapshot takes its time, a list comes in pages and may lag behind,
// a zone may not answer. Time in it is counted in looks and not in seconds, so a test says exactly when something settles
// and waits for nothing. A test fills it by Add, AddCluster and Remove, puts it into [Trouble], and sees by Things what
// is there in truth.
//
// A [Provider] is one plugin over a cloud; several may share one, as after a restart. Beside the cloud's own trouble it has
// [Faults], which are the plugin's: a verb that fails, hangs, panics, or acts and then fails.
//
//	cloud := fake.NewCloud(fake.Options{})
//	account := cloud.AddAccount("account-1")
//	living := cloud.AddCluster(account, provider.Cluster{Name: "demo", Incarnation: "6f1c0e9e-…"})
//	p := fake.New(cloud)
//	findings, err := p.Sweep(ctx, provider.SweepRequest{Cluster: living.Cluster, Credentials: account.Credentials})
//
// Everything in it may be used from several goroutines at once.
package fake
