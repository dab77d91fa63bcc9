// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package killproxy

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// When is the side of a write on which the program is killed.
type When string

const (
	// Before kills the program before its request is passed on: the write never happens.
	Before When = "before"
	// After kills the program once the server has answered and before the answer is passed back: the write
	// happened, and the program never knows.
	After When = "after"
)

// trigger is a kill that has yet to happen.
type trigger struct {
	match func(nth int, w Write) bool
	when  When
	kill  func()
}

// call is one write on its way through the proxy.
type call struct {
	write   *Write   // guarded by Proxy.mu
	nth     int      // its place in Proxy.writes, counted from 1
	trigger *trigger // nil when the program lives on
}

type callKey struct{}

var errKilled = errors.New("the program was killed at this write")

// Arm sets the next kill: at the nth write from now on, counted from 1. It forgets the writes seen so far.
//
// The proxy calls kill once, and waits for it; kill must return only when the program is dead. From the moment the
// write arrives, nothing that the program sends on its open connections is passed on any more; what it had sent
// before that may still reach the server, as it may in a real crash. Connections opened later pass untouched, so
// the program can be started again at once.
func (p *Proxy) Arm(nth int, when When, kill func()) {
	p.arm(&trigger{when: when, kill: kill, match: func(n int, _ Write) bool { return n == nth }})
}

// ArmAt is Arm for the first write that has the verb and path of w, wherever in the order it comes.
func (p *Proxy) ArmAt(w Write, when When, kill func()) {
	p.arm(&trigger{when: when, kill: kill, match: func(_ int, seen Write) bool { return seen.same(w) }})
}

// Disarm takes back a kill that has not happened yet, and forgets the writes seen so far.
func (p *Proxy) Disarm() { p.arm(nil) }

func (p *Proxy) arm(t *trigger) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes, p.fired, p.trigger = nil, nil, t
}

// Writes lists the writes since the last Arm or Disarm, in the order in which they arrived.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Write, 0, len(p.writes))
	for _, w := range p.writes {
		out = append(out, *w)
	}
	return out
}

// Fired is the write at which the program was killed since the last Arm, and whether it was.
func (p *Proxy) Fired() (Write, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fired == nil {
		return Write{}, false
	}
	return *p.fired.write, true
}

// firedAt is the place of the write that Fired tells of, counted from 1, or 0.
func (p *Proxy) firedAt() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fired == nil {
		return 0
	}
	return p.fired.nth
}

// ServeHTTP passes one request on, and counts and kills as told by Arm.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := p.admit(r)
	if c == nil {
		p.reverse.ServeHTTP(w, r)
		return
	}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if c.trigger == nil {
		p.reverse.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	if c.trigger.when == Before {
		p.kill(c)
		panic(http.ErrAbortHandler)
	}
	// The write has to happen, even if the program gives up waiting for the answer.
	p.reverse.ServeHTTP(w, r.WithContext(context.WithoutCancel(ctx)))
}

// admit counts a request that is a write and gives back its call, or nil for any other request. It aborts a request
// that a dead program sent.
func (p *Proxy) admit(r *http.Request) *call {
	counted := p.counts(r)
	era, _ := r.Context().Value(eraKey{}).(int)

	p.mu.Lock()
	defer p.mu.Unlock()
	if era < p.era {
		panic(http.ErrAbortHandler)
	}
	if !counted {
		return nil
	}
	c := &call{write: newWrite(r), nth: len(p.writes) + 1}
	p.writes = append(p.writes, c.write)
	if p.trigger == nil || !p.trigger.match(c.nth, *c.write) {
		return c
	}
	c.trigger, p.trigger = p.trigger, nil
	p.fired = c
	p.era++
	return c
}

// answered is called with the server's answer to any request, before it is passed back.
func (p *Proxy) answered(res *http.Response) error {
	c, ok := res.Request.Context().Value(callKey{}).(*call)
	if !ok {
		return nil
	}
	p.record(c, res.StatusCode)
	if c.trigger == nil {
		return nil
	}
	// The server may send its status before it is done, so the whole answer is waited for.
	_, _ = io.Copy(io.Discard, res.Body)
	p.kill(c)
	return errKilled
}

// unanswered is called when no answer can be passed back: the server gave none, or answered refused it.
func (p *Proxy) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errKilled) {
		panic(http.ErrAbortHandler)
	}
	if c, ok := r.Context().Value(callKey{}).(*call); ok && c.trigger != nil {
		// Nobody knows whether the write happened. The kill was asked for all the same.
		p.kill(c)
		panic(http.ErrAbortHandler)
	}
	http.Error(w, "killproxy: the upstream server did not answer", http.StatusBadGateway)
}

func (p *Proxy) record(c *call, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.write.Code = code
}

func (p *Proxy) kill(c *call) {
	c.trigger.kill()
	p.cut()
}

// forget cuts all connections and lets nothing more through of what was sent on them.
func (p *Proxy) forget() {
	p.mu.Lock()
	p.era++
	p.mu.Unlock()
	p.cut()
}
