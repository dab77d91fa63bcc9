// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/internal/testenv"
	"darkshift.io/infrared/sdk/provider"
)

// spoil has a ConfigMap hold what nobody can read.
func (s *site) spoil(name, key string) {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		stored := s.record(name)
		if stored.BinaryData == nil {
			stored.BinaryData = map[string][]byte{}
		}
		stored.BinaryData[key] = []byte("spoilt")
		return env.Client.Update(s.t.Context(), stored)
	})
}

// TestLedgerCanNotBeRead says so with the way out, keeps what is built reachable, and goes on by that way.
func TestLedgerCanNotBeRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, "spoilt", apply)
	s.complete(run.Outcome{Changes: changes(provider.OperationCreate), Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"https://x"`)}})
	ledger := s.names().Ledger()
	s.spoil(ledger, run.KeyLedger)
	s.change(again)
	said := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStartRefused, "ConfigMap infrared/"+ledger, "can't be read", "kubectl -n infrared patch configmap "+ledger)
	s.look()
	if err := said(); err != nil {
		t.Error(err)
	}
	if s.turn.Built == nil || s.turn.Applied == nil || string(s.turn.Applied.Outputs["endpoint"]) != `"https://x"` || s.turn.After == 0 {
		t.Errorf("what is built can't be connected any more: %+v", s.turn)
	}
	s.destroy(false)
	if err := said(); err != nil || s.teardown.Done || s.teardown.Failed || len(s.jobs()) != 1 {
		t.Errorf("a deletion comes to %+v with Jobs %v: %v", s.teardown, s.jobNames(), err)
	}
	if running, err := s.builder.Stop(t.Context(), s.cluster()); running || err != nil {
		t.Errorf("it runs: %t, %v", running, err)
	}
	stored := s.record(ledger)
	stored.BinaryData = nil
	if err := env.Client.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	s.begin()
	if !s.order().Interrupted {
		t.Error("the run after the ledger was lost does not look for what it knew")
	}
}

// TestOrderCanNotBeRead has a destroy stop at the record of the apply that it goes by, and go on once that is deleted.
func TestOrderCanNotBeRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, "no-order", apply)
	s.complete(run.Outcome{Changes: changes(provider.OperationCreate)})
	record := s.turn.Run.Record
	s.spoil(record, run.KeyOrder)
	s.destroy(false)
	if err := s.is(v1alpha1.RunFailed, v1alpha1.ReasonStartRefused, "kubectl -n infrared delete configmap "+record)(); err != nil || s.teardown.Failed {
		t.Errorf("failed %t: %v", s.teardown.Failed, err)
	}
	if err := env.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: s.record(record).ObjectMeta}); err != nil {
		t.Fatal(err)
	}
	s.untilDestroy(false, s.job("tofu-no-order-1-destroy"))
}
