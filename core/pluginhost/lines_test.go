// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/sdk/provider"
)

// printed collects what plugins print.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *printed) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(line)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// Who asks for a plugin's lines gets them as they are, and the log does not.
func TestOutputGetsTheLines(t *testing.T) {
	lines := &printed{}
	f := newFixture(t, pluginhost.Options{Output: lines})
	p := f.run(t, "crash-connect")
	f.until(t, "crash-connect", func(s pluginhost.State) bool { return s.Healthy })
	if err := callConnect(t.Context(), p, provider.Credentials{}); err == nil {
		t.Fatal("the plugin answers, and was to crash")
	}
	if !eventually(func() bool { return strings.Contains(lines.String(), "panic: out of luck\n") }) {
		t.Errorf("printed: %q", lines.String())
	}
	if strings.Contains(f.log.String(), "a plugin says") {
		t.Errorf("the log has the lines too: %s", f.log)
	}
}
