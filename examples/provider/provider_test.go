// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/sanity"
)

// The provider keeps the contract.
func TestContract(t *testing.T) {
	outcomes := sanity.Test(t, sanity.Config{
		Facts: facts(), Pace: 10 * time.Millisecond,
		World: func(ctx context.Context) (*sanity.World, error) {
			world, err := newWorld(ctx, t.TempDir())
			if err == nil {
				world.Provider = folder{}
				world.Again = func(context.Context) (provider.Provider, error) { return folder{}, nil }
			}
			return world, err
		},
	})
	wantRun(t, outcomes)
}

// And so does the program that it is compiled to, started as Infrared starts it.
func TestContractOfTheProgram(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "folder")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	outcomes := sanity.Test(t, sanity.Config{
		Binary: binary, Pace: 10 * time.Millisecond,
		World: func(ctx context.Context) (*sanity.World, error) { return newWorld(ctx, t.TempDir()) },
	})
	wantRun(t, outcomes)
}

// wantRun fails when a check did not run that can run here. A folder has no pages and no lists beside itself, deletes and
// copies in no time, and never hangs.
func wantRun(t *testing.T, outcomes []sanity.Outcome) {
	t.Helper()
	cannot := []string{
		"built-is-connected", "ctx-ends-soon", "deleting-is-present", "empty-page-goes-on", "half-list-unknown", "list-is-no-proof",
		"no-secret-in-output", "no-templates-unsupported", "refusal-unknown", "snapshot-does-not-wait", "unknown-price-is-nil",
	}
	for _, outcome := range outcomes {
		if len(outcome.Lacks) > 0 && !slices.Contains(cannot, outcome.Name) {
			t.Errorf("%s did not run: the world has no %v", outcome.Name, outcome.Lacks)
		}
	}
}

const testKey, externalID = "key-of-the-test", "external-of-the-test"

// newWorld lays out a folder with a cluster in it, and starts that cluster's API server.
func newWorld(ctx context.Context, path string) (*sanity.World, error) {
	living := provider.Cluster{Name: "living", Incarnation: "6f1c0e9e-92bd-4c3c-9f4b-3a0e3f1f9f10"}
	c, recorded, err := lay(ctx, filepath.Join(path, "ours"), testKey, living)
	if err != nil {
		return nil, err
	}
	next := provider.Cluster{Name: "neighbour", Incarnation: "77d1f2a0-0b0e-4a52-8a4c-6f3f7e1f4c55"}
	other, others, err := lay(ctx, filepath.Join(path, "theirs"), "key-of-the-neighbour", next)
	if err != nil {
		return nil, err
	}
	defer other.close()
	path = c.path
	server := apiServer()
	world := &sanity.World{
		Cluster: living, Identity: provider.ClusterIdentity{KubeSystemUID: kubeSystem, Account: path},
		Credentials: credentials(path, testKey), BadCredentials: credentials(path, "key-of-nobody"), Open: []string{pathName},
		Strange:  &provider.Disk{Driver: "nfs.example.com", Handle: "north/disk.strange"},
		Build:    build(path, nil),
		Rebuild:  build(path, map[string]json.RawMessage{"size": json.RawMessage(`"large"`), "nodes": json.RawMessage("3")}),
		BadBuild: build(path, map[string]json.RawMessage{"nodes": json.RawMessage("10")}), BadField: "variables.nodes",
		Account:  &provider.Account{ID: path, Role: "infrared", ExternalID: provider.NewSecret(externalID)},
		Tenant:   &sanity.Tenant{Cluster: next, Credentials: credentials(other.path, "key-of-the-neighbour"), Recorded: others},
		Recorded: recorded,
		Hooks:    hooks(c, server),
	}
	world.Connect = &provider.ConnectRequest{
		Cluster: living, Credentials: world.Credentials, PrivateAddresses: true,
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Endpoint: &provider.Endpoint{
			Server: server.URL, Token: provider.NewSecret(serverToken),
			CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
	}
	for _, r := range recorded {
		if r.Kind == kindDisk {
			world.Disks = append(world.Disks, provider.Disk{Driver: driver, Handle: r.ID, Zone: r.Location})
		}
	}
	return world, nil
}

// lay lays out a folder with a key that opens it and a cluster's things in it.
func lay(ctx context.Context, path, secret string, of provider.Cluster) (*cloud, []provider.Resource, error) {
	for _, name := range []string{"things/north", "things/south", "keys", "roles", "locks"} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return nil, nil, err
		}
	}
	c, err := enter(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	all := []string{rightBuild, rightLook, rightSnapshot}
	if err := errors.Join(
		c.write(keyFile(secret), key{Rights: all}),
		c.write("roles/infrared.json", role{ExternalID: externalID, Rights: all}),
	); err != nil {
		return nil, nil, err
	}
	var recorded []provider.Resource
	for _, t := range []thing{
		{Kind: kindCluster, Name: of.Name, Zone: "north"},
		{Kind: kindDisk, Name: "second", Zone: "south"},
		{Kind: kindDisk, Name: "first", Zone: "north"},
		{Kind: kindNode, Name: of.Name + "-0", Zone: "south"},
	} {
		t.Labels = labels(of)
		if _, err := c.create(ctx, t); err != nil {
			return nil, nil, err
		}
		recorded = append(recorded, t.resource(path))
	}
	return c, recorded, nil
}

