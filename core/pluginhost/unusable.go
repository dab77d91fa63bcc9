// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"

	"darkshift.io/infrared/sdk/provider"
)

// ErrUnusable is among the causes of an error that the host made because a plugin does not run, did not answer, ended, or answered
// what no plugin may. Such an error says nothing about the cluster and its cloud. What the plugin itself said never has it.
var ErrUnusable = errors.New("the plugin can't be used")

// unusable puts ErrUnusable among the causes of an error that was just made. Its text stays.
func unusable(err error) error {
	var e *provider.Error
	if errors.As(err, &e) {
		e.Err = errors.Join(e.Err, ErrUnusable)
	}
	return err
}
