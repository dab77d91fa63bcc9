// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"darkshift.io/infrared/sdk/protocol/v1/convert"
	"darkshift.io/infrared/sdk/provider"
)

// exitWithin is how long a plugin that runs nothing any more has to end by itself.
const exitWithin = 2 * time.Second

// Plugin is one that runs and has answered. It must be ended by Stop or Kill.
type Plugin struct {
	conn        *grpc.ClientConn
	protocol    int
	description provider.Description
	running     *running
	process     *process    // nil: attached to
	attached    *attachment // nil: started by us

	done chan struct{}

	mu     sync.Mutex
	ending string // stopped or killed: what the host itself did
	err    error
}

// What the host itself did to a plugin.
const (
	stopped = "stopped"
	killed  = "killed"
)

// Conn is the connection to it.
func (p *Plugin) Conn() grpc.ClientConnInterface { return p.conn }

// Provider calls the plugin's verbs. What its description declares is there.
func (p *Plugin) Provider() provider.Provider {
	return NewClient(p.conn, p.description.Capabilities)
}

// Description is what the plugin told about itself when it started.
func (p *Plugin) Description() provider.Description { return p.description }

// Protocol is the version of the protocol that is spoken.
func (p *Plugin) Protocol() int { return p.protocol }

// PID is the number of its process.
func (p *Plugin) PID() int {
	if p.attached != nil {
		return p.attached.pid
	}
	return p.process.cmd.Process.Pid
}

// Done is closed once the process and all that it started are gone; for a plugin that was attached to, once the connection is.
func (p *Plugin) Done() <-chan struct{} { return p.done }

// Err says, after Done, how it ended, in words that read on from its name: was killed by signal 9. nil: by Stop.
func (p *Plugin) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// finish is called once, when all is gone.
func (p *Plugin) finish() {
	p.mu.Lock()
	switch {
	case p.ending == stopped:
	case p.ending == killed:
		p.err = errors.New("was killed by its host")
	case p.attached != nil:
		p.err = errors.New("is not there any more")
	default:
		p.err = errors.New(p.process.words())
	}
	p.mu.Unlock()
	close(p.done)
}

// end notes that the host wants the end. The first wish counts.
func (p *Plugin) end(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending == "" {
		p.ending = how
	}
}

// Ping asks for a sign of life.
func (p *Plugin) Ping(ctx context.Context) error {
	answer, err := health.NewHealthClient(p.conn).Check(ctx, &health.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	if err != nil {
		// The text of gRPC's own errors has the socket's path in it.
		return fmt.Errorf("pinging the plugin: %w", convert.ErrorFromStatus(err))
	}
	if answer.GetStatus() != health.HealthCheckResponse_SERVING {
		return fmt.Errorf("pinging the plugin: it says that it is %s", answer.GetStatus())
	}
	return nil
}

// Stop ends the plugin in order: what runs is asked to wind down and waited for, then the process ends. When ctx ends, or the
// process does not within two seconds of the last call, it is killed. Either way all of it is gone when Stop returns; the
// error says that it was not in order. A plugin that was attached to goes on: only the connection is closed.
func (p *Plugin) Stop(ctx context.Context) error {
	p.end(stopped)
	if p.attached != nil {
		p.attached.close()
		<-p.done
		return nil
	}
	err := p.windDown(ctx)
	p.process.hangUp()
	// For a plugin that does not watch its parent.
	p.process.signal(syscall.SIGTERM)
	timer := time.NewTimer(exitWithin)
	defer timer.Stop()
	select {
	case <-p.process.exited:
	case <-p.done:
	case <-timer.C:
		err = errors.Join(err, errors.New("the plugin did not end and was killed"))
	case <-ctx.Done():
		err = errors.Join(err, fmt.Errorf("stopping the plugin: %w", context.Cause(ctx)))
	}
	p.process.signal(os.Kill)
	<-p.done
	return err
}

// windDown asks running calls to end and waits for their answers.
func (p *Plugin) windDown(ctx context.Context) error {
	select {
	case <-p.process.exited:
		return nil
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.process.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := Stop(ctx, p.conn); err != nil && provider.KindOf(err) != provider.Unsupported {
		return fmt.Errorf("asking the plugin to stop: %w", err)
	}
	return p.running.wait(ctx)
}

// Kill ends the plugin at once, whatever it does, and returns when all of it is gone. Calls that run fail as Unavailable. Of a
// plugin that was attached to only the connection is closed.
func (p *Plugin) Kill() {
	p.end(killed)
	if p.attached != nil {
		p.attached.close()
	} else {
		p.process.signal(os.Kill)
	}
	<-p.done
}
