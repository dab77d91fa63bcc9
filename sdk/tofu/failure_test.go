// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/provider"
)

func TestFailure(t *testing.T) {
	tests := map[string]struct {
		reason, text string
		kind         provider.ErrorKind
		want         string
	}{
		"Expired": {
			"Credentials that ended during a long apply.", "Error: creating EKS Node Group: operation error EKS: CreateNodegroup, https response error StatusCode: 403, api error ExpiredToken: The security token included in the request is expired",
			provider.Unauthenticated, "the credentials have expired",
		},
		"NoCredentials": {"None at all.", "Error: No valid credential sources found", provider.Unauthenticated, "No valid credential sources"},
		"GoogleDefault": {"None at all, in Google's words.", "could not find default credentials", provider.Unauthenticated, ""},
		"Linode401":     {"A token that is withdrawn.", "Error: [401] Invalid Token", provider.Unauthenticated, ""},
		"Denied":        {"A right that is missing.", "api error AccessDenied: User: arn:aws:iam::1:role/x is not authorized to perform: ec2:CreateVpc", provider.Denied, "ec2:CreateVpc"},
		"GoogleDenied":  {"The same at Google.", "googleapi: Error 403: Required 'compute.networks.create' permission for 'projects/x', forbidden", provider.Denied, "compute.networks.create"},
		"Quota":         {"The account has no more.", "api error VpcLimitExceeded: The maximum number of VPCs has been reached.", provider.Quota, "VpcLimitExceeded"},
		"GoogleQuota":   {"The same at Google, under the code of a refusal.", "googleapi: Error 403: Quota 'CPUS' exceeded. Limit: 8.0 in region us-central1., quotaExceeded", provider.Quota, "CPUS"},
		"Throttled":     {"Passes by itself.", "api error Throttling: Rate exceeded", provider.Unavailable, "asked too often"},
		"Capacity":      {"Passes by itself, perhaps elsewhere.", "api error InsufficientInstanceCapacity: We currently do not have sufficient capacity", provider.Unavailable, ""},
		"Dependency":    {"The one that stands in the way is named.", "Error: deleting EC2 Subnet (subnet-0aaa): DependencyViolation: The subnet 'subnet-0aaa' has dependencies and cannot be deleted.", provider.Conflict, "subnet-0aaa"},
		"Refused":       {"Nobody answers.", `Error: Get "http://localhost/api/v1/serviceaccounts/infrared": dial tcp 127.0.0.1:80: connect: connection refused`, provider.Unavailable, "connection refused"},
		"Timeout":       {"The registry does not answer.", "Error: Failed to query available provider packages\n\nCould not retrieve: net/http: request canceled (Client.Timeout exceeded while awaiting headers)", provider.Unavailable, ""},
		"StalePlan":     {"The state has moved on.", "Error: Saved plan is stale\n\nThe given plan file can no longer be applied", provider.Conflict, "plan again"},
		"Argument":      {"The module is wrong.", `Error: Unsupported argument` + "\n\n  on main.tf line 2", provider.Invalid, "template: "},
		"Token":         {"git wants one.", "fatal: could not read Username for 'https://example.net': terminal prompts disabled", provider.Unauthenticated, "GIT_TOKEN"},
		"NoTag":         {"A version that is not there.", "Error: Failed to download module\n\nfatal: Remote branch v9 not found in upstream origin", provider.Invalid, "source: "},
		"Lock": {
			"Who holds it, and nothing that changes each time.", "Error: Error acquiring the state lock\n\nError message: the state is already locked\nLock Info:\n  ID:        f2ab685b-0000-0000-0000-000000000001\n  Path:      \n  Operation: OperationTypeApply\n  Who:       root@tofu-edge-3-apply-x1\n  Version:   1.12.6\n  Created:   2026-01-01 00:00:00.1 +0000 UTC",
			provider.Conflict, "lock f2ab685b-0000-0000-0000-000000000001, held by root@tofu-edge-3-apply-x1 for OperationTypeApply",
		},
		"Unknown": {"Whatever else.", "Error: something odd", provider.Other, "something odd"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := &run{red: newRedactor(provider.BuildRequest{})}
			err := r.failed("applying", fmt.Errorf("exit status 1\n│ %s", strings.ReplaceAll(tc.text, "\n", "\n│ ")))
			if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\ngot %s: %v; want %s with %q", tc.reason, provider.KindOf(err), err, tc.kind, tc.want)
			}
			if strings.ContainsAny(err.Error(), "│╷╵") || strings.Contains(err.Error(), "exit status") || strings.Contains(err.Error(), "Created") {
				t.Errorf("the text has a frame or what changes each time: %v", err)
			}
		})
	}
}

