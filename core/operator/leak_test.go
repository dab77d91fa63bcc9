// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"darkshift.io/infrared/internal/testenv"
)

// TestLeak registers clusters and lets them go, and has the operator hold no more afterwards than it held before.
func TestLeak(t *testing.T) {
	t.Parallel()
	const (
		atOnce = 5
		cycles = 10 // of atOnce clusters each
	)
	w := newWorld(t)
	operator := w.runMeasured(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*testenv.Patience)
	defer cancel()
	cycle := func(number int) {
		prefix := nth("leak", number)
		servers := w.startMany(t, atOnce)
		if err := w.registerMany(ctx, prefix, servers); err != nil {
			t.Fatal(err)
		}
		if err := w.letManyGo(ctx, prefix, atOnce); err != nil {
			t.Fatal(err)
		}
	}
	cycle(0)
	first := operator.settled(ctx, t)
	for n := 1; n < cycles; n++ {
		cycle(n)
	}
	err := testenv.Poll(ctx, func() error {
		now, err := operator.usage(ctx)
		if err != nil {
			return err
		}
		if now.goroutines > first.goroutines || now.files > first.files {
			return fmt.Errorf("after %d clusters there were %v, after %d there are %v", atOnce, first, atOnce*cycles, now)
		}
		t.Logf("after %d clusters %v, after %d %v", atOnce, first, atOnce*cycles, now)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// measured is an operator that runs as a program and shows what it uses.
type measured struct {
	*process
	metrics string
}

// runMeasured starts an operator with its metrics on a free port.
func (w *world) runMeasured(t testing.TB) *measured {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	command := operatorCommand(t, w.OperatorKubeconfig, "--leader-elect=false", "--metrics-bind-address="+address)
	return &measured{process: run(t, command()), metrics: "http://" + address + "/metrics"}
}

// usage is what a process uses.
type usage struct {
	goroutines, files int
	// resident and heap are bytes.
	resident, heap float64
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d files, %.0f MB resident", u.goroutines, u.files, u.resident/1e6)
}

// usage reads what the operator uses now.
func (m *measured) usage(ctx context.Context) (usage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.metrics, nil)
	if err != nil {
		return usage{}, err
	}
	request.Close = true // or the connection would count
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return usage{}, fmt.Errorf("reading the operator's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	values, err := parseMetrics(response.Body)
	u := usage{
		goroutines: int(values["go_goroutines"]), files: int(values["process_open_fds"]),
		resident: values["process_resident_memory_bytes"], heap: values["go_memstats_heap_inuse_bytes"],
	}
	if err == nil && (u.goroutines == 0 || u.files == 0 || u.resident == 0 || u.heap == 0) {
		err = errors.New("the operator's metrics tell nothing of goroutines, files or memory")
	}
	return u, err
}

// parseMetrics reads the values without labels out of Prometheus' text format.
func parseMetrics(text io.Reader) (map[string]float64, error) {
	values := map[string]float64{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, number, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(number, 64); err == nil {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// settled waits until the operator has used the same for three seconds, and returns it.
func (m *measured) settled(ctx context.Context, t testing.TB) usage {
	t.Helper()
	var last usage
	since := time.Now()
	err := testenv.Poll(ctx, func() error {
		now, err := m.usage(ctx)
		if err != nil {
			return err
		}
		if now.goroutines != last.goroutines || now.files != last.files {
			last, since = now, time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return fmt.Errorf("what the operator uses still changes: %v", now)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}
