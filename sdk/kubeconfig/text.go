// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// checkText makes sure that data is text of a bearable size, and returns it without a byte order mark.
func checkText(data []byte) ([]byte, error) {
	if len(data) > MaxSize {
		return nil, refuse("", ReasonTooLarge,
			"too large: %d bytes where at most %d are read; leave one context, with kubectl config view --raw --minify", len(data), MaxSize)
	}
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return nil, refuse("", ReasonEncoding, "the file is UTF-16; save it as UTF-8")
	}
	data = bytes.TrimPrefix(data, []byte{0xEF, 0xBB, 0xBF})
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, refuse("", ReasonEncoding, "the file holds a NUL byte, as UTF-16 does; save it as UTF-8")
	}
	if !utf8.Valid(data) {
		return nil, refuse("", ReasonEncoding, "the file is not UTF-8; save it as UTF-8")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, refuse("", ReasonNotKubeconfig, "the file is empty; give the text of a kubeconfig")
	}
	if entries(data) > maxEntries {
		return nil, refuse("", ReasonTooLarge,
			"too large: it has more than %d lines and entries; leave one context, with kubectl config view --raw --minify", maxEntries)
	}
	return data, nil
}

// maxEntries bounds what parsing costs: a tree takes a hundred times the memory of the two bytes that make a node of it. A
// kubeconfig with a hundred clusters has about 5000.
const maxEntries = 20_000

// entries counts what begins a node in YAML or JSON, or close to it.
func entries(text []byte) int {
	n := 0
	for i, c := range text {
		switch c {
		case '\n', '\r', ',', '[', '{':
			n++
		case ' ', '\t':
			// The dashes and question marks of "- - a" and "? ? a", not those inside a name.
			if i > 0 && (text[i-1] == '-' || text[i-1] == '?' || text[i-1] == ':') {
				n++
			}
		}
	}
	return n
}

// isBase64Kubeconfig says whether text, which is a single word to YAML, is a whole kubeconfig in base64.
func isBase64Kubeconfig(text string) bool {
	plain, ok := decodeBase64(text)
	return ok && utf8.Valid(plain) && (bytes.Contains(plain, []byte("clusters")) || bytes.Contains(plain, []byte("apiVersion")))
}

// decodeBase64 decodes standard base64 with or without line breaks and spaces in it.
func decodeBase64(text string) ([]byte, bool) {
	if strings.ContainsAny(text, " \t\r\n") {
		text = strings.Join(strings.Fields(text), "")
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	return plain, err == nil
}

// indentsWithTab says whether a line of text begins with a tab among its blanks.
func indentsWithTab(text []byte) bool {
	for line := range bytes.Lines(text) {
		blanks := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.IndexByte(blanks, '\t') >= 0 {
			return true
		}
	}
	return false
}

func encodeBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
