// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"darkshift.io/infrared/sdk/provider"
)

// metrics are the host's. The label provider is the plugin's name.
type metrics struct {
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	restarts *prometheus.CounterVec
	healthy  *prometheus.GaugeVec
}

func newMetrics(registerer prometheus.Registerer, log logr.Logger) *metrics {
	return &metrics{
		calls: register(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "infrared_provider_calls_total",
			Help: "Calls of a provider's verbs, by how they ended: ok or the kind of error.",
		}, []string{"provider", "verb", "kind"})),
		seconds: register(registerer, log, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "infrared_provider_call_seconds",
			Help:    "How long calls of a provider's verbs took.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600},
		}, []string{"provider", "verb"})),
		restarts: register(registerer, log, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "infrared_provider_restarts_total",
			Help: "Starts of a provider plugin after its first, failed ones included.",
		}, []string{"provider"})),
		healthy: register(registerer, log, prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "infrared_provider_healthy",
			Help: "1 while a provider plugin runs and answers, otherwise 0.",
		}, []string{"provider"})),
	}
}

// register returns the collector that counts: one of an earlier host, where the registry has it already.
func register[C prometheus.Collector](registerer prometheus.Registerer, log logr.Logger, c C) C {
	if registerer == nil {
		return c
	}
	err := registerer.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		log.Error(err, "a metric can't be registered")
	}
	return c
}

func (m *metrics) observe(name string, v verb, err error, took time.Duration) {
	kind := "ok"
	if err != nil {
		kind = provider.KindOf(err).Row().Label
	}
	m.calls.WithLabelValues(name, string(v), kind).Inc()
	m.seconds.WithLabelValues(name, string(v)).Observe(took.Seconds())
}

func (m *metrics) setHealthy(name string, healthy bool) {
	value := 0.0
	if healthy {
		value = 1
	}
	m.healthy.WithLabelValues(name).Set(value)
}

// forget drops what says how a plugin is now. Counters stay: they only ever grow.
func (m *metrics) forget(name string) { m.healthy.DeleteLabelValues(name) }
