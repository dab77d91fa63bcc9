// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import "time"

// How long things may take.
const (
	// pingEvery is how often a plugin is asked whether it answers, pingTime how long it may take, and missesAllowed how many
	// answers in a row may be missing before it counts as hung.
	pingEvery     = 30 * time.Second
	pingTime      = 10 * time.Second
	missesAllowed = 3

	// waitTime is how long a call waits for a plugin that is being started.
	waitTime = 2 * time.Second
	// endTime is how long a call whose connection broke waits to hear how the process ended, to say it in its error.
	endTime = time.Second
	// drainTime is how long the calls of a plugin that was replaced or removed may go on: as long as the slowest of the
	// short verbs. stopTime is how long it may then take to end.
	drainTime = 10 * time.Minute
	stopTime  = 30 * time.Second
	// killTime is kept back of the time that Close is given, to kill what did not end.
	killTime = 2 * time.Second
)

// verb is a call that a plugin answers, named as in provider.Provider and provider.Accounts.
type verb string

// The verbs.
const (
	verbConnect  verb = "Connect"
	verbBuild    verb = "Build"
	verbSnapshot verb = "Snapshot"
	verbConfirm  verb = "Confirm"
	verbSweep    verb = "Sweep"
	verbVerify   verb = "Verify"
	verbMint     verb = "Mint"
)

// deadline is how long one call of the verb may take; a caller's context may end it sooner. It is for calls that hang: a
// verb that only needs longer is called again and goes on.
func (v verb) deadline() time.Duration {
	switch v {
	case verbConnect, verbVerify, verbMint:
		return time.Minute
	case verbSnapshot:
		return 2 * time.Minute
	case verbConfirm:
		return 5 * time.Minute
	case verbSweep:
		return 10 * time.Minute
	case verbBuild:
		return 12 * time.Hour
	}
	return time.Minute
}
