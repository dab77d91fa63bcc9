// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Apply makes the object at a path of the API what object says, by server-side apply in a field manager's name, and decodes the
// result into out, when out is given.
func (cp *ControlPlane) Apply(ctx context.Context, path, manager string, object, out any) error {
	query := url.Values{"fieldManager": {manager}, "force": {"true"}}
	if err := cp.api.call(ctx, http.MethodPatch, path+"?"+query.Encode(), object, out); err != nil {
		return fmt.Errorf("applying %s on %q: %w", path, cp.opts.Name, err)
	}
	return nil
}
