// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/pluginhost"
)

// aged is a Provider for a cloud that was made so many seconds after another.
func aged(name, cloud string, seconds int) v1alpha1.Provider {
	p := v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.CreationTimestamp = metav1.NewTime(time.Unix(1_800_000_000+int64(seconds), 0))
	p.Status.Provider = cloud
	return p
}

func cluster(name string, change func(*v1alpha1.Cluster)) v1alpha1.Cluster {
	c := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{Type: v1alpha1.Workload}}
	change(&c)
	return c
}

func TestUsers(t *testing.T) {
	all := []v1alpha1.Provider{aged("eks", "aws", 0), aged("eks-2", "aws", 1), aged("incluster", "incluster", 0), aged("new", "", 0)}
	clusters := []v1alpha1.Cluster{
		cluster("said", func(c *v1alpha1.Cluster) { c.Spec.Provider = "aws" }),
		cluster("read", func(c *v1alpha1.Cluster) { c.Status.Provider = "aws" }),
		cluster("built", func(c *v1alpha1.Cluster) { c.Spec.Template = &v1alpha1.Template{Module: "aws/eks-cluster"} }),
		cluster("built-elsewhere", func(c *v1alpha1.Cluster) { c.Spec.Template = &v1alpha1.Template{Module: "aws-2/aws"} }),
		cluster("other", func(c *v1alpha1.Cluster) { c.Spec.Provider = "gcp" }),
		cluster("unknown", func(*v1alpha1.Cluster) {}),
		cluster("here", func(c *v1alpha1.Cluster) { c.Spec.InCluster, c.Status.Provider = true, "aws" }),
		cluster("here-said", func(c *v1alpha1.Cluster) { c.Spec.InCluster, c.Spec.Provider = true, "aws" }),
		cluster("management", func(c *v1alpha1.Cluster) { c.Spec.Type, c.Status.Provider = v1alpha1.Management, "aws" }),
	}
	cases := map[string]struct {
		reason string
		of     int
		want   []string
	}{
		"its cloud":         {"however it is known that a Cluster is of the cloud; the management cluster is only looked at", 0, []string{"built", "here-said", "read", "said"}},
		"the second of two": {"the older one has the cloud", 1, nil},
		"in cluster":        {"where the Cluster names no other", 2, []string{"here"}},
		"not known yet":     {"no cloud, no users, not all that have none", 3, nil},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, users(&all[tc.of], clusters, all)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

func TestOwner(t *testing.T) {
	all := []v1alpha1.Provider{aged("b", "aws", 5), aged("c", "aws", 5), aged("a", "aws", 9), aged("gke", "gcp", 1), aged("new", "", 0)}
	cases := map[string]struct {
		reason string
		of     int
		want   string
	}{
		"the oldest": {"of two of one age the name decides, and it is no other's", 0, ""},
		"as old":     {"the name decides", 1, "b"},
		"younger":    {"the oldest has it, whatever the names", 2, "b"},
		"alone":      {"others are for other clouds", 3, ""},
		"not known":  {"it may turn out to be for any", 4, ""},
	}
	for name, tc := range cases {
		if got := ownerBefore(&all[tc.of], all); got != tc.want {
			t.Errorf("%s: owner is %q, want %q: %s", name, got, tc.want, tc.reason)
		}
	}
	for cloud, want := range map[string]string{"aws": "b", "gcp": "gke"} {
		if got := ownerOf(cloud, all); got == nil || got.Name != want {
			t.Errorf("%s is %v's, want %s", cloud, got, want)
		}
	}
	for _, cloud := range []string{"", "linode"} {
		if got := ownerOf(cloud, all); got != nil {
			t.Errorf("%q is %s's, want nobody's", cloud, got.Name)
		}
	}
}

func TestInWords(t *testing.T) {
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("c", i))
	}
	for want, users := range map[string][]string{
		"a does":  {"a"},
		"a, b do": {"a", "b"},
		"c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 and 2 more do": many,
	} {
		if got := inWords(users); got != want {
			t.Errorf("%v: %q, want %q", users, got, want)
		}
	}
}

func TestRestarts(t *testing.T) {
	var r restarts
	p := aged("eks", "aws", 0)
	p.UID, p.Status.Restarts = "one", 7
	why := v1alpha1.ReasonHealthy
	count := func(reason string, host int, want int32) {
		t.Helper()
		if got := r.count(&p, pluginhost.State{Reason: why, Restarts: host}); got != want {
			t.Errorf("the host counts %d: %d in all, want %d: %s", host, got, want, reason)
		}
	}
	count("what the host counts came after what an earlier operator counted", 2, 9)
	count("nothing happened", 2, 9)
	p.Status.Restarts = 8
	count("a stale status is no news", 3, 10)
	p.Spec.Binary = "eks-2"
	count("the host counts anew for another program", 3, 13)
	p.Generation++
	count("a deletion raises the generation too, and restarts nothing", 3, 13)
	count("the host began anew", 1, 14)
	why = v1alpha1.ReasonBinaryMissing
	count("no process was started, however often the host tried", 9, 14)
	why = v1alpha1.ReasonCrashedAtStart
	count("now one was", 10, 15)
	r.forget("eks")
	p.Status.Restarts = 15
	count("the host ran it again after it was stopped", 1, 16)
	p.UID, p.Status.Restarts = "two", 0
	count("another Provider of the same name", 1, 1)
}

func TestSpecOf(t *testing.T) {
	p := aged("eks", "aws", 0)
	p.Spec = v1alpha1.ProviderSpec{Binary: "eks", SHA256: "abc"}
	if diff := cmp.Diff(pluginhost.Spec{Binary: "eks", SHA256: "abc"}, specOf(&p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
