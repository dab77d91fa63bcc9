// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/operator"
	"darkshift.io/infrared/internal/testcluster"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/connect"
)

// compiled is the plugin incluster in a folder of its own.
func compiled(t *testing.T) (path, sum string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "incluster")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./plugins/incluster")
	cmd.Dir = env.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling the plugin: %v: %s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	return path, hex.EncodeToString(hash[:])
}

func getProvider(name string) (*v1alpha1.Provider, error) {
	var p v1alpha1.Provider
	err := env.Client.Get(context.Background(), types.NamespacedName{Name: name}, &p)
	return &p, err
}

// health is nil when the Provider incluster is as healthy as that.
func health(status metav1.ConditionStatus, reason string) func() error {
	return func() error {
		p, err := getProvider("incluster")
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionHealthy)
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("the Provider is %+v, want %s %s", found, status, reason)
		}
		return nil
	}
}

// killPlugin kills the process of a Provider, and returns when the operator runs another, or says why not.
func killPlugin(t *testing.T, name string, then func() error) {
	t.Helper()
	p, err := getProvider(name)
	if err != nil || p.Status.PID == 0 {
		t.Fatalf("no process of %s to kill: %+v %v", name, p.Status, err)
	}
	if err := syscall.Kill(int(p.Status.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		now, err := getProvider(name)
		if err == nil && now.Status.PID == p.Status.PID {
			err = errors.New("its end was not seen yet")
		}
		return err
	}, then)
}

// replaceFile puts other content in a file's place, as an upgrade does: a file that runs can't be written to.
func replaceFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// eventuallyLooking is eventually, while the cluster is looked at again and again.
func eventuallyLooking(t *testing.T, clock *testingclock.FakePassiveClock, name string, check func() error) {
	t.Helper()
	tries := 0
	testenv.Eventually(t, func() error {
		if tries%10 == 0 {
			clock.SetTime(clock.Now().Add(10 * time.Minute))
			poke(t, name)
		}
		tries++
		return check()
	})
}

// TestPluginProcess is a cluster that is reached through the plugin incluster, a process that is killed, has another checksum for a
// while, and is back: the cluster stays registered all along, and is connected again by itself.
func TestPluginProcess(t *testing.T) {
	path, sum := compiled(t)
	wc := start(t, testcluster.Options{})
	clock := testingclock.NewFakePassiveClock(time.Now())
	env.RunOperator(t, func(o *operator.Options) {
		o.PluginFolder, o.Clock = filepath.Dir(path), clock
		o.Connect = func(ctx context.Context, target connect.Target) (connect.Cluster, error) {
			if target.Config.Server == wc.URL() {
				return connect.Cluster{}, errors.New("not through the plugin")
			}
			return connect.Connect(ctx, target)
		}
	})
	create(t, &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: "incluster"}, Spec: v1alpha1.ProviderSpec{Binary: "incluster", SHA256: sum},
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		// It can be deleted once it is seen that no Cluster uses it any more.
		err := testenv.Poll(ctx, func() error {
			err := env.Client.Delete(ctx, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "incluster"}})
			if err == nil {
				return errors.New("the Provider was there until now")
			}
			return client.IgnoreNotFound(err)
		})
		if err != nil {
			t.Errorf("deleting the Provider: %v", err)
		}
	})
	eventually(t, health("True", v1alpha1.ReasonHealthy))
	register(t, "in-process", k0{}.text(wc), func(c *v1alpha1.Cluster) { c.Spec.Provider = "incluster" })
	registered := argoConfig("in-process", tokenConfig("S3CR3T.abc", wc))
	eventually(t, has("in-process", "Connected", "True", v1alpha1.ReasonConnected), registered)
	before, secrets := statusOf(t, "in-process"), contentOf(t, "in-process")

	// Killed, it is started again before anybody has to know.
	killPlugin(t, "incluster", health("True", v1alpha1.ReasonHealthy))
	asked := wc.RequestCount()
	eventuallyLooking(t, clock, "in-process", func() error {
		if wc.RequestCount() == asked {
			return errors.New("the cluster was not looked at through the new process")
		}
		return has("in-process", "Connected", "True", v1alpha1.ReasonConnected)()
	})

	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaceFile(t, path, append(good[:len(good):len(good)], 'x'))
	killPlugin(t, "incluster", health("False", v1alpha1.ReasonChecksumMismatch))
	eventuallyLooking(t, clock, "in-process", has("in-process", "Connected", "Unknown", v1alpha1.ReasonProviderUnavailable, "incluster", "ChecksumMismatch"))
	if diff := cmp.Diff(before, statusOf(t, "in-process")); diff != "" {
		t.Errorf("what is known of the cluster is lost with the plugin (-before +after):\n%s", diff)
	}
	if contentOf(t, "in-process") != secrets {
		t.Error("a plugin that is away changed the Secrets")
	}

	replaceFile(t, path, good)
	eventually(t, health("True", v1alpha1.ReasonHealthy))
	// The clock stands still, so that no look is due but by the plugin's being back.
	eventually(t, has("in-process", "Connected", "True", v1alpha1.ReasonConnected))
	if err := registered(); err != nil {
		t.Error(err)
	}
	noSecretAnywhere(t)
}
