// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// noise can't be compressed.
func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.Read(data)
	return data
}

// OpenTofu's state of 3 MiB, and a plan of 2 MiB, which nothing makes smaller.
func TestLargeState(t *testing.T) {
	c := newCluster(t, `
variable "size" { default = "s" }
resource "terraform_data" "large" { input = "${var.size}${file("${path.module}/blob")}" }
`)
	// A state has the text twice.
	must(t, 0, os.WriteFile(filepath.Join(c.module, "blob"), []byte(base64.StdEncoding.EncodeToString(noise(3<<19))), 0o600))
	planned := c.ok(c.order(provider.ActionPlan))
	if plan := c.getSecret(c.names.Plan()); len(plan.Data[run.KeyPlan]) > 0 || string(plan.Data[run.KeyDigest]) != planned.Digest {
		t.Fatalf("a plan of %d bytes is kept, with digest %s", len(plan.Data[run.KeyPlan]), plan.Data[run.KeyDigest])
	}
	asked := func(o *run.Order) { o.Digest = planned.Digest }
	applied := c.ok(c.order(provider.ActionApply, asked))
	head := c.getSecret(c.names.State())
	p, err := partsOf(head)
	if err != nil || p == nil || p.Count < 3 || len(head.Finalizers) == 0 || len(applied.Resources) != 1 {
		t.Fatalf("the state is in %+v (%v), with finalizers %v", p, err, head.Finalizers)
	}
	moved := c.fails(c.order(provider.ActionApply, asked, with("size", "l")), v1alpha1.ReasonPlanChanged)
	if diff := cmp.Diff([]string{"terraform_data.large Update"}, changed(moved.Changes)); diff != "" || moved.Digest == planned.Digest {
		t.Errorf("another size has the digest %s (-want +got):\n%s", moved.Digest, diff)
	}
	gone := c.ok(c.order(provider.ActionDestroy))
	if head := c.getSecret(c.names.State()); len(gone.Resources) > 0 || len(head.Data[keyState]) == 0 || head.Data[keyParts] != nil {
		t.Errorf("after the destroy there are %v, and the head has %d values", ids(gone.Resources), len(head.Data))
	}
}

// A state goes over from one Secret to several and back, and whoever dies on the way leaves the old one whole.
func TestParts(t *testing.T) {
	c := newCluster(t, small)
	o := c.objects()
	ctx := t.Context()
	whole := func(want []byte) *corev1.Secret {
		t.Helper()
		secret, err := o.readState(ctx)
		must(t, 0, err)
		if !bytes.Equal(secret.Data[keyState], want) || secret.Data[keyParts] != nil || secret.Name != c.names.State() || len(secret.Finalizers) == 0 {
			t.Fatalf("read %d bytes of %d", len(secret.Data[keyState]), len(want))
		}
		return secret
	}
	if empty := whole(nil); empty.Data != nil {
		t.Errorf("an empty state has %v", empty.Data)
	}
	var last []byte
	for i, size := range []int{10, largestPart, largestPart + 1, 3 << 20, largestState, 10, 2 << 20} {
		state := noise(size)
		written, err := o.writeState(ctx, whole(last).ResourceVersion, state)
		must(t, 0, err)
		if !bytes.Equal(written.Data[keyState], state) || written.ResourceVersion == "" {
			t.Fatalf("%d: the answer to a write of %d bytes has %d", i, size, len(written.Data[keyState]))
		}
		last = state
		whole(last)
	}

	_, err := o.writeState(ctx, "1", noise(3<<20))
	if !apierrors.IsConflict(err) {
		t.Errorf("a write over a version that is not there any more: %v", err)
	}
	whole(last)
	_, err = o.writeState(ctx, "", noise(largestState+1))
	if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "3600 KiB") {
		t.Errorf("a state that is too large: %v", err)
	}
	whole(last)

	head := c.getSecret(c.names.State())
	p, err := o.writeParts(ctx, head, noise(3<<20)) // and no more: a crash
	must(t, 0, err)
	whole(last)
	current := must(t, ptr.Deref(must(t, mustParts(t, head), nil), parts{}), nil)
	if p.Set == current.Set {
		t.Fatalf("set %s was written, which the head names", p.Set)
	}

	part := c.getSecret(c.names.Part(current.Set, 1))
	part.Data[keyPart][0] ^= 1
	_, err = management.client.CoreV1().Secrets(namespace).Update(ctx, part, metav1.UpdateOptions{})
	must(t, 0, err)
	if _, err := o.readState(ctx); err == nil || !strings.Contains(err.Error(), "another checksum") {
		t.Errorf("a state with a broken part: %v", err)
	}
}

