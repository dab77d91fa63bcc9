// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/tools/clientcmd"

	"darkshift.io/infrared/sdk/kubeconfig"
)

// mayTake bounds one Read, in CPU time, so that a busy machine changes nothing; with the race detector or coverage it takes
// ten times as long.
const mayTake = 3 * time.Second

// cpuTime is what this process has used so far.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Run it with -fuzzminimizetime=100x: by default Go spends up to a minute on making each new input smaller.
func FuzzRead(f *testing.F) {
	fix := newFixture(f)
	add := func(text string) {
		// The few large ones are tried by the tables; mutating them takes all the time there is.
		if len(text) < 16<<10 {
			f.Add([]byte(text))
		}
	}
	for _, tc := range refusals(fix) {
		add(tc.text)
	}
	for _, tc := range acceptances(f, fix) {
		add(tc.text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		begin := cpuTime(t)
		c, err := kubeconfig.Read(data)
		if took := cpuTime(t) - begin; took > mayTake {
			t.Errorf("Read took %s for %d bytes", took, len(data))
		}
		if err != nil {
			checkRefusal(t, data, c, err)
			return
		}
		checkAccepted(t, data, c)
	})
}

func checkRefusal(t *testing.T, data []byte, c *kubeconfig.Config, err error) {
	t.Helper()
	var refused *kubeconfig.Error
	if c != nil || !errors.As(err, &refused) || refused.Reason == "" || refused.Message == "" {
		t.Errorf("Read gave %v and %v, want one refusal with a reason", c, err)
	}
	if len(err.Error()) > 1000 {
		t.Errorf("the message is %d bytes long", len(err.Error()))
	}
	// Names of contexts, clusters and users are shown, so the marker may stand in the message if it stands in a name.
	if strings.Contains(err.Error(), "S3CR3T") && !strings.Contains(namesOf(data), "S3CR3T") {
		t.Errorf("the message shows a secret: %v", err)
	}
}

