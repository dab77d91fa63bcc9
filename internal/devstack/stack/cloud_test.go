// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"darkshift.io/infrared/internal/devstack/stack"
)

// The fake cloud stays what a credentials Secret says it is, over all that happens
// to the stack, and gives out the stack's further clusters.
func TestCloud(t *testing.T) {
	b := newBenchWith(t, "plugins/fake")
	b.mustUp("edge")
	access := b.cloudEnv()
	row := b.row(stack.Management, "cloud")
	if row.Phase != stack.Ready || row.Address != access["FAKE_ENDPOINT"] {
		t.Errorf("the cloud is %+v, want it Ready at %s", row, access["FAKE_ENDPOINT"])
	}
	if got := b.whoami(access["FAKE_TOKEN"]); got != http.StatusOK {
		t.Errorf("the cloud answers %d to the token of cloud.env", got)
	}
	if got := b.whoami("another"); got != http.StatusUnauthorized {
		t.Errorf("the cloud answers %d to another token", got)
	}
	// Everybody may read a command line.
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", row.Pid))
	if err != nil || strings.Contains(string(command), access["FAKE_TOKEN"]) {
		t.Errorf("the token is in the cloud's command line (%v)", err)
	}
	if got, want := b.cloudClusters(row.Pid), []string{"edge"}; !cmp.Equal(got, want) {
		t.Errorf("the cloud gives out %v, want %v", got, want)
	}

	b.mustUp("west")
	row = b.row(stack.Management, "cloud")
	if got, want := b.cloudClusters(row.Pid), []string{"edge", "west"}; !cmp.Equal(got, want) {
		t.Errorf("with one more cluster the cloud gives out %v, want %v", got, want)
	}
	if out := b.mustUp(); !strings.HasPrefix(out, "the stack is up already, nothing to do\n") {
		t.Errorf("Up once more says\n%s", out)
	}

	b.mustDown(false)
	l, err := net.Listen("tcp4", strings.TrimPrefix(access["FAKE_ENDPOINT"], "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = b.up()
	for _, want := range []string{"management/cloud", fmt.Sprintf("is taken by process %d", os.Getpid()), "--new-ports"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Up with the cloud's port in other hands: %v\nwant %q in it", err, want)
		}
	}
	if out, err := b.upWith(stack.UpOptions{NewPorts: true}); err != nil {
		t.Fatalf("Up with new ports: %v\n%s", err, out)
	}
	now := b.cloudEnv()
	if now["FAKE_ENDPOINT"] == access["FAKE_ENDPOINT"] || now["FAKE_TOKEN"] != access["FAKE_TOKEN"] {
		t.Error("with new ports the endpoint stayed or the token changed")
	}
	if got := b.whoami(access["FAKE_TOKEN"]); got != http.StatusOK {
		t.Errorf("the cloud answers %d to the token of before", got)
	}
}

// cloudEnv reads the file that a credentials Secret is made of.
func (b *bench) cloudEnv() map[string]string {
	b.t.Helper()
	path := filepath.Join(b.Data, "cloud.env")
	info, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		b.t.Errorf("cloud.env is %s, want it private", info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	if len(values) != 2 || values["FAKE_ENDPOINT"] == "" || len(values["FAKE_TOKEN"]) < 20 {
		b.t.Fatal("cloud.env doesn't hold FAKE_ENDPOINT and a long FAKE_TOKEN, and nothing else")
	}
	return values
}

// whoami asks the cloud for the token's name, and gives the code of its answer.
func (b *bench) whoami(token string) int {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.cloudEnv()["FAKE_ENDPOINT"]+"/v1/whoami", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// cloudClusters are the names of the clusters that the cloud was given.
func (b *bench) cloudClusters(pid int) []string {
	b.t.Helper()
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for arg := range strings.SplitSeq(string(command), "\x00") {
		if name, file, ok := strings.Cut(arg, "="); ok && file == filepath.Join(b.Data, name+".kubeconfig") {
			names = append(names, name)
		}
	}
	return names
}
