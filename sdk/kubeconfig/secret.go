// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import "darkshift.io/infrared/sdk/provider"

// Secret is a text that must not be shown: it prints as [redacted] everywhere. It is the provider interface's type, since
// what a kubeconfig holds goes to plugins, too, and that package imports nothing of ours.
type Secret = provider.Secret

// NewSecret keeps text as a secret.
func NewSecret(text string) Secret { return provider.NewSecret(text) }
