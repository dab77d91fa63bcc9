// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"darkshift.io/infrared/hack/node/internal/box"
)

// probe runs the container's probes until ctx ends, which is when the container or the pod
// ends. Liveness and readiness wait for the startup probe.
func (c *container) probe(ctx context.Context, b *box.Box) {
	if p := c.spec.StartupProbe; p != nil && !c.startup(ctx, b, p) {
		return
	}
	var all sync.WaitGroup
	if p := c.spec.LivenessProbe; p != nil {
		all.Go(func() {
			c.rounds(ctx, b, p, func(passed bool, why string) (more bool) {
				if !passed {
					c.end(b, c.probeGrace(p), "the liveness probe failed: "+why)
				}
				return passed
			})
		})
	}
	if p := c.spec.ReadinessProbe; p != nil {
		all.Go(func() {
			c.rounds(ctx, b, p, func(passed bool, _ string) bool {
				c.change(func() { c.passed = passed })
				return true
			})
		})
	}
	all.Wait()
}

// startup waits for the startup probe and says whether it passed.
func (c *container) startup(ctx context.Context, b *box.Box, p *corev1.Probe) bool {
	ok := false
	c.rounds(ctx, b, p, func(passed bool, why string) bool {
		if ok = passed; !passed {
			c.end(b, c.probeGrace(p), "the startup probe failed: "+why)
			return false
		}
		c.change(func() {
			yes := true
			c.status.Started = &yes
		})
		return false
	})
	return ok
}

func (c *container) probeGrace(p *corev1.Probe) time.Duration {
	seconds := c.pod.grace()
	if p.TerminationGracePeriodSeconds != nil {
		seconds = *p.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// rounds tries a probe again and again, and calls verdict whenever a threshold is
// reached for the first time in a row. It ends with ctx, or when verdict says so.
func (c *container) rounds(ctx context.Context, b *box.Box, p *corev1.Probe, verdict func(passed bool, why string) (more bool)) {
	timer := time.NewTimer(time.Duration(p.InitialDelaySeconds) * time.Second)
	defer timer.Stop()
	passes, failures := int32(0), int32(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := c.try(ctx, b, p)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			passes, failures = passes+1, 0
			if passes == max(p.SuccessThreshold, 1) && !verdict(true, "") {
				return
			}
		} else {
			passes, failures = 0, failures+1
			if failures == max(p.FailureThreshold, 1) && !verdict(false, err.Error()) {
				return
			}
		}
		timer.Reset(time.Duration(max(p.PeriodSeconds, 1)) * time.Second)
	}
}

// try makes one attempt.
func (c *container) try(ctx context.Context, b *box.Box, p *corev1.Probe) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(p.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case p.Exec != nil:
		code, out, err := b.Exec(ctx, p.Exec.Command, c.plan.Box.Env, c.plan.Box.Dir)
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d: %s", code, strings.TrimSpace(out))
		}
		return err
	case p.TCPSocket != nil:
		address, err := c.address(p.TCPSocket.Host, p.TCPSocket.Port)
		if err != nil {
			return err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	default:
		return c.tryHTTP(ctx, p.HTTPGet)
	}
}

func (c *container) tryHTTP(ctx context.Context, get *corev1.HTTPGetAction) error {
	address, err := c.address(get.Host, get.Port)
	if err != nil {
		return err
	}
	target, err := url.Parse(get.Path)
	if err != nil {
		return fmt.Errorf("httpGet.path: %w", err)
	}
	target.Scheme, target.Host = strings.ToLower(string(get.Scheme)), address
	if target.Scheme == "" {
		target.Scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
		}
		request.Header.Add(h.Name, h.Value)
	}
	client := http.Client{
		// Nobody's certificate is checked: a probe asks whether somebody answers.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 10<<10))
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("the answer was %s", answer.Status)
	}
	return nil
}

// address is where a probe goes: the pod, unless it names another host.
func (c *container) address(host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = c.pod.plan.PodIP
	}
	number := port.IntValue()
	if port.Type == intstr.String {
		for _, p := range c.spec.Ports {
			if p.Name == port.StrVal {
				number = int(p.ContainerPort)
			}
		}
	}
	if number <= 0 {
		return "", fmt.Errorf("the container has no port %q", port.String())
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}