func credentials(path, key string) provider.Credentials {
	return provider.Credentials{Values: map[string]provider.Secret{keyName: provider.NewSecret(key), pathName: provider.NewSecret(path)}}
}

func build(path string, variables map[string]json.RawMessage) *provider.BuildRequest {
	return &provider.BuildRequest{
		Cluster:     provider.Cluster{Name: "built", Incarnation: "a3a37a0c-3a2f-4a9e-bf55-0d8c4f1e7b21", Template: templateName},
		Credentials: credentials(path, testKey), Variables: variables,
	}
}

// hooks are what the kit does to the folder past the provider.
func hooks(c *cloud, server *httptest.Server) sanity.Hooks {
	at := func(name string) string { return filepath.Join(c.path, name) }
	// put writes a file for as long as the trouble lasts.
	put := func(name, text string) func(context.Context) (func(), error) {
		return func(context.Context) (func(), error) {
			return func() { _ = os.Remove(at(name)) }, os.WriteFile(at(name), []byte(text), 0o600)
		}
	}
	return sanity.Hooks{
		Things: func(context.Context) (map[string]string, error) { return picture(c) },
		Remove: func(_ context.Context, r provider.Resource) error { return os.Remove(at(thingFile(r.ID))) },
		Strangers: func(ctx context.Context) (sanity.Strangers, error) {
			var ids []string
			for name, of := range map[string]provider.Cluster{
				"a": {Name: "living-2", Incarnation: "0b6c1c52-6a36-4f0e-8b52-1d0b8c0a77aa"},
				"b": {Name: "living", Incarnation: "f3a0c7d1-52b4-4a3e-9a57-64f1d2b6c9ee"},
				"c": {},
			} {
				t, err := c.create(ctx, thing{Kind: kindDisk, Name: name, Zone: "north", Labels: labels(of)})
				if err != nil {
					return sanity.Strangers{}, err
				}
				ids = append(ids, t.id())
			}
			slices.Sort(ids)
			return sanity.Strangers{Cluster: ids[:1], Incarnation: ids[1:2], Unused: ids[2:]}, nil
		},
		CanWrite: func(_ context.Context, credentials provider.Credentials) (bool, error) {
			var k key
			err := c.read(keyFile(credentials.Values[keyName].Reveal()), &k)
			return slices.Contains(k.Rights, rightBuild) || slices.Contains(k.Rights, rightSnapshot), err
		},
		Close: func() {
			server.Close()
			c.close()
		},
		Trouble: map[sanity.Trouble]func(context.Context) (func(), error){
			sanity.ZoneSilent: func(context.Context) (func(), error) {
				return func() { _ = os.Rename(at("away"), at("things/south")) }, os.Rename(at("things/south"), at("away"))
			},
			sanity.Throttled:  put("busy", ""),
			sanity.QuotaShort: put("quota", "6"),
			sanity.Expired:    put(keyFile(testKey), `{"rights":["look"],"expiry":"2021-01-01T00:00:00Z"}`),
			sanity.RoleSmall:  put("roles/infrared.json", `{"externalID":"`+externalID+`","rights":["look"]}`),
			sanity.ClusterDown: func(context.Context) (func(), error) {
				server.Close()
				return func() {}, nil
			},
		},
	}
}

// picture is every file in the folder that is not a lock, with what is in it.
func picture(c *cloud) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(c.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, "locks/") {
			return err
		}
		text, err := c.root.ReadFile(name)
		id := strings.TrimSuffix(strings.TrimPrefix(name, "things/"), ".json")
		all[id] = string(text)
		return err
	})
	return all, err
}

const kubeSystem, serverToken = "11111111-2222-4333-8444-555555555555", "token-of-the-test"

// apiServer stands for the cluster's: it answers what Connect asks.
func apiServer() *httptest.Server {
	answers := map[string]string{
		"/version":                       `{"major":"1","minor":"34","gitVersion":"v1.34.1"}`,
		"/api/v1/namespaces/kube-system": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"` + kubeSystem + `"}}`,
		"/api/v1/nodes":                  `{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"living-0"}}]}`,
	}
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := answers[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer "+serverToken:
			http.Error(w, `{"kind":"Status","code":401}`, http.StatusUnauthorized)
		case !known:
			http.Error(w, `{"kind":"Status","code":404}`, http.StatusNotFound)
		case strings.Contains(r.Header.Get("Accept"), "as=Table"):
			http.Error(w, `{"kind":"Status","code":406}`, http.StatusNotAcceptable)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text))
		}
	}))
}
