// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// says is a module whose one thing fails with that text, as a cloud's tool does.
func says(text string) string {
	return fmt.Sprintf(`
resource "terraform_data" "tool" {
  provisioner "local-exec" { command = %q }
}
`, "echo '"+strings.ReplaceAll(text, "'", `'\''`)+"' >&2; exit 1")
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		module string
		change func(*cluster, *run.Order)
		want   string
		says   string
		field  string
	}{
		"expired": {
			"the next run gets new credentials, so people need to know that these ended",
			says("ExpiredToken: The security token included in the request is expired"), nil, v1alpha1.ReasonBadCredentials, "credentials have expired", "",
		},
		"dependency": {
			"the message names what is in the way", says("DependencyViolation: The subnet 'subnet-0aaa' has dependencies"), nil, v1alpha1.ReasonBusy, "subnet-0aaa", "",
		},
		"denied": {"a right is missing", says("AccessDenied: not authorized"), nil, v1alpha1.ReasonPermissionDenied, "AccessDenied", ""},
		"quota":  {"the account is full", says("VcpuLimitExceeded"), nil, v1alpha1.ReasonQuotaExceeded, "VcpuLimitExceeded", ""},
		"away":   {"the cloud does not answer", says("dial tcp 127.0.0.1:80: connect: connection refused"), nil, v1alpha1.ReasonCloudUnavailable, "connection refused", ""},
		"module": {"the template is wrong", `resource "terraform_data" "x" { nope = 1 }`, nil, v1alpha1.ReasonInvalidSpec, "nope", "template"},
		"variable": {
			"an unknown variable is refused by its name", small,
			func(_ *cluster, o *run.Order) { with("nmes", 1)(o) }, v1alpha1.ReasonInvalidSpec, "names", "variables.nmes",
		},
		"source": {
			"a path is no source", small,
			func(_ *cluster, o *run.Order) { o.Source = "/etc" }, v1alpha1.ReasonInvalidSpec, "", "source",
		},
		"checksum": {
			"another binary than the pinned one is never run", small,
			func(_ *cluster, o *run.Order) { o.PluginSHA256 = strings.Repeat("0", 64) }, v1alpha1.ReasonProviderUnavailable, "ChecksumMismatch", "",
		},
		"another cloud": {
			"credentials of one cloud are none of another's business", small,
			func(_ *cluster, o *run.Order) { o.Template = "aws/eks-cluster" }, v1alpha1.ReasonProviderUnavailable, "not aws", "",
		},
		"action": {"there are three actions", small, func(_ *cluster, o *run.Order) { o.Action = "import" }, v1alpha1.ReasonInvalidSpec, "import", "action"},
		"unsupported": {
			"the provider can't", small,
			func(c *cluster, _ *run.Order) { c.secret("SAYS_PROJECT", "Unsupported no templates") }, v1alpha1.ReasonUnsupported, "no templates", "template",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.module)
			order := c.order(provider.ActionApply)
			if test.change != nil {
				test.change(c, &order)
			}
			outcome := c.fails(order, test.want)
			if f := outcome.Failure; !strings.Contains(f.Message, test.says) || f.Field != test.field {
				t.Errorf("field %q, %s; want field %q and %q: %s", f.Field, f.Message, test.field, test.says, test.reason)
			}
			if c.locked() || c.ledger().Running != "" {
				t.Errorf("locked %v, running %q", c.locked(), c.ledger().Running)
			}
		})
	}
}

// A failed apply is gone on with by the same again, or taken away.
func TestAfterFailure(t *testing.T) {
	c := newCluster(t, small+says("DependencyViolation"))
	failed := c.fails(c.order(provider.ActionApply), v1alpha1.ReasonBusy)
	if len(failed.Resources) != 2 || c.ledger().Applied != nil {
		t.Errorf("after the failure there are %v, applied %+v", ids(failed.Resources), c.ledger().Applied)
	}
	gone := c.ok(c.order(provider.ActionDestroy))
	if len(gone.Resources) > 0 || len(c.ledger().Made) > 0 {
		t.Errorf("left: %v, ledger %v", ids(gone.Resources), ids(c.ledger().Made))
	}
	// What never was is gone already.
	c.ok(c.order(provider.ActionDestroy))
}

