// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
)

// longestHandshake is more than any handshake has; its certificate is the largest part.
const longestHandshake = 16 << 10

// expected is what a handshake is held against.
type expected struct {
	name     string // the plugin's, for messages
	versions []int
	folder   string // where the socket must be
}

// judge says what is wrong with the first line that a plugin wrote; nil: it is a handshake that go-plugin may go on with. Its form is
// CORE|PROTOCOL|NETWORK|ADDRESS|KIND|CERTIFICATE.
func (e expected) judge(line string) *StartError {
	parts := strings.Split(strings.TrimSpace(line), "|")
	core, protocol := 0, 0
	if len(parts) >= 4 {
		core, _ = strconv.Atoi(parts[0])
		protocol, _ = strconv.Atoi(parts[1])
	}
	if core <= 0 || protocol <= 0 {
		return startErrorf(ReasonPrintsFirst, nil,
			"%s printed %s to its standard output before the handshake, where only the handshake may be: print to standard error, and call the SDK's Serve first in main",
			e.name, quote(line))
	}
	if core != goplugin.CoreProtocolVersion {
		return startErrorf(ReasonVersionMismatch, nil, "%s speaks version %d of go-plugin's handshake, and this host %d: build it with a newer SDK",
			e.name, core, goplugin.CoreProtocolVersion)
	}
	if !slices.Contains(e.versions, protocol) {
		return startErrorf(ReasonVersionMismatch, nil, "%s speaks protocol version %d, and this host %s: use versions of the two that have one in common",
			e.name, protocol, versionWords(e.versions))
	}
	if what := e.forged(parts); what != "" {
		return startErrorf(ReasonForgedHandshake, nil, "%s answered with a handshake that can't be its own: %s", e.name, what)
	}
	return nil
}

// forged says what in a handshake no plugin would write that we started.
func (e expected) forged(parts []string) string {
	network, address := parts[2], parts[3]
	switch {
	case network != "unix":
		return fmt.Sprintf("its address is of the network %s, not a unix socket", quote(network))
	case filepath.Dir(address) != e.folder:
		// Without Clean: a path that needs it is not one that we would see from the SDK.
		return "its socket is not in the folder that the host gave it"
	case len(parts) < 5 || parts[4] != string(goplugin.ProtocolGRPC):
		return "it does not speak gRPC"
	case len(parts) < 6 || !isCertificate(parts[5]):
		return "it has no certificate"
	}
	return ""
}

func isCertificate(text string) bool {
	der, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	_, err = x509.ParseCertificate(der)
	return err == nil
}

func versionWords(versions []int) string {
	words := make([]string, 0, len(versions))
	for _, v := range slices.Sorted(slices.Values(versions)) {
		words = append(words, strconv.Itoa(v))
	}
	return strings.Join(words, " and ")
}
