// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"
	"strings"
	"unicode"
)

// Reason says in one word why a kubeconfig was refused.
type Reason string

// The reasons, in the order in which a file meets them.
const (
	ReasonTooLarge       Reason = "TooLarge"       // more than MaxSize
	ReasonEncoding       Reason = "Encoding"       // not UTF-8 text, or the whole file in base64
	ReasonSyntax         Reason = "Syntax"         // not YAML, an alias, a tag, several documents
	ReasonNotKubeconfig  Reason = "NotKubeconfig"  // some other file
	ReasonDuplicate      Reason = "Duplicate"      // a key or a name twice
	ReasonContext        Reason = "Context"        // no current context, or one that isn't there
	ReasonMissing        Reason = "Missing"        // the context's cluster or user isn't there
	ReasonServer         Reason = "Server"         // the address can't be used
	ReasonInsecure       Reason = "Insecure"       // the server's certificate would not be checked
	ReasonProxy          Reason = "Proxy"          // through a proxy
	ReasonCA             Reason = "CA"             // the CA is not certificates
	ReasonFile           Reason = "File"           // names a file instead of holding its content
	ReasonExec           Reason = "Exec"           // a program would have to run
	ReasonAuthProvider   Reason = "AuthProvider"   // a plugin that kubectl no longer has
	ReasonBasicAuth      Reason = "BasicAuth"      // user name and password
	ReasonImpersonation  Reason = "Impersonation"  // acts as somebody else
	ReasonNoCredential   Reason = "NoCredential"   // neither token nor client certificate
	ReasonToken          Reason = "Token"          // the token can't be one
	ReasonCertificate    Reason = "Certificate"    // the client certificate can't be read
	ReasonExpired        Reason = "Expired"        // the client certificate's time is over
	ReasonKey            Reason = "Key"            // the client key is missing or can't be read
	ReasonKeyEncrypted   Reason = "KeyEncrypted"   // the client key asks for a passphrase
	ReasonKeyMismatch    Reason = "KeyMismatch"    // the client key belongs to another certificate
	ReasonFieldMalformed Reason = "FieldMalformed" // a field has another shape than it should
)

// Error is a refusal. It names the field and the way out, and holds nothing secret.
type Error struct {
	// Field is where, as a path with entries by name: users[u].user.exec. Empty: the file as a whole.
	Field string
	// Reason is why, for programs.
	Reason Reason
	// Message is why and what to do about it, for people; it does not repeat Field.
	Message string
}

// Error returns field and message.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// refuse makes an Error.
func refuse(field string, reason Reason, format string, args ...any) *Error {
	return &Error{Field: field, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// shown is a name out of the file as messages show it: printable, and short.
func shown(name string) string {
	const longest = 64
	var b strings.Builder
	for i, r := range []rune(name) {
		if i == longest {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
