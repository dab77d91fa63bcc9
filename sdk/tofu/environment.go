// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

const (
	gitToken = "GIT_TOKEN"
	// gitUser is a name that every forge takes beside a token.
	gitUser = "x-access-token"
)

// environment is all that OpenTofu's processes see, without what is for fetching modules.
func (o Options) environment(req provider.BuildRequest, f folder) (map[string]string, error) {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": f.home, "TMPDIR": f.temp, "LANG": "C.UTF-8",
		"TF_CLI_CONFIG_FILE": f.cliConfig, "CHECKPOINT_DISABLE": "1",
		envRun: req.Cluster.Name,
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, found := os.LookupEnv(name); found {
			env[name] = value
		}
	}
	maps.Copy(env, o.Env)
	names := regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	for _, name := range req.Credentials.Names() {
		if name == gitToken {
			continue
		}
		_, ours := env[name]
		prefixed := slices.ContainsFunc([]string{"TF_", "GIT_", "LD_", "INFRARED_"}, func(p string) bool { return strings.HasPrefix(name, p) })
		if ours || prefixed || !names.MatchString(name) {
			return nil, provider.Invalidf("credentials."+name, "can't be set by credentials: they are variables of the cloud's own tools, such as AWS_REGION")
		}
		env[name] = req.Credentials.Values[name].Reveal()
	}
	if not := tfexec.ProhibitedEnv(env); len(not) > 0 {
		return nil, fmt.Errorf("the plugin sets %s in OpenTofu's environment, which is not its own to set", slices.Min(not))
	}
	return env, nil
}

// fetching adds what git needs to fetch modules. The token is told to the source's host only, and asked for only once that
// host wants one; it is in no file and no argument. A plan or an apply does not get it.
func fetching(env map[string]string, token provider.Secret, s Source) map[string]string {
	env = maps.Clone(env)
	env["GIT_TERMINAL_PROMPT"] = "0"
	env["GIT_CONFIG_NOSYSTEM"] = "1"
	env["GIT_CONFIG_GLOBAL"] = os.DevNull
	env["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
	env["GIT_ALLOW_PROTOCOL"] = "https:ssh"
	if s.Scheme == "http" {
		env["GIT_ALLOW_PROTOCOL"] += ":http"
	}
	// The empty helper takes away those that the machine has.
	config := [][2]string{{"credential.helper", ""}}
	if s.Kind == SourceGit && s.Scheme != "ssh" && !token.IsZero() {
		env[gitToken] = token.Reveal()
		config = append(config, [2]string{
			"credential." + s.Scheme + "://" + s.Host + ".helper",
			`!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' ` + gitUser + ` "$` + gitToken + `"; }; f`,
		})
	}
	env["GIT_CONFIG_COUNT"] = fmt.Sprint(len(config))
	for i, pair := range config {
		env[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)], env[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)] = pair[0], pair[1]
	}
	return env
}

// folder is the layout of a run's folder.
type folder struct {
	root      string
	home      string // HOME, empty, so that nobody's configuration is read
	temp      string // TMPDIR, outside of root where its path would be too long for a socket
	cliConfig string
	fetch     string // where the module is fetched, below .terraform/modules/template
	data      string // TF_DATA_DIR of the module: providers, nested modules, the backend
	variables string
	plan      string
	backend   string // the kubeconfig of the backend
	bare      string // a module of nothing but the backend
	stop      string // the pipe that stops OpenTofu
	pid       string // process IDs of OpenTofu and its shim
	spilled   string // a state that an earlier run could not write
}

// maxSocketFolder is how long TMPDIR's path may be: providers put their sockets there, whose paths end at 107 bytes.
const maxSocketFolder = 60

// layout is where things are in a run's folder. All are in a folder of our own in it, as the run's may be open to others.
func layout(root string) folder {
	in := func(name string) string { return filepath.Join(root, "tofu", name) }
	return folder{
		root: in(""), home: in("home"), cliConfig: in("tofu.rc"), fetch: in("fetch"), data: in("data"), variables: in("variables.tfvars.json"),
		plan: in("plan"), backend: in("state.kubeconfig"), bare: in("bare"), stop: in("stop"), pid: in("pid"),
		spilled: filepath.Join(root, "spilled.tfstate"),
	}
}

// newFolder empties a run's folder, of which an earlier run that was killed may have left something.
func newFolder(ctx context.Context, root, cluster string) (folder, error) {
	if !filepath.IsAbs(root) {
		return folder{}, provider.Invalidf("folder", "must be an absolute path")
	}
	f := layout(root)
	if err := awaitOrphan(ctx, f.pid, cluster); err != nil {
		return folder{}, err
	}
	if err := f.keepSpilled(); err != nil {
		return folder{}, err
	}
	if err := os.RemoveAll(f.root); err != nil {
		return folder{}, fmt.Errorf("emptying the run's folder: %w", err)
	}
	for _, path := range []string{f.home, f.fetch, f.data, f.bare} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return folder{}, fmt.Errorf("making the run's folder: %w", err)
		}
	}
	for _, parent := range []string{f.root, os.TempDir(), "/tmp", "/dev/shm"} {
		if len(parent) > maxSocketFolder-len("/tofu-1234567890") {
			continue
		}
		if temp, err := os.MkdirTemp(parent, "tofu-"); err == nil {
			f.temp = temp
			return f, nil
		}
	}
	return folder{}, provider.Errorf(provider.Other, "no folder for the sockets of OpenTofu's providers: none of the run's own, TMPDIR, /tmp and /dev/shm is writable and short enough")
}

func (f folder) close() { _ = os.RemoveAll(f.temp) }

// write puts a file of the run in place, for nobody else to read.
func (f folder) write(path string, content []byte) error {
	_ = os.Remove(path) // or the mode would be that of the old one
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}