func mustParts(t *testing.T, head *corev1.Secret) *parts {
	t.Helper()
	p, err := partsOf(head)
	return must(t, p, err)
}

// flaky stands before the API server and loses answers.
type flaky struct {
	proxy *httputil.ReverseProxy
	// lose has the next so many answers of a method get lost, after the server has done what was asked.
	method string
	lose   atomic.Int32
	// refuse has the next so many requests be answered like this, without asking the server.
	refuse atomic.Int32
	code   int
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.refuse.Add(-1) >= 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(f.code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":"%s"}`, f.code, map[int]string{403: "Forbidden", 500: "InternalError", 503: "ServiceUnavailable"}[f.code])
	case r.Method == f.method && f.lose.Add(-1) >= 0:
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		f.proxy.ServeHTTP(w, r)
	}
}

// through are the objects of a cluster behind a flaky server.
func (c *cluster) through(f *flaky) *objects {
	c.t.Helper()
	target := must(c.t, func() *url.URL { u, _ := url.Parse(c.config.Host); return u }(), nil)
	transport, err := rest.TransportFor(c.config)
	must(c.t, 0, err)
	f.proxy = httputil.NewSingleHostReverseProxy(target)
	f.proxy.Transport = transport
	server := httptest.NewServer(f)
	c.t.Cleanup(server.Close)
	o, err := newObjects(Run{Config: &rest.Config{Host: server.URL}, Namespace: namespace, Record: c.record(1), Names: c.names, Clock: clock.RealClock{}})
	return must(c.t, o, err)
}

// The answer to a write gets lost, and the write is made again: the conflict is with ourselves.
func TestLostAnswers(t *testing.T) {
	c := newCluster(t, small)
	f := &flaky{method: http.MethodPut}
	o := c.through(f)
	ctx := t.Context()
	for name, size := range map[string]int{"one Secret": 100, "several": 2 << 20} {
		state := noise(size)
		f.lose.Store(2)
		if _, err := o.writeState(ctx, c.getSecret(c.names.State()).ResourceVersion, state); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		secret, err := o.readState(ctx)
		if err != nil || !bytes.Equal(secret.Data[keyState], state) {
			t.Errorf("%s: the state that was written is not there: %v", name, err)
		}
	}
	lease := c.lease()
	lease.Spec.HolderIdentity = ptr.To("me")
	f.lose.Store(1)
	if _, err := o.writeLease(ctx, lease, Pod{Name: "pod"}); err != nil || c.lease().Annotations[run.StampPod] != "pod" {
		t.Errorf("taking the lock: %v", err)
	}
	f.lose.Store(0)
	lease.Spec.HolderIdentity = ptr.To("somebody else")
	if _, err := o.writeLease(ctx, lease, Pod{}); !apierrors.IsConflict(err) {
		t.Errorf("taking a lock that is another's: %v", err)
	}
}

func TestPatience(t *testing.T) {
	c := newCluster(t, small)
	for name, test := range map[string]struct {
		reason     string
		code       int
		first, bad bool // first: after an outage
	}{
		"busy":          {"a server that can't now is asked again", 503, false, false},
		"inner error":   {"so is one whose store does not answer", 500, false, false},
		"refused":       {"a refusal is an answer", 403, false, true},
		"refused early": {"a server that has only just started does not know the rights yet", 403, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &flaky{code: test.code}
			o := c.through(f)
			if test.first {
				o.patience.away.Store(time.Now().UnixNano())
			}
			f.refuse.Store(2)
			if _, err := o.readState(t.Context()); (err != nil) != test.bad {
				t.Errorf("%v: %s", err, test.reason)
			}
		})
	}
}
