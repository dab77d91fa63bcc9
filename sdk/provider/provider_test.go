// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

func TestUSD(t *testing.T) {
	for want, amount := range map[string]provider.USD{
		"$0.00":                  0,
		"$73.00":                 73 * provider.Dollar,
		"$0.0225":                22_500,
		"$0.10":                  100_000,
		"$0.00015":               150,
		"$0.000001":              1,
		"-$1.50":                 -1_500_000,
		"-$9223372036854.775808": math.MinInt64,
		"$9223372036854.775807":  math.MaxInt64,
		"$235.00":                73*provider.Dollar + 121*provider.Dollar + 33*provider.Dollar + 8*provider.Dollar,
		"$0.123456":              123_456,
		"$1000000.00":            1_000_000 * provider.Dollar,
		"-$0.000001":             -1,
	} {
		if got := amount.String(); got != want {
			t.Errorf("%d millionths print as %s, want %s", int64(amount), got, want)
		}
	}
}

func TestClean(t *testing.T) {
	one := []provider.Finding{{Resource: provider.Resource{Kind: "disk", ID: "vol-1"}}}
	for name, c := range map[string]struct {
		reason   string
		findings provider.Findings
		want     bool
	}{
		"nothing":               {reason: "all was looked at, and nothing is there", want: true},
		"gone":                  {reason: "what is gone is gone", findings: provider.Findings{Absent: one}, want: true},
		"backups":               {reason: "a safety snapshot stays on purpose", findings: provider.Findings{Backups: one}, want: true},
		"present":               {reason: "something is left", findings: provider.Findings{Present: one}},
		"unknown":               {reason: "unknown is never clean", findings: provider.Findings{Absent: one, Unknown: one}},
		"a zone did not answer": {reason: "what nobody saw may be there", findings: provider.Findings{NotLooked: []provider.NotLooked{{What: "disk", Where: "us-east-1a"}}}},
	} {
		if got := c.findings.Clean(); got != c.want {
			t.Errorf("%s: Clean() = %v, want %v: %s", name, got, c.want, c.reason)
		}
	}
}

func TestDestructive(t *testing.T) {
	for operation, want := range map[provider.Operation]bool{
		provider.OperationCreate: false, provider.OperationRead: false, provider.OperationUpdate: false,
		provider.OperationReplace: true, provider.OperationDelete: true,
	} {
		if got := operation.Destructive(); got != want {
			t.Errorf("%s.Destructive() = %v, want %v", operation, got, want)
		}
	}
}

func TestCredentials(t *testing.T) {
	if !(provider.Credentials{}).IsZero() || (provider.Credentials{Folder: "/run/credentials"}).IsZero() {
		t.Error("IsZero does not go by what is there")
	}
	c := provider.Credentials{Values: map[string]provider.Secret{"GIT_TOKEN": provider.NewSecret("S3CR3T"), "AWS_REGION": provider.NewSecret("x")}}
	if diff := cmp.Diff([]string{"AWS_REGION", "GIT_TOKEN"}, c.Names()); diff != "" || c.IsZero() {
		t.Errorf("names, sorted (-want +got):\n%s", diff)
	}
}

// plain has the five verbs and nothing else.
type plain struct{ provider.Provider }

// full can do all there is.
type full struct{ provider.Provider }

func (full) Verify(context.Context, provider.Account) (provider.Identity, error) {
	return provider.Identity{}, nil
}

func (full) Mint(context.Context, provider.Account, provider.MintRequest) (provider.Credentials, error) {
	return provider.Credentials{}, nil
}

func TestCapabilities(t *testing.T) {
	if got := provider.Capabilities(plain{}); got != nil {
		t.Errorf("five verbs only have the capabilities %v, want none", got)
	}
	if diff := cmp.Diff([]provider.Capability{provider.CapabilityAccounts}, provider.Capabilities(full{})); diff != "" {
		t.Errorf("with Verify and Mint (-want +got):\n%s", diff)
	}
}
