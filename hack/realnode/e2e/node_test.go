// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build realnode

package e2e

import (
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	out, err := shared.kubectl(t.Context(), "run", "try", "--image", tofuImage, "--restart=Never", "--command", "--", "/bin/sh", "-c", "tofu version; git --version; echo $KUBERNETES_SERVICE_PORT")
	t.Log(out, err)
	out, err = shared.kubectl(t.Context(), "wait", "pod/try", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=20s")
	t.Log(out, err)
	if err != nil {
		out, _ = shared.kubectl(t.Context(), "describe", "pod/try")
		t.Log(out)
		shared.explain()
		t.Fatal()
	}
	out, err = shared.kubectl(t.Context(), "logs", "try")
	t.Log(out, err)
	if !strings.Contains(out, "git version") {
		t.Fatal()
	}
}
