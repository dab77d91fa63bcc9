// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/internal/testplugin"
)

// outcome is what kubectl get providers is to say of a plugin.
type outcome struct {
	why string
	// binary in the plugin folder; sum is its checksum where that is not the right one.
	binary, sum string
	reason      string
	status      metav1.ConditionStatus
	words       []string
}

const wrongSum = "0000000000000000000000000000000000000000000000000000000000000000"

func outcomes() map[string]outcome {
	const no = metav1.ConditionFalse
	return map[string]outcome{
		"missing":   {"there is no such file", "nope", wrongSum, "BinaryMissing", no, []string{`"nope"`, "plugin folder"}},
		"changed":   {"it is not the file that was pinned, and never runs", "touches", wrongSum, "ChecksumMismatch", no, []string{"SHA-256"}},
		"data":      {"it may not be executed", "data", "", "NotExecutable", no, nil},
		"greeter":   {"its first line is quoted", "prints-first", "", "PrintsFirst", no, []string{"hello from init"}},
		"forger":    {"its address is somebody else's", "forged", "", "ForgedHandshake", no, nil},
		"nobody":    {"nobody is at its address", "forged-nobody", "", "ForgedHandshake", no, nil},
		"newer":     {"both versions are told", "wrong-version", "", "VersionMismatch", no, []string{"2", "1"}},
		"crasher":   {"its last line is quoted", "exits", "", "CrashedAtStart", no, []string{"no region"}},
		"mute":      {"it says nothing", "silent", "", "Silent", no, nil},
		"boaster":   {"the field is named", "bad-facts", "", "FactsInvalid", no, []string{"name"}},
		"toy":       {"an author runs it", "good", "", "Attached", metav1.ConditionTrue, []string{"else runs it"}},
		"youngest":  {"toy has the cloud", "two-versions", "", "NameTaken", no, []string{"Provider toy is for toy"}},
		"incluster": {"whatever the others do", "incluster", "", "Healthy", metav1.ConditionTrue, []string{"runs and answers"}},
	}
}

// TestProvidersInWords gives the operator a plugin of each kind. Each shows as what it is, and none hurts the operator or another.
func TestProvidersInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	folder := testplugin.Build(t)
	ran := addOddBinaries(t, folder)
	addIncluster(t, folder.Path)
	for _, o := range outcomes() {
		if _, err := os.Stat(filepath.Join(folder.Path, o.binary)); err != nil && o.binary != "nope" {
			folder.Add(t, o.binary)
		}
	}
	port, err := devstack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	probe := fmt.Sprintf("127.0.0.1:%d", port)
	w.RunOperator(t, func(o *operator.Options) {
		o.PluginFolder, o.ProbeAddress, o.AttachProviders = folder.Path, probe, serveDebug(t, filepath.Join(folder.Path, "good"))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*testenv.Patience)
	defer cancel()
	w.applyProvider(ctx, t, "toy", folder.Path, outcomes()["toy"])
	w.providerMustBe(ctx, t, "toy", outcomes()["toy"])
	for name, o := range outcomes() {
		if name != "toy" {
			w.applyProvider(ctx, t, name, folder.Path, o)
		}
	}
	for name, o := range outcomes() {
		w.providerMustBe(ctx, t, name, o)
	}
	w.printProviders(ctx, t)
	if _, err := os.Stat(ran); err == nil {
		t.Error("a file with the wrong checksum was run")
	}
	mustBeReady(ctx, t, probe)
	w.useIncluster(ctx, t)
	mustBeReady(ctx, t, probe)
}

// useIncluster has a Cluster use the plugin, which then stays, also while its file is another one.
func (w *world) useIncluster(ctx context.Context, t *testing.T) {
	t.Helper()
	here := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "here"}, Spec: v1alpha1.ClusterSpec{InCluster: true}}
	if err := w.Client.Create(ctx, here); err != nil {
		t.Fatal(err)
	}
	w.mustBecome(ctx, t, "here", v1alpha1.ReasonConnected)
	testenv.Eventually(t, func() error {
		out, err := w.Kubectl(ctx, "delete", "provider", "incluster")
		if err == nil {
			t.Fatal("a Provider that a Cluster uses was deleted")
		}
		if !strings.Contains(out, "is used by Cluster here") {
			return errors.New(out)
		}
		return nil
	})

	good := w.provider(ctx, t, "incluster").Spec.SHA256
	w.pin(ctx, t, "incluster", wrongSum)
	w.providerMustBe(ctx, t, "incluster", outcome{reason: "ChecksumMismatch", status: metav1.ConditionFalse})
	broken := w.provider(ctx, t, "incluster")
	if broken.Status.Provider != "incluster" || broken.Status.UsedBy == nil || broken.Status.UsedBy.Count != 1 {
		t.Errorf("what it is for and who uses it stays known while it is down: %+v", broken.Status)
	}
	if c, err := w.cluster(ctx, "here"); err != nil || !c.DeletionTimestamp.IsZero() || c.Status.KubernetesVersion == "" {
		t.Errorf("the Cluster lost what was known of it: %v %+v", err, c.Status)
	}
	w.pin(ctx, t, "incluster", good)
	w.providerMustBe(ctx, t, "incluster", outcomes()["incluster"])
	w.repointIncluster(ctx, t, good)

	if err := w.letGo(ctx, "here"); err != nil {
		t.Fatal(err)
	}
	w.providerMustGo(ctx, t, "incluster")
}

