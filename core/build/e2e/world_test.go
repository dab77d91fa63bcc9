// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package e2e lives the whole life of built Clusters with everything real but the cloud: an API server with its controllers and
// scheduler, infrared-operator and the node as processes, pods in which infrared-build, the plugin and OpenTofu run, and the fake cloud. And
// it kills each of these processes at each write of such a life.
//
// A world is where lives are lived. Three relays stand in it, before the API server for the operator, before the API server for the
// pods, and before the cloud; they see every write, and have the killer decide who dies at it. A life does what a person would do: plan, apply,
// change, delete, and run again what failed. After each run it takes account: whatever is in the cloud must be in OpenTofu's state, in the ledger,
// or listed as left behind.
package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/hack/killproxy"
	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testenv"
)

const (
	nodeName   = "local"
	buildImage = "infrared-build:dev"
	tofuImage  = "opentofu:dev"
	// cloudToken opens the cloud, and may be found nowhere but in the credentials Secrets.
	cloudToken = "S3CR3T-of-the-cloud"
)

// world is where Clusters live.
type world struct {
	*testenv.Env
	dir    string
	killer *killer
	// edges are the control planes behind the cloud's clusters, by name. A control plane is registered once at a time.
	edges map[string]*devstack.ControlPlane
	// cloudAddress is the cloud itself, cloudEndpoint what everybody uses.
	cloudAddress, cloudEndpoint string

	operator, node, cloud *service
	closers               []func()
	admin                 string // the user's name
}

// newWorld makes a world with as many edges as lives go on at a time.
func newWorld(t testing.TB, lanes int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), killer: newKiller(), edges: map[string]*devstack.ControlPlane{}}
	w.killer.world = w
	t.Cleanup(func() {
		if t.Failed() {
			w.showLogs(t)
		}
		w.close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := w.build(ctx, lanes); err != nil {
		t.Fatalf("making the world: %v", err)
	}
	return w
}

func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
}

func (w *world) later(do func()) { w.closers = append(w.closers, do) }

// path is a file or folder of the world's.
func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

func (w *world) build(ctx context.Context, lanes int) error {
	// Pods run as nobody.
	for dir := w.dir; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // of a test's own
			return err
		}
	}
	root, err := devstack.RepoRoot()
	if err != nil {
		return err
	}
	if err := w.programs(root); err != nil {
		return err
	}
	if w.Env, err = testenv.Start(ctx, w.path("m"), devstack.Scheduler); err != nil {
		return err
	}
	w.later(w.ControlPlane.Stop)
	if w.admin, err = w.Kubectl(ctx, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"); err != nil {
		return err
	}
	for i := range lanes {
		name := fmt.Sprintf("edge%d", i)
		edge, err := devstack.StartControlPlane(ctx, devstack.Options{
			Dir: w.path(name), Name: name, UnsafeNoFsync: true, Components: []string{devstack.APIServer},
		})
		if err != nil {
			return err
		}
		w.edges[name] = edge
		w.later(edge.Stop)
	}
	for _, part := range []func(context.Context) error{w.startCloud, w.startNode, w.startOperator, w.addProvider} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// programs puts the programs where a build in the meantime does not replace them.
