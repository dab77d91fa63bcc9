// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocolv1 is the wire between Infrared and its provider plugins, as buf makes it from provider.proto. Nobody but
// the SDK needs it: plugins and host speak the types of sdk/provider, and sdk/protocol/v1/convert turns one into the other.
//
// Its messages carry secrets in clear, and their String methods show them: never print or log one.
package protocolv1

// Version is the protocol's number at the handshake. It grows with a change that breaks the wire; what is only added is a
// capability or a field.
const Version = 1

// MaxMessageBytes is how large a message may be in either direction: 16 MiB, room for some 40,000 resources.
const MaxMessageBytes = 16 << 20
