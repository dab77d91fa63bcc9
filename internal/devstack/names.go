// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"fmt"
	"regexp"
	"slices"
)

// maxName is the longest name a Cluster may have, and so one of the stack's.
const maxName = 42

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// CheckName says what is wrong with the name of a control plane. The rule is
// that of a Cluster, since that is what it gets registered as; reserved are
// further names that are taken.
func CheckName(name string, reserved ...string) error {
	switch {
	case name == "":
		return fmt.Errorf("a cluster's name can't be empty")
	case len(name) > maxName:
		return fmt.Errorf("the cluster name %q has %d characters: at most %d are allowed", name, len(name), maxName)
	case !namePattern.MatchString(name):
		return fmt.Errorf("the cluster name %q can't be used: lowercase letters, digits and hyphens, no hyphen at either end", name)
	case slices.Contains(reserved, name):
		return fmt.Errorf("the cluster name %q is taken by the stack itself: choose another", name)
	}
	return nil
}