func TestFailureIsShortAndTheSame(t *testing.T) {
	r := &run{red: newRedactor(provider.BuildRequest{Folder: "/run/x1"})}
	long := strings.Repeat("many words\n", 1000)
	err := r.failed("applying", errors.New(long+"api error Oddity: at the end, RequestID: 0b1e-77, in /run/x1/tofu/fetch/main.tf \x1b[31mred\x1b[0m"))
	if len(err.Error()) > maxTail+100 || !strings.HasSuffix(err.Error(), "api error Oddity: at the end, in fetch/main.tf red") {
		t.Errorf("got %d bytes: …%s", len(err.Error()), err.Error()[max(0, len(err.Error())-200):])
	}
}

func TestRedactor(t *testing.T) {
	secret := "S3CR3T/with+signs\"and\nlines that are long enough"
	r := newRedactor(provider.BuildRequest{Credentials: provider.Credentials{Values: map[string]provider.Secret{
		"A_KEY": provider.NewSecret(secret), "A_REGION": provider.NewSecret("us-east-1"), "GIT_TOKEN": provider.NewSecret("S3CR3T-git"), "SHORT_KEY": provider.NewSecret("a"),
	}}})
	forms := []string{
		secret, `S3CR3T/with+signs\"and\nlines that are long enough`, "lines that are long enough", base64.StdEncoding.EncodeToString([]byte("x-access-token:S3CR3T-git")),
		"https://x:S3CR3T-git@example.net", "S3CR3T%2Fwith%2Bsigns%22and%0Alines+that+are+long+enough",
	}
	for _, form := range forms {
		if got := r.clean("before " + form + " after"); strings.Contains(got, "S3CR3T") || strings.Contains(got, "long enough") || !strings.Contains(got, "[redacted]") {
			t.Errorf("%q is shown as %q", form, got)
		}
	}
	if got := r.clean("a bucket in us-east-1"); got != "a bucket in us-east-1" {
		t.Errorf("a region and a letter are no secrets: %q", got)
	}
}

func TestLogPassesWholeLines(t *testing.T) {
	var out strings.Builder
	l := &log{to: &out, red: newRedactor(provider.BuildRequest{Credentials: provider.Credentials{Values: map[string]provider.Secret{"K": provider.NewSecret("S3CR3T")}}})}
	for _, part := range []string{"one S3C", "R3T two\nthr", "ee\n", "rest S3CR", "3T"} {
		_, _ = l.Write([]byte(part))
	}
	l.flush()
	if diff := cmp.Diff("one [redacted] two\nthree\nrest [redacted]\n", out.String()); diff != "" {
		t.Errorf("a secret that comes in two parts (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"allowed_api_cidrs", "name", "region", "az_count"}
	for name, want := range map[string]string{"allowed_api_cidr": "allowed_api_cidrs", "Region": "region", "azcount": "az_count", "node_pool_disk": ""} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func TestMadeThing(t *testing.T) {
	for _, thing := range []Thing{
		{Address: `module.a["x.y"].aws_vpc.this[0]`, ID: "vpc-1", Type: "aws_vpc"}, {Address: `a.b["\""]`, ID: `i"d \ with; all`, Type: "a"},
	} {
		got, ok := madeThing(madeAs(thing, thing.ID) + "; and more")
		if diff := cmp.Diff(thing, got); diff != "" || !ok {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
	if _, ok := madeThing("somebody saw it"); ok {
		t.Error("another text was read as ours")
	}
}
