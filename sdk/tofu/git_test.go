// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"darkshift.io/infrared/sdk/provider"
)

const token = "S3CR3T-git-token"

// forge is a git server with basic authentication, and one repository.
type forge struct {
	url     string
	asked   atomic.Int32 // requests without the token
	let     atomic.Int32 // requests with it
	private bool
}

// newForge serves a repository with a module at each tag, whose output v is the tag.
func newForge(t *testing.T, private bool, extra map[string]string, tags ...string) *forge {
	t.Helper()
	root := t.TempDir()
	work, bare := filepath.Join(root, "work"), filepath.Join(root, "srv", "m.git")
	git := func(dir string, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.net", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.net")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s (install git)", args, err, out)
		}
	}
	git(root, "init", "-q", "-b", "main", work)
	for _, tag := range tags {
		files := map[string]string{
			"eks/main.tf": `
variable "name" {}
module "shared" { source = "../shared" }
output "v" { value = module.shared.v }
`,
			"shared/main.tf": `output "v" { value = "` + tag + `" }`,
		}
		for name, text := range extra {
			files[name] = text
		}
		for name, text := range files {
			path := filepath.Join(work, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(work, "add", "-A")
		git(work, "commit", "-q", "--allow-empty", "-m", tag)
		git(work, "tag", tag)
	}
	git(root, "clone", "-q", "--bare", work, bare)
	f := &forge{private: private}
	server := httptest.NewServer(f.handler(t, filepath.Dir(bare)))
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *forge) handler(t *testing.T, root string) http.Handler {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatalf("git: %v (install git)", err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if password == token {
			f.let.Add(1)
		} else {
			f.asked.Add(1)
		}
		if f.private && password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	})
}

// fromForge is a plan of a module in a repository.
func fromForge(t *testing.T, o Options, source, version string, secrets map[string]string) (result provider.BuildResult, folder, log string, err error) {
	t.Helper()
	binary, err := tofuBinary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	o.Schema, o.Binary, o.Log = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`), binary, &out
	o.LocalState = filepath.Join(dir, "terraform.tfstate")
	credentials := provider.Credentials{Values: map[string]provider.Secret{}}
	for name, value := range secrets {
		credentials.Values[name] = provider.NewSecret(value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err = Build(ctx, o, provider.BuildRequest{
		Action: provider.ActionApply, Cluster: provider.Cluster{Name: "edge"}, Version: version, Source: source, Folder: filepath.Join(dir, "run"), Credentials: credentials,
	}, nil)
	return result, dir, out.String(), err
}

func TestVersions(t *testing.T) {
	tags := []string{"v0.14.0", "v0.3.0+tf.0.13.3", "release/2027.1", "gke-cluster/v1.2.0"}
	f := newForge(t, false, nil, tags...)
	for i, tag := range tags {
		t.Run(tag, func(t *testing.T) {
			// By turns the provider's own source, and one of the request's without a ref.
			o, source := Options{Source: "git::" + f.url + "/m.git//eks?ref={version}"}, ""
			if i%2 == 1 {
				o, source = Options{}, "git::"+f.url+"/m.git//eks"
			}
			result, _, log, err := fromForge(t, o, source, tag, nil)
			if err != nil || string(result.Outputs["v"]) != `"`+tag+`"` {
				t.Errorf("output v is %s, %v\n%s", result.Outputs["v"], err, log)
			}
		})
	}
	_, _, _, err := fromForge(t, Options{}, "git::"+f.url+"/m.git//eks?ref=v9", "v1", nil)
	if !errors.Is(err, provider.Invalid) || !strings.HasPrefix(err.Error(), "source: ") {
		t.Errorf("a tag that is not there: %s %v", provider.KindOf(err), err)
	}
	_, _, _, err = fromForge(t, Options{}, "git::"+f.url+"/m.git//nowhere?ref=v0.14.0", "v1", nil)
	if !errors.Is(err, provider.Invalid) {
		t.Errorf("a folder that is not there: %s %v", provider.KindOf(err), err)
	}
}

func TestPrivateSource(t *testing.T) {
	f := newForge(t, true, nil, "v1")
	source := "git::" + f.url + "/m.git//eks?ref=v1"
	result, folder, log, err := fromForge(t, Options{}, source, "v1", map[string]string{"GIT_TOKEN": token})
	if err != nil || string(result.Outputs["v"]) != `"v1"` {
		t.Fatalf("with the token: %v, %s\n%s", err, result.Outputs["v"], log)
	}
	if f.let.Load() == 0 {
		t.Error("the server was never shown the token")
	}
	found := 0
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found++
		if bytes.Contains(text, []byte(token)) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(gitUser+":"+token)))) {
			t.Errorf("the token is in %s", strings.TrimPrefix(path, folder))
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("looking through what the run left: %v, %d files", err, found)
	}
	if _, err := os.Stat(filepath.Join(folder, "run/tofu/fetch/.terraform/modules/template/.git/config")); err != nil {
		t.Errorf("the configuration of git was not looked at: %v", err)
	}
	if strings.Contains(log, token) {
		t.Errorf("the token is in the log:\n%s", log)
	}

	for name, secrets := range map[string]map[string]string{"without a token": nil, "with another": {"GIT_TOKEN": "S3CR3T-wrong"}} {
		_, _, log, err := fromForge(t, Options{}, source, "v1", secrets)
		if !errors.Is(err, provider.Unauthenticated) || !strings.Contains(err.Error(), "GIT_TOKEN") || strings.Contains(err.Error()+log, "S3CR3T") {
			t.Errorf("%s: %s %v", name, provider.KindOf(err), err)
		}
	}
}

// A module may name another of its own. The token is for the host of the source and no other.
func TestTokenStaysAtItsHost(t *testing.T) {
	other := newForge(t, true, nil, "v1")
	f := newForge(t, true, map[string]string{"eks/other.tf": `module "other" { 
  source = "git::` + other.url + `/m.git//shared?ref=v1" 
}`}, "v1")
	_, _, _, err := fromForge(t, Options{}, "git::"+f.url+"/m.git//eks?ref=v1", "v1", map[string]string{"GIT_TOKEN": token})
	if !errors.Is(err, provider.Unauthenticated) || f.let.Load() == 0 || other.asked.Load() == 0 || other.let.Load() != 0 {
		t.Errorf("%v: the own host saw the token %d times; the other %d times, and was asked %d times without it", err, f.let.Load(), other.let.Load(), other.asked.Load())
	}
}

func TestCalledModulesAreCheckedToo(t *testing.T) {
	other := newForge(t, false, nil, "v1")
	f := newForge(t, false, map[string]string{"eks/other.tf": `module "other" { 
  source = "git::` + other.url + `/m.git//shared?ref=v1" 
}`}, "v1")
	source := "git::" + f.url + "/m.git//eks?ref=v1"
	own, elsewhere := Allowed{Host: strings.TrimPrefix(f.url, "http://")}, Allowed{Host: strings.TrimPrefix(other.url, "http://"), Path: "m"}
	_, _, _, err := fromForge(t, Options{Allow: []Allowed{own}}, source, "v1", nil)
	if !errors.Is(err, provider.Invalid) || !strings.Contains(err.Error(), "it calls module.other") {
		t.Errorf("a module called from elsewhere: %v", err)
	}
	if _, _, log, err := fromForge(t, Options{Allow: []Allowed{own, elsewhere}}, source, "v1", nil); err != nil {
		t.Errorf("with both allowed: %v\n%s", err, log)
	}
}