func checkAccepted(t *testing.T, data []byte, c *kubeconfig.Config) {
	t.Helper()
	if !strings.HasPrefix(c.Server, "https://") || c.ContextName == "" || (c.Token.IsZero() && len(c.ClientCertData) == 0) {
		t.Errorf("Read gave %+v, which is no way into a cluster", c)
	}
	again, err := kubeconfig.Read(kubeconfig.Write(*c))
	if err != nil {
		t.Fatalf("reading what Write wrote: %v", err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("Write and Read again, before - after +:\n%s", diff)
	}
	// kubectl's own reader is asked what the chosen user and cluster hold that must never pass.
	theirs, err := clientcmd.Load(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return // it is stricter about types: a number as a name, for instance
	}
	context := theirs.Contexts[theirs.CurrentContext]
	if context == nil || theirs.AuthInfos[context.AuthInfo] == nil || theirs.Clusters[context.Cluster] == nil {
		return // it reads numbers as other names than they are written
	}
	user, cluster := theirs.AuthInfos[context.AuthInfo], theirs.Clusters[context.Cluster]
	if user.Exec != nil || user.AuthProvider != nil || user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "" ||
		user.Username != "" || user.Password != "" || user.Impersonate != "" || user.ImpersonateUID != "" ||
		len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0 {
		t.Error("Read accepted a user that kubectl reads with a refused field")
	}
	if cluster.InsecureSkipTLSVerify || cluster.ProxyURL != "" || cluster.CertificateAuthority != "" {
		t.Error("Read accepted a cluster that kubectl reads with a refused field")
	}
	if strings.TrimSpace(user.Token) != c.Token.Reveal() {
		t.Error("Read took another token than kubectl")
	}
}

// namesOf is every text of the file that messages may show: names, and what points to them.
func namesOf(data []byte) string {
	var names strings.Builder
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			switch n.Content[i].Value {
			case "name", "current-context", "cluster", "user", "kind":
				names.WriteString(n.Content[i+1].Value + "\n")
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	var root yaml.Node
	_ = yaml.Unmarshal(data, &root)
	walk(&root)
	return names.String()
}

// The largest hostile files there can be cost bounded time and memory, whether they are refused or not.
func TestReadHostile(t *testing.T) {
	// few stays below the number of entries at which reading stops.
	few := func(before, unit, after string) []byte {
		return []byte(before + strings.Repeat(unit, 3_500) + after)
	}
	fill := func(before, unit, after string) []byte {
		n := (kubeconfig.MaxSize - len(before) - len(after)) / len(unit)
		return []byte(before + strings.Repeat(unit, n) + after)
	}
	f := newFixture(t)
	plain := k0{}.text(f)
	tests := map[string][]byte{
		"list of nothing":     fill(plain+"x: [", "a,", "]\n"),
		"few of nothing":      few(plain+"x: [", "a,", "]\n"),
		"few keys":            few(plain, "k: v\n", ""),
		"few documents":       few("", "---\n", plain),
		"few aliases":         few("a: &a [x]\n", "b: [*a,*a,*a,*a]\n", ""),
		"few in JSON":         few(`{"x":[`, "0,", "0]}"),
		"few maps":            few(plain+"x: [", "{a: b},", "]\n"),
		"brackets":            fill(plain+"x: ", "[", "\n"),
		"maps":                fill(plain+"x: ", "{a: ", "\n"),
		"dashes":              fill(plain+"x:\n", "- ", "a\n"),
		"contexts":            fill(k0{Contexts: "["}.text(f), "{name: c},", "]"),
		"many keys":           fill(plain, "k: v\n", ""),
		"questions":           fill(plain, "? ", "\n"),
		"documents":           fill("", "---\n", plain),
		"alias bomb":          fill("a: &a [x]\n", "b: [*a,*a,*a,*a]\n", ""),
		"JSON list":           fill(`{"x":[`, "0,", "0]}"),
		"JSON brackets":       fill(`{"x":`, "[", ""),
		"JSON maps":           fill("", `{"a":`, ""),
		"base64":              fill("", "QUFB", ""),
		"quotes":              fill(plain+"x: \"", `\x41`, "\"\n"),
		"server":              []byte(k0{Server: "https://" + strings.Repeat("a.", 200_000) + "b"}.text(f)),
		"international":       []byte(k0{Server: "https://" + strings.Repeat("ü.", 100_000) + "b"}.text(f)),
		"long name":           fill("current-context: ", "x", "\n"+strings.Replace(plain, "current-context: c", "", 1)),
		"begin lines":         []byte(k0{Cluster: `{server: "https://a", certificate-authority-data: "` + b64(strings.Repeat("-----BEGIN CERTIFICATE-----\n", 10_000)) + `"}`}.text(f)),
		"empty certificates":  []byte(k0{Cluster: `{server: "https://a", certificate-authority-data: "` + b64(strings.Repeat("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 6_000)) + `"}`}.text(f)),
		"empty blocks in key": []byte(k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "` + b64(strings.Repeat("-----BEGIN X-----\nAAAA\n-----END X-----\n", 6_000)) + `"}`}.text(f)),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			if len(data) > kubeconfig.MaxSize {
				t.Fatalf("the case is %d bytes, larger than what is read at all", len(data))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := cpuTime(t)
			_, err := kubeconfig.Read(data)
			took := cpuTime(t) - begin
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%s, %d MiB allocated in all: %.120v", took.Round(time.Millisecond), allocated, err)
			if took > mayTake || allocated > 64 {
				t.Errorf("Read took %s and %d MiB", took, allocated)
			}
		})
	}
}

// BenchmarkRead compares Read with client-go's loader, which judges nothing, on the same bytes. The ratio is what counts:
// machines differ.
func BenchmarkRead(b *testing.B) {
	f := newFixture(b)
	texts := map[string][]byte{
		"token":       []byte(k0{}.text(f)),
		"certificate": []byte(k0{User: `{client-certificate-data: "{{CRT}}", client-key-data: "{{KEY}}"}`}.text(f)),
		"200 CAs":     []byte(strings.Replace(k0{}.text(f), f.CA, f.Bundle, 1)),
	}
	for name, data := range texts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var ours, theirs time.Duration
			for b.Loop() {
				begin := time.Now()
				if _, err := kubeconfig.Read(data); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if _, err := clientcmd.Load(data); err != nil {
					b.Fatal(err)
				}
				ours, theirs = ours+middle.Sub(begin), theirs+time.Since(middle)
			}
			allocations := func(run func()) float64 { return testing.AllocsPerRun(20, run) }
			ourAllocs := allocations(func() { _, _ = kubeconfig.Read(data) })
			theirAllocs := allocations(func() { _, _ = clientcmd.Load(data) })
			b.ReportMetric(float64(ours)/float64(theirs), "time/clientcmd")
			b.ReportMetric(ourAllocs/theirAllocs, "allocs/clientcmd")
		})
	}
}
