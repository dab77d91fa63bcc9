// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/provider"
)

// The labels that everything made for a cluster carries.
const (
	labelCluster     = "infrared-cluster"
	labelIncarnation = httpcloud.LabelOwner
)

func labels(of provider.Cluster) map[string]string {
	return map[string]string{labelCluster: of.Name, labelIncarnation: of.Incarnation}
}

// cloud is one call's way into the cloud: it is opened from the request and dropped with it.
type cloud struct {
	client  httpcloud.Client
	account string
}

// open reads credentials and lets the cloud judge them.
func open(ctx context.Context, credentials provider.Credentials) (cloud, error) {
	c := cloud{client: httpcloud.Client{
		Endpoint: credentials.Values[endpointName].Reveal(), Token: credentials.Values[tokenName].Reveal(),
	}}
	if c.client.Endpoint == "" || c.client.Token == "" {
		return c, provider.Errorf(provider.Unauthenticated, "the credentials hold no %s or no %s: add both to the Secret", endpointName, tokenName)
	}
	who, err := c.client.WhoAmI(ctx)
	c.account = who.Account
	return c, verdict(ctx, err)
}

// verdict puts the cloud's error into the words that every plugin speaks.
func verdict(ctx context.Context, err error) error {
	var e *httpcloud.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return provider.Unavailablef(0, "stopped before the cloud answered: call again")
	case !errors.As(err, &e):
		return provider.Errorf(provider.Other, "%w", err)
	}
	kind := map[httpcloud.Code]provider.ErrorKind{
		httpcloud.CodeUnauthenticated: provider.Unauthenticated, httpcloud.CodeDenied: provider.Denied, httpcloud.CodeQuota: provider.Quota,
		httpcloud.CodeConflict: provider.Conflict, httpcloud.CodeInUse: provider.Conflict, httpcloud.CodeThrottled: provider.Unavailable,
		httpcloud.CodeUnavailable: provider.Unavailable,
	}[e.Code]
	return &provider.Error{Kind: cmp.Or(kind, provider.Other), After: e.After, Message: e.Message, Err: err}
}

// fatal says whether an error is about the whole call rather than about one thing or place.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, httpcloud.CodeUnauthenticated)
}

// of lists the things that carry the cluster's labels with this incarnation, and the places that nobody saw. An error is about the
// whole look.
func (c cloud) of(ctx context.Context, of provider.Cluster) ([]httpcloud.Thing, []provider.NotLooked, error) {
	regions, err := c.client.Regions(ctx)
	if err != nil {
		return nil, nil, verdict(ctx, err)
	}
	var all []httpcloud.Thing
	var notLooked []provider.NotLooked
	for _, kind := range httpcloud.Kinds() {
		for _, region := range regions {
			things, err := c.client.List(ctx, kind, region, labels(of))
			if err != nil && fatal(ctx, err) {
				return nil, nil, verdict(ctx, err)
			}
			if err != nil {
				// Half a list proves nothing of what is not in it. What is in it is there.
				notLooked = append(notLooked, provider.NotLooked{What: kind, Where: region, Why: verdict(ctx, err).Error()})
			}
			all = append(all, things...)
		}
	}
	slices.SortFunc(all, func(a, b httpcloud.Thing) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return all, notLooked, nil
}

// resource is a thing as Infrared knows things.
func (c cloud) resource(t httpcloud.Thing, of provider.Cluster) provider.Resource {
	resource := provider.Resource{
		Kind: t.Kind, ID: t.ID, Name: t.Name, Location: t.Region, Account: c.account, ConsoleURL: console(t.ID),
		Proof: provider.ProofLabel, Why: fmt.Sprintf("label %s=%s", labelIncarnation, of.Incarnation),
	}
	if t.Kind == httpcloud.KindSnapshot {
		resource.Role = provider.RoleSafetySnapshot
	}
	return resource
}

// openFor is open, for a call that is about one cluster.
func openFor(ctx context.Context, of provider.Cluster, credentials provider.Credentials) (cloud, error) {
	if err := checkCluster(of); err != nil {
		return cloud{}, err
	}
	return open(ctx, credentials)
}

// checkCluster refuses a request that doesn't say whose things it is about.
func checkCluster(of provider.Cluster) error {
	if of.Name == "" {
		return provider.Invalidf("cluster.name", "is missing")
	}
	if of.Incarnation == "" {
		return provider.Invalidf("cluster.incarnation", "is missing: nothing can be attributed without it")
	}
	return nil
}

// sortFindings sorts by kind, then by ID, so that the same findings are the same answer.
func sortFindings(found *provider.Findings) {
	for _, list := range [][]provider.Finding{found.Present, found.Absent, found.Unknown, found.Backups} {
		slices.SortFunc(list, func(a, b provider.Finding) int { return compareResources(a.Resource, b.Resource) })
	}
}

func compareResources(a, b provider.Resource) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}