// repointIncluster puts the program of another cloud in the place of the one that the Cluster uses, and that one back.
func (w *world) repointIncluster(ctx context.Context, t *testing.T, good string) {
	t.Helper()
	point := func(binary, sum string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"binary":%q,"sha256":%q}}`, binary, sum))
		if err := w.Client.Patch(ctx, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "incluster"}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	other := w.provider(ctx, t, "toy").Spec
	point(other.Binary, other.SHA256)
	w.providerMustBe(ctx, t, "incluster", outcome{
		reason: "ProviderChanged", status: metav1.ConditionFalse, words: []string{"for provider toy now", "for incluster: here does"},
	})
	if got := w.provider(ctx, t, "incluster").Status; got.Provider != "incluster" || got.UsedBy == nil || got.UsedBy.Count != 1 {
		t.Errorf("the Cluster lost its plugin's place to a program for another cloud: %+v", got)
	}
	point("incluster", good)
	w.providerMustBe(ctx, t, "incluster", outcomes()["incluster"])
}

// providerMustGo deletes a Provider as soon as that is allowed, and waits until it is gone.
func (w *world) providerMustGo(ctx context.Context, t testing.TB, name string) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := w.Client.Delete(ctx, p)
		if err == nil {
			err = errors.New("it was asked to go just now")
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("deleting Provider %s: %v", name, err)
	}
}

func (w *world) applyProvider(ctx context.Context, t testing.TB, name, folder string, o outcome) {
	t.Helper()
	sum := o.sum
	if sum == "" {
		data, err := os.ReadFile(filepath.Join(folder, o.binary))
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(data)
		sum = hex.EncodeToString(hash[:])
	}
	p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ProviderSpec{Binary: o.binary, SHA256: sum}}
	if err := w.Client.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
}

func (w *world) pin(ctx context.Context, t testing.TB, name, sum string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"sha256":%q}}`, sum))
	if err := w.Client.Patch(ctx, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch); err != nil {
		t.Fatal(err)
	}
}

func (w *world) provider(ctx context.Context, t testing.TB, name string) *v1alpha1.Provider {
	t.Helper()
	var p v1alpha1.Provider
	if err := w.Client.Get(ctx, types.NamespacedName{Name: name}, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// providerMustBe waits until the condition Healthy of a Provider is as wanted.
func (w *world) providerMustBe(ctx context.Context, t testing.TB, name string, want outcome) {
	t.Helper()
	err := testenv.Poll(ctx, func() error {
		p := w.provider(ctx, t, name)
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionHealthy)
		if c == nil || c.Status != want.status || c.Reason != want.reason || p.Status.ObservedGeneration != p.Generation {
			return fmt.Errorf("provider %s is %+v, want %s: %s", name, c, want.reason, want.why)
		}
		for _, word := range want.words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("provider %s: %q is not in %q: %s", name, word, c.Message, want.why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// printProviders shows what a person sees, and has the reason of each in it.
func (w *world) printProviders(ctx context.Context, t *testing.T) {
	t.Helper()
	out, err := w.Kubectl(ctx, "get", "providers")
	if err != nil {
		t.Fatal(out)
	}
	t.Log("\n" + out)
	for line := range strings.Lines(out) {
		name := strings.Fields(line)[0]
		if want, ok := outcomes()[name]; ok && !strings.Contains(line, want.reason) {
			t.Errorf("kubectl get providers does not say %s of %s: %s", want.reason, name, line)
		}
	}
}

// mustBeReady is that the operator answers its probe, as a node asks it.
func mustBeReady(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	for _, path := range []string{"/healthz", "/readyz"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s", path, answer.Status)
		}
	}
}

// addOddBinaries adds a script that touches the file returned when it is run, and a plugin that may not be executed.
func addOddBinaries(t *testing.T, folder testplugin.Folder) (ran string) {
	t.Helper()
	ran = filepath.Join(t.TempDir(), "ran")
	script := fmt.Sprintf("#!/bin/sh\ntouch %s\n", ran)
	if err := os.WriteFile(filepath.Join(folder.Path, "touches"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder.Path, "data"), []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	return ran
}

// addIncluster compiles the plugin for the management cluster itself into a folder.
func addIncluster(t *testing.T, folder string) {
	t.Helper()
	root, err := devstack.RepoRoot()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "incluster"), "./plugins/incluster")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the plugin: %v: %s", err, out)
	}
}

// serveDebug runs a plugin as its author does, and returns what is to be told to the operator.
func serveDebug(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.Command(path, "serve", "--debug")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	run(t, cmd)
	if !lines.Scan() {
		t.Fatalf("the plugin printed nothing: %v", lines.Err())
	}
	_, text, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
	if !ok {
		t.Fatalf("the plugin printed %q", lines.Text())
	}
	return strings.Trim(text, "'")
}
