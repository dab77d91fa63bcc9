// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/sdk/kubeconfig"
)

func TestReadRefuses(t *testing.T) {
	for name, tc := range refusals(newFixture(t)) {
		t.Run(name, func(t *testing.T) {
			config, err := kubeconfig.Read([]byte(tc.text))
			var refused *kubeconfig.Error
			if !errors.As(err, &refused) {
				t.Fatalf("Read gave %v, %v; want a refusal: %s", config, err, tc.reason)
			}
			if refused.Field != tc.field || refused.Reason != tc.why {
				t.Errorf("refused %q for %q, want %q for %q: %s", refused.Field, refused.Reason, tc.field, tc.why, tc.reason)
			}
			if !regexp.MustCompile(`(?is)` + tc.match).MatchString(err.Error()) {
				t.Errorf("the message does not match %q: %s", tc.match, err)
			}
			for _, forbidden := range []string{"S3CR3T", "unmarshal", "KUBERNETES_MASTER", "localhost", "no Auth Provider", "yaml:", "tls:", "no such file"} {
				if strings.Contains(err.Error(), forbidden) {
					t.Errorf("the message holds %q: %s", forbidden, err)
				}
			}
		})
	}
}

// A reader of the pipe would hang for ever, and the test with it.
func TestReadOpensNoFile(t *testing.T) {
	f := newFixture(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatalf("making a named pipe (a Unix file system is needed): %v", err)
	}
	text := k0{User: fmt.Sprintf(`{client-certificate: %s, client-key-data: "{{KEY}}"}`, pipe)}.text(f)
	_, err := kubeconfig.Read([]byte(text))
	if err == nil || !strings.Contains(err.Error(), "client-certificate") || strings.Contains(err.Error(), pipe) {
		t.Errorf("Read gave %v, want a refusal of client-certificate that does not name the file", err)
	}
}

// Programs of the names that exec plugins have stand first in PATH and would leave a file.
func TestReadRunsNothing(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for _, name := range []string{"aws", "gke-gcloud-auth-plugin", "kubelogin", "aws-iam-authenticator", "gcloud"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for name, tc := range userRefusals(newFixture(t)) {
		_, _ = kubeconfig.Read([]byte(tc.text))
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("case %q ran a program", name)
		}
	}
}

func TestReadAccepts(t *testing.T) {
	for name, tc := range acceptances(t, newFixture(t)) {
		t.Run(name, func(t *testing.T) {
			got, err := kubeconfig.Read([]byte(tc.text))
			if err != nil {
				t.Fatalf("Read refused %q: %v", tc.reason, err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("Read (%s), want - got +:\n%s", tc.reason, diff)
			}
			again, err := kubeconfig.Read(kubeconfig.Write(*got))
			if err != nil {
				t.Fatalf("reading what Write wrote: %v", err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("Write and Read again, before - after +:\n%s", diff)
			}
		})
	}
}

func TestReaderNow(t *testing.T) {
	f := newFixture(t)
	text := []byte(k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "{{KEY}}"}`}.text(f))
	c, err := kubeconfig.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		now    time.Time
		ok     bool
	}{
		"last second": {"valid up to and with its last second", c.CertificateExpiry(), true},
		"one later":   {"over", c.CertificateExpiry().Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kubeconfig.Reader{Now: func() time.Time { return tc.now }}.Read(text)
			if (err == nil) != tc.ok {
				t.Errorf("Read gave %v: %s", err, tc.reason)
			}
		})
	}
}