func (w *world) programs(root string) error {
	for _, name := range []string{"infrared-operator", "infrared-build", "node", "tofu", "plugins/fake"} {
		from, to := filepath.Join(root, ".dev", "bin", name), w.path("bin", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // pods run them as nobody
			return err
		}
		if os.Link(from, to) == nil {
			continue
		}
		if err := copyProgram(from, to); err != nil {
			return fmt.Errorf("%w: run make stack build", err)
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // pods run it as nobody
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// relay starts a relay whose writes the killer gets to see.
func (w *world) relay(stream, upstream string, ca []byte, certificate tls.Certificate) (*killproxy.Relay, error) {
	r, err := killproxy.NewRelay(killproxy.RelayOptions{
		Upstream: upstream, CA: ca, Certificate: certificate,
		Watch: func(r *http.Request, body []byte) (bool, func() bool) { return w.killer.watch(stream, r, body) },
	})
	if err == nil {
		w.later(func() { _ = r.Close() })
	}
	return r, err
}

func (w *world) startCloud(ctx context.Context) error {
	port, err := devstack.FreePort()
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	w.cloudAddress = "http://" + address
	args := []string{"cloud", "--listen", address, "--data", w.path("cloud")}
	for name, edge := range w.edges {
		args = append(args, "--kubeconfig", name+"="+edge.Kubeconfig())
	}
	w.cloud, err = startService("the cloud", w.path("cloud.log"), func() *exec.Cmd {
		cmd := exec.Command(w.path("bin", "plugins", "fake"), args...)
		cmd.Env = append(os.Environ(), "FAKE_TOKEN="+cloudToken)
		return cmd
	})
	if err != nil {
		return err
	}
	w.later(w.cloud.stop)
	relay, err := w.relay(streamCloud, w.cloudAddress, nil, tls.Certificate{})
	if err != nil {
		return err
	}
	w.cloudEndpoint = relay.URL()
	return testenv.Poll(ctx, func() error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (w *world) startNode(ctx context.Context) error {
	began := time.Now()
	files, err := w.ControlPlane.NodeFiles(nodeName, began)
	if err != nil {
		return err
	}
	// The pods trust the cluster's own authority, which has signed the node's certificate for this machine.
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return err
	}
	relay, err := w.relay(streamPod, w.Admin.Host, w.Admin.CAData, pair)
	if err != nil {
		return err
	}
	if err := w.writeImages(); err != nil {
		return err
	}
	args := []string{
		"run", "--name", nodeName, "--root", w.path("node"), "--images", w.path("images.yaml"), "--kubeconfig", files.Kubeconfig,
		"--client-ca-file", files.ClientCA, "--tls-cert-file", files.Cert, "--tls-private-key-file", files.Key,
		"--api-address", strings.TrimPrefix(relay.URL(), "https://"), "--refresh", "1s",
	}
	w.node, err = startService("the node", w.path("node.log"), func() *exec.Cmd { return exec.Command(w.path("bin", "node"), args...) })
	if err != nil {
		return err
	}
	w.later(func() {
		w.node.stop()
		_ = exec.Command(w.path("bin", "node"), "stop", "--root", w.path("node"), "--grace", "1", "--purge").Run()
	})
	return testenv.Poll(ctx, func() error { return w.ControlPlane.NodeReady(ctx, nodeName, began) })
}

// writeImages writes the node's table of images. JSON is YAML, too.
func (w *world) writeImages() error {
	type image struct {
		Image   string            `json:"image"`
		Files   map[string]string `json:"files"`
		Command []string          `json:"command"`
		User    int               `json:"user"`
	}
	const nobody = 65532
	table, err := json.Marshal(map[string][]image{"images": {
		{Image: buildImage, Command: []string{"/usr/local/bin/infrared-build"}, User: nobody, Files: map[string]string{
			"/usr/local/bin/infrared-build": w.path("bin", "infrared-build"), "/usr/local/lib/infrared/plugins": w.path("bin", "plugins"),
		}},
		// The fake's module needs neither a shell nor git.
		{Image: tofuImage, Command: []string{"tofu"}, User: nobody, Files: map[string]string{"/usr/local/bin/tofu": w.path("bin", "tofu")}},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(w.path("images.yaml"), table, 0o600)
}

func (w *world) startOperator(context.Context) error {
	relay, err := w.relay(streamOperator, w.Admin.Host, w.Admin.CAData, tls.Certificate{})
	if err != nil {
		return err
	}
	kubeconfig := w.path("operator.kubeconfig")
	if err := w.WriteKubeconfig(kubeconfig, relay.URL(), relay.CA()); err != nil {
		return err
	}
	args := []string{
		"--kubeconfig", kubeconfig, "--allow-address", testenv.Loopback[0].String(), "--leader-elect=false", "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "--plugins", w.path("bin", "plugins"), "--build-image", buildImage, "--tofu-image", tofuImage,
	}
	w.operator, err = startService("the operator", w.path("operator.log"), func() *exec.Cmd {
		return exec.Command(w.path("bin", "infrared-operator"), args...)
	})
	if err == nil {
		w.later(w.operator.stop)
	}
	return err
}

// addProvider tells the operator of the plugin, and waits until it is healthy.
func (w *world) addProvider(ctx context.Context) error {
	program, err := os.ReadFile(w.path("bin", "plugins", "fake"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(program)
	p := &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: "fake"},
		Spec:       v1alpha1.ProviderSpec{Binary: "fake", SHA256: hex.EncodeToString(sum[:])},
	}
	if err := w.Client.Create(ctx, p); err != nil {
		return err
	}
	return testenv.Poll(ctx, func() error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(p.Status.Conditions, "Healthy") {
			return fmt.Errorf("the plugin is not healthy: %+v", p.Status.Conditions)
		}
		return nil
	})
}

// showLogs prints the last words of the programs.
func (w *world) showLogs(t testing.TB) {
	const most = 6 << 10
	for _, name := range []string{"operator.log", "node.log", "cloud.log"} {
		text, err := os.ReadFile(w.path(name))
		if err == nil {
			t.Logf("the last words in %s:\n%s", name, text[max(0, len(text)-most):])
		}
	}
}