// No secret is in anything that anybody reads, whatever the plugin does with it.
func TestSecrets(t *testing.T) {
	const secret = `S3CR3T/"quoted"+and=more`
	c := newCluster(t, small)
	c.secret("LEAK", secret+"\n")
	j := c.start(c.order(provider.ActionApply))
	outcome := j.end()
	if outcome.Failure == nil || !strings.Contains(outcome.Failure.Message, "failed [redacted]") {
		t.Errorf("the run failed with %+v", outcome.Failure)
	}
	record := j.configMap()
	var ledger run.Ledger
	var progress run.Progress
	ledger = c.ledger()
	must(t, 0, run.Unpack(record.BinaryData[run.KeyProgress], &progress))
	texts := map[string]string{
		"outcome": fmt.Sprintf("%+v %s", outcome, outcome.Outputs["o"]), "ledger": fmt.Sprintf("%+v", ledger), "progress": fmt.Sprintf("%+v", progress),
		"log": record.Data[run.KeyLog], "output": j.out.String(),
	}
	for name, text := range texts {
		if !strings.Contains(text, "[redacted]") {
			t.Errorf("the %s does not mention it at all: %s", name, text)
		}
		for _, form := range []string{"S3CR3T", c.config.BearerToken, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				t.Errorf("the secret is in the %s: %s", name, text)
			}
		}
	}
}

// A run that was carried out is not carried out again, whoever starts its pod once more.
func TestOnce(t *testing.T) {
	c := newCluster(t, small)
	first := c.start(c.order(provider.ActionApply))
	if outcome := first.end(); outcome.Failure != nil {
		t.Fatal(outcome.Failure)
	}
	before := c.getSecret(c.names.State()).ResourceVersion
	outcome, err := Run{Config: c.config, Namespace: namespace, Record: first.record, Names: c.names, Out: &lockedBuffer{}}.Do(t.Context())
	if err != nil || outcome.Failure != nil || len(outcome.Resources) != 1 || c.getSecret(c.names.State()).ResourceVersion != before {
		t.Errorf("the second start: %+v, %v", outcome, err)
	}
}

// Without an order there is nothing to do, and the message says so.
func TestNoOrder(t *testing.T) {
	c := newCluster(t, small)
	j := c.start(c.order(provider.ActionPlan))
	j.end()
	record := j.configMap()
	record.BinaryData = nil
	_, err := management.client.CoreV1().ConfigMaps(namespace).Update(t.Context(), record, metav1.UpdateOptions{})
	must(t, 0, err)
	_, err = Run{Config: c.config, Namespace: namespace, Record: j.record, Names: c.names, Out: &lockedBuffer{}}.Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "only infrared-operator starts runs") {
		t.Errorf("without an order: %v", err)
	}
}

// A run that can't begin says why.
func TestCannotBegin(t *testing.T) {
	c := newCluster(t, small)
	must(t, 0, management.client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), c.names.Ledger(), metav1.DeleteOptions{}))
	outcome := c.fails(c.order(provider.ActionApply), v1alpha1.ReasonStartRefused)
	if !strings.Contains(outcome.Failure.Message, c.names.Ledger()) {
		t.Errorf("without a ledger: %+v", outcome.Failure)
	}
}

// The plan's Secret goes with its Cluster, and a destroy must not need it.
func TestWithoutPlanSecret(t *testing.T) {
	c := newCluster(t, small)
	c.ok(c.order(provider.ActionApply))
	plan := c.getSecret(c.names.Plan())
	plan.Finalizers = nil
	_, err := management.client.CoreV1().Secrets(namespace).Update(t.Context(), plan, metav1.UpdateOptions{})
	must(t, 0, err)
	must(t, 0, management.client.CoreV1().Secrets(namespace).Delete(t.Context(), plan.Name, metav1.DeleteOptions{}))
	c.ok(c.order(provider.ActionPlan))
	c.ok(c.order(provider.ActionDestroy))
}

// A run that is told to stop before it has begun does nothing.
func TestStoppedEarly(t *testing.T) {
	c := newCluster(t, small)
	must(t, 0, os.Remove(filepath.Join(c.module, "schema.json")))
	must(t, 0, syscall.Mkfifo(filepath.Join(c.module, "schema.json"), 0o600)) // the plugin waits here, and for ever
	j := c.start(c.order(provider.ActionApply))
	eventually(t, func() error {
		if c.ledger().Running != j.record {
			return fmt.Errorf("the run has not begun")
		}
		return nil
	})
	kill(t, j.cmd.Process.Pid, syscall.SIGTERM)
	pipe, err := os.OpenFile(filepath.Join(c.module, "schema.json"), os.O_RDWR, 0)
	must(t, 0, err)
	_, err = pipe.WriteString(`{"type":"object","properties":{"names":{},"size":{}}}`)
	must(t, 0, err)
	must(t, 0, pipe.Close())
	if outcome := j.end(); outcome.Failure == nil || outcome.Failure.Reason != v1alpha1.ReasonInterrupted || len(outcome.Resources) > 0 {
		t.Errorf("the run ended with %+v", outcome)
	}
}
