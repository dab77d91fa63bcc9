// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"slices"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/sdk/provider"
)

// A plan that was still good when its Job was made is not applied by a pod that waited for its node for too long.
func TestPlanExpired(t *testing.T) {
	c := newCluster(t, small)
	planned := c.ok(c.order(provider.ActionPlan))
	until := func(expires time.Time) func(*run.Order) {
		return func(o *run.Order) { o.Digest, o.DigestExpires = planned.Digest, expires }
	}
	outcome := c.fails(c.order(provider.ActionApply, until(time.Now().Add(-time.Second))), v1alpha1.ReasonPlanChanged)
	if !strings.Contains(outcome.Failure.Message, "expired") || outcome.Digest != planned.Digest || len(c.ledger().Made) > 0 {
		t.Errorf("an expired plan: %+v, made %v", outcome, ids(c.ledger().Made))
	}
	applied := c.ok(c.order(provider.ActionApply, until(time.Now().Add(time.Hour))))
	if !slices.Contains(changed(applied.Changes), `terraform_data.thing["a"] Create`) {
		t.Errorf("the same plan, looked at again, did %v", changed(applied.Changes))
	}
}
