// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"darkshift.io/infrared/sdk/provider"
)

// maxTail is how much of OpenTofu's error text goes into ours.
const maxTail = 2000

// failed makes one of the eight kinds of error of a command that did not succeed.
func (r *run) failed(step string, err error) error {
	var typed *provider.Error
	if errors.As(err, &typed) {
		return err
	}
	if signal := signalOf(err); signal != 0 {
		return provider.Errorf(provider.Other, "%s: OpenTofu was ended by signal %d (9 is often too little memory); start the same run again", step, int(signal))
	}
	return r.failure(step, plainText(r.red.clean(err.Error())))
}

// failure sorts a text of OpenTofu's.
func (r *run) failure(step, text string) error {
	text = strings.TrimSpace(text)
	if lock := lockHolder(text); lock != "" {
		return provider.Errorf(provider.Conflict, "%s: %s", step, lock)
	}
	kind, hint := classify(text)
	message := step + ": " + tail(text, maxTail)
	if hint != "" {
		message = step + ": " + hint + ": " + tail(text, maxTail)
	}
	return &provider.Error{Kind: kind, Field: r.fieldOf(kind, text), Message: message}
}

// fieldOf is what in the request is wrong, as far as OpenTofu's text tells.
func (r *run) fieldOf(kind provider.ErrorKind, text string) string {
	if kind != provider.Invalid {
		return ""
	}
	if m := regexp.MustCompile(`variable "([^"]+)"|on var\.([A-Za-z0-9_-]+)|No value for required variable[^"]*"([^"]+)"`).FindStringSubmatch(text); m != nil {
		if name := m[1] + m[2] + m[3]; r.variables[name] != nil || strings.Contains(text, "required variable") {
			return "variables." + name
		}
	}
	if regexp.MustCompile(`(?i)module source|download module|remote module|failed to download|expand subdir`).MatchString(text) {
		return fieldSource
	}
	return "template"
}

// lockHolder says who holds the state; empty: it was not about that.
func lockHolder(text string) string {
	if !strings.Contains(text, "Error acquiring the state lock") {
		return ""
	}
	part := func(name string) string {
		m := regexp.MustCompile(`(?m)^\s*` + name + `:\s*(\S+)`).FindStringSubmatch(text)
		if m == nil {
			return "unknown"
		}
		return m[1]
	}
	return fmt.Sprintf("another run holds the state: lock %s, held by %s for %s; wait for that run, or release the lock once it is certain that it is dead",
		part("ID"), part("Who"), part("Operation"))
}

// plainText is an error of OpenTofu's without frame and without its program's exit status.
func plainText(text string) string {
	var lines []string
	preamble := regexp.MustCompile(`^(There are some problems with the|OpenTofu encountered problems during|with the configuration, described below)`)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(strings.TrimLeft(line, "│╷╵ \t"), " \t\r\n")
		if line == "" || strings.HasPrefix(line, "exit status ") || preamble.MatchString(line) {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// classRow is one thing that clouds and OpenTofu say when something fails.
type classRow struct {
	kind provider.ErrorKind
	says string // a regular expression, in any case of letters
	hint string // our own words for it; empty: its own are enough
}

// classes is the table of what texts mean. The first row that fits decides: the words of refusals stand before those that
// also occur in the addresses and advice around them.
func classes() []classRow {
	return []classRow{
		{provider.Unauthenticated, `ExpiredToken|token (is|has) expired|credentials (have )?expired|RequestExpired`, "the credentials have expired"},
		{provider.Unauthenticated, `could not read (Username|Password)|terminal prompts disabled|Authentication failed for|HTTP Basic: Access denied`, "the host of the module's source wants a token: put one that may read it into the credentials as GIT_TOKEN"},
		{provider.Unauthenticated, `InvalidClientTokenId|AuthFailure|SignatureDoesNotMatch|UnrecognizedClient|no valid credential sources|failed to refresh cached credentials|could not find default credentials|invalid_grant|invalid authentication credentials|\bUNAUTHENTICATED\b|\b401\b.{0,20}unauthorized|Error 401|\[401\]|: Unauthorized\b|the server has asked for the client to provide credentials`, ""},
		{provider.Quota, `LimitExceeded|QuotaExceeded|quota exceeded|exceeded.{0,40}\bquota|QUOTA_EXCEEDED|quotaExceeded|RESOURCE_EXHAUSTED.{0,40}quota|VcpuLimit|you have reached the (maximum )?limit|Account limit reached`, ""},
		{provider.Denied, `AccessDenied|UnauthorizedOperation|is not authorized to perform|PERMISSION_DENIED|Error 403|\[403\]|\b403\b.{0,20}forbidden|is forbidden:|Required '[^']+' permission|does not have permission`, ""},
		{provider.Unavailable, `Throttl|RequestLimitExceeded|rateLimitExceeded|Rate exceeded|Too Many Requests|Error 429|\[429\]`, "the cloud is being asked too often"},
		{provider.Conflict, `Saved plan is stale`, "the saved plan no longer fits the state: plan again"},
		{provider.Conflict, `DependencyViolation|ResourceInUse|resourceInUseByAnotherResource|OperationAborted|already exists|AlreadyExists|EntityAlreadyExists|ConcurrentModification|is currently being (created|deleted|modified|used)|state lock`, ""},
		{provider.Unavailable, `InsufficientInstanceCapacity|ZONE_RESOURCE_POOL_EXHAUSTED|ServiceUnavailable|InternalServerError|Error 50[0-9]|\[50[0-9]\]|\b50[0-9]\b.{0,30}(Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time)`, ""},
		{provider.Unavailable, `connection refused|connection reset|no such host|Could not resolve host|Client\.Timeout|context deadline exceeded|i/o timeout|TLS handshake timeout|network is unreachable|Temporary failure in name resolution|unexpected EOF|Couldn't connect to server|Failed to connect to`, ""},
		{provider.Invalid, `must be valid before|required_version|Unsupported OpenTofu Core version|Unsupported Terraform Core version|Invalid value for (input )?variable|No value for required variable|Unsupported argument|Missing required argument|Unsupported block type|Reference to undeclared|Invalid reference|Argument or block definition required|Invalid (expression|function argument|index|template|count argument|for_each)|Unreadable module|Module not found|Failed to (download|query for available) module|Could not download module|Error downloading|expand subdir|Remote branch .* not found|did not match any file|Repository .*not found|No configuration files|Provider dependency changes detected|match any of the checksums|Inconsistent dependency lock file|Duplicate (resource|variable|output|module)|Unsuitable value|ValidationException|InvalidParameter|Error 400|\[400\]`, ""},
	}
}

// classify is what a text means.
func classify(text string) (provider.ErrorKind, string) {
	for _, row := range classes() {
		if regexp.MustCompile(`(?is)` + row.says).MatchString(text) {
			return row.kind, row.hint
		}
	}
	return provider.Other, ""
}
