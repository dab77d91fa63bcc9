// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"darkshift.io/infrared/sdk/provider"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	secret := provider.NewSecret("S3CR3T")
	type private struct{ inner provider.Secret }
	endpoint := provider.Endpoint{Token: secret, ClientKey: secret}
	credentials := provider.Credentials{Values: map[string]provider.Secret{"AWS_SECRET_ACCESS_KEY": secret}}
	build := provider.BuildRequest{Credentials: credentials, State: provider.State{Token: secret}, Plan: secret}
	values := map[string]any{
		"value": secret, "pointer": &secret, "in an endpoint": endpoint, "in a pointer to one": &endpoint,
		"in a connect request": provider.ConnectRequest{Endpoint: &endpoint, Credentials: credentials}, "in a connection": &provider.Connection{Endpoint: endpoint},
		"in credentials": credentials, "in a build request": build, "in a pointer to that request": &build,
		"in a build result": provider.BuildResult{Plan: secret}, "in a sweep request": provider.SweepRequest{Credentials: credentials},
		"in an account":      provider.Account{ExternalID: secret, Token: secret, Stored: credentials},
		"in a private field": private{secret}, "in a pointer to that": &private{secret},
		"in a slice": []provider.Secret{secret}, "in a map": map[string]any{"token": secret},
		"as a map's value": map[string]provider.Secret{"token": secret}, "twice wrapped": []any{private{secret}},
	}
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for verb := range strings.SplitSeq("v +v #v s q x X d b o c e g t T p w", " ") {
				// The format is made at run time so that vet lets the odd verbs through.
				fmt.Fprintf(&out, fmt.Sprint("%", verb, "\n"), value)
				fmt.Fprintf(&out, fmt.Sprint("%10.2", verb, "\n"), value)
			}
			fmt.Fprintln(&out, value, fmt.Errorf("with %v", value), errors.New(fmt.Sprint(value)))
			_ = json.NewEncoder(&out).Encode(value)
			_ = yaml.NewEncoder(&out).Encode(value)
			_ = xml.NewEncoder(&out).Encode(value)
			slog.New(slog.NewTextHandler(&out, nil)).Info("x", "value", value)
			slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "value", value)
			funcr.New(func(_, args string) { out.WriteString(args) }, funcr.Options{}).Info("x", "value", value)
			funcr.NewJSON(func(line string) { out.WriteString(line) }, funcr.Options{}).Info("x", "value", value)
			for _, form := range []string{"S3CR3T", "533343523354", "53 33 43 52", "UzNDUjNU", "0x53, 0x33"} {
				if strings.Contains(out.String(), form) {
					t.Errorf("the secret was printed as %q:\n%s", form, out.String())
				}
			}
		})
	}
}

func TestSecretSaysThatItIsThere(t *testing.T) {
	secret := provider.NewSecret("S3CR3T")
	encoded, err := json.Marshal(map[string]any{"token": secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"fmt": fmt.Sprint(secret), "quoted": fmt.Sprintf("%q", secret), "Go syntax": fmt.Sprintf("%#v", secret), "JSON": string(encoded),
	} {
		if !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: %s, want [redacted] in it", name, got)
		}
	}
	if got := fmt.Sprint(provider.Secret{}); got != "" {
		t.Errorf("the empty secret prints %q, want nothing", got)
	}
	var again struct{ Token provider.Secret }
	if err := json.Unmarshal([]byte(`{"token":"[redacted]"}`), &again); err == nil {
		t.Error("a redacted copy was read back as a secret")
	}
}

func TestSecretEqual(t *testing.T) {
	a, b := provider.NewSecret("S3CR3T"), provider.NewSecret("S3CR3T")
	if !a.Equal(b) || a.Equal(provider.NewSecret("other")) || a.Equal(provider.Secret{}) {
		t.Error("Equal does not go by the text")
	}
	if a.Reveal() != "S3CR3T" || (provider.Secret{}).Reveal() != "" || a.IsZero() || !provider.NewSecret("").IsZero() {
		t.Error("Reveal or IsZero does not go by the text")
	}
	// A test's diff ends up in a log as well.
	if diff := cmp.Diff(a, provider.NewSecret("S3CR3T-2")); diff == "" || strings.Contains(diff, "S3CR3T") {
		t.Errorf("go-cmp shows %q", diff)
	}
}
