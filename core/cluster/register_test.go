// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
)

// TestRegisterAndLetGo is the main job from end to end.
func TestRegisterAndLetGo(t *testing.T) {
	env.RunOperator(t)
	wc := start(t, testcluster.Options{})
	register(t, "main-job", wc.Kubeconfig(testcluster.KubeconfigOptions{Token: "S3CR3T.abc"}))

	testenv.Eventually(t, has("main-job", "Connected", "True", "Connected", "v1.31.4"))
	testenv.Eventually(t, has("main-job", "Registered", "False", "AppOfAppsMissing", "registry-main-job"))

	secret, err := getSecret("argocd", "cluster-main-job")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"name":   "main-job",
		"server": wc.URL(),
		"config": fmt.Sprintf(`{"bearerToken":"S3CR3T.abc","tlsClientConfig":{"insecure":false,"caData":%q}}`, base64.StdEncoding.EncodeToString(wc.CA().PEM())),
	}
	got := map[string]string{}
	for key, value := range secret.Data {
		got[key] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Argo CD's Secret (-want +got):\n%s", diff)
	}
	if secret.Labels["argocd.argoproj.io/secret-type"] != "cluster" {
		t.Errorf("Argo CD does not see a Secret with labels %v", secret.Labels)
	}

	letGo(t, "main-job")
	testenv.Eventually(t, absent("argocd", "cluster-main-job"))
	testenv.Eventually(t, absent("infrared", "main-job-kubeconfig"))
	if found := records(t, "main-job"); len(found) != 1 || found[0].Spec.Forced != "" {
		t.Errorf("want one record of an unforced deletion, got %+v", found)
	}
}
