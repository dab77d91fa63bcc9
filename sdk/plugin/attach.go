// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"darkshift.io/infrared/sdk/provider"
)

// Attachment is a plugin that somebody else started, such as an author in a debugger. There is no checksum and no TLS: it is for
// development.
type Attachment struct {
	// Protocol is the version that it speaks.
	Protocol int `json:"protocol"`
	// PID is the number of its process.
	PID int `json:"pid"`
	// Socket is the absolute path of its unix socket.
	Socket string `json:"socket"`
}

// ParseAttachments reads the value of INFRARED_ATTACH_PROVIDERS: attachments by provider, as JSON. Empty: none.
func ParseAttachments(text string) (map[string]Attachment, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var all map[string]Attachment
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, fmt.Errorf("reading the plugins to attach to: %w", err)
	}
	for name, a := range all {
		if !filepath.IsAbs(a.Socket) || a.PID <= 0 || a.Protocol <= 0 {
			return nil, fmt.Errorf("reading the plugins to attach to: %q needs protocol, pid and the absolute path of its socket", name)
		}
	}
	return all, nil
}

// attachment is what there is of a plugin that was attached to.
type attachment struct {
	pid   int
	close func()
}

// Attach connects to a plugin that runs already, of this user only. Stop and Kill close the connection; the plugin goes on. Every
// error is a [*StartError].
func Attach(ctx context.Context, a Attachment, opts ...grpc.DialOption) (*Plugin, error) {
	if !slices.Contains(Supported(), a.Protocol) {
		return nil, startErrorf(ReasonVersionMismatch, nil, "the plugin to attach to speaks protocol version %d, and this host %s", a.Protocol, versionWords(Supported()))
	}
	r := newRunning()
	peer := &peer{wanted: a}
	opts = slices.Concat(dialOptions(r), []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(peer.dial),
	}, opts)
	conn, err := grpc.NewClient("passthrough:///plugin", opts...)
	if err != nil {
		return nil, startErrorf(ReasonStartFailed, err, "there is no connection to the plugin to attach to: %v", err)
	}
	p := &Plugin{conn: conn, protocol: a.Protocol, running: r, done: make(chan struct{})}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errStartTimeout)
	defer cancel()
	if err := p.Ping(ctx); err != nil {
		_ = conn.Close()
		switch refused := peer.refusal(); {
		case refused != nil:
			err = refused
		case ctx.Err() == nil && errors.Is(err, provider.Unavailable):
			// One that is about to be gone still took the connection.
			err = errNoPlugin
		}
		return nil, startErrorf(ReasonStartFailed, err, "the plugin to attach to does not answer: %v", err)
	}
	if p.description, err = Describe(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, startErrorf(ReasonFactsInvalid, err, "what the plugin to attach to says about itself is not valid: %v", err)
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.attached = &attachment{pid: a.PID, close: stop}
	go func() {
		defer stop()
		// The connection is to one process: when it breaks, that one is gone, and whoever listens there next is another.
		for conn.GetState() == connectivity.Ready && conn.WaitForStateChange(watch, connectivity.Ready) {
		}
		_ = conn.Close()
		p.finish()
	}()
	return p, nil
}

// errNoPlugin is what becomes of an attachment whose plugin ended.
var errNoPlugin = errors.New("no plugin is at its socket; start it again with serve --debug and give its new line to the operator")

// peer connects to an attached plugin, and to nobody else who may be at its address.
type peer struct {
	wanted Attachment

	mu  sync.Mutex
	err error
}

func (p *peer) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := p.connect(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	return conn, err
}

// refusal is why the last connection failed.
func (p *peer) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *peer) connect(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", p.wanted.Socket)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, errNoPlugin
	}
	if err != nil {
		return nil, fmt.Errorf("its socket: %s", plainCause(err))
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("its address is no unix socket")
	}
	if err := sameUser(socket); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
