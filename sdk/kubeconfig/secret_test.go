// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/kubeconfig"
)

func TestConfigShowsNoSecret(t *testing.T) {
	config := kubeconfig.Config{Token: kubeconfig.NewSecret("S3CR3T"), ClientKeyData: kubeconfig.NewSecret("S3CR3T")}
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"fmt": fmt.Sprint(config), "with names": fmt.Sprintf("%+v", &config), "Go syntax": fmt.Sprintf("%#v", config), "JSON": string(encoded),
	} {
		if strings.Contains(got, "S3CR3T") || !strings.Contains(got, "[redacted]") {
			t.Errorf("%s: %s, want [redacted] twice and no secret", name, got)
		}
	}
}
