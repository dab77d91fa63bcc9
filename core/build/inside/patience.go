// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// proxyPatience is how long a request of OpenTofu's is tried while the API server is away. A state that could not be written costs
	// much more than the wait.
	proxyPatience = 3 * time.Minute
	// tryTime is how long one try may take, for a server that takes connections and does not answer.
	tryTime = 20 * time.Second
	// settling is how long after an outage a refusal counts as one more sign of it: a server that has only just started does not know
	// all rights yet.
	settling = 15 * time.Second
)

// patience makes calls of the API server again while it is away. The calls must be idempotent. It may be used by several goroutines
// at once.
type patience struct {
	clock clock.PassiveClock
	away  atomic.Int64 // when the server was last seen to be away, in nanoseconds since the epoch; 0: never
}

// try calls do until it succeeds, is refused for good, or ctx ends. Then it returns do's last error.
func (p *patience) try(ctx context.Context, do func(context.Context) error) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 1 << 30, Cap: 5 * time.Second}
	var last error
	err := backoff.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		once, cancel := context.WithTimeout(ctx, tryTime)
		defer cancel()
		last = do(once)
		return last == nil || !p.passes(last), nil
	})
	if last == nil {
		return err
	}
	return last
}

// passes says whether an error may pass by itself, and takes note of an outage.
func (p *patience) passes(err error) bool {
	now := p.clock.Now()
	if isOutage(err) {
		p.away.Store(now.UnixNano())
		return true
	}
	if !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err) {
		return false
	}
	away := p.away.Load()
	return away != 0 && now.Sub(time.Unix(0, away)) < settling
}

// isOutage says that the server did not answer, or answered that it can't now.
func isOutage(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		// No answer at all: nothing of our own is called within a try.
		return true
	}
	code := status.Status().Code
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
}
