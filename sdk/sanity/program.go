// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"darkshift.io/infrared/sdk/plugin"
)

// program is the compiled plugin, started as the host starts it.
type program struct {
	plugin *plugin.Plugin
	output *buffer
}

func start(ctx context.Context, c Config) (*program, error) {
	p := &program{output: &buffer{}}
	var err error
	p.plugin, err = plugin.Dial(ctx, plugin.Launch{Path: c.Binary, Env: c.Env, Output: p.output})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Binary, err)
	}
	return p, nil
}

// stop ends the program in order, and by force if it doesn't go; also where ctx has ended, as a test's has when it cleans up.
func (p *program) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	if p.plugin.Stop(ctx) != nil {
		p.plugin.Kill()
	}
}

// buffer is what the program prints, which it does while the checks read.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
