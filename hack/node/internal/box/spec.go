// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

// EnterCommand and HelperCommand are the first arguments with which this
// executable starts itself inside a box.
const (
	EnterCommand  = "enter"
	HelperCommand = "helper"
)

// Mount puts something into the box's root folder.
type Mount struct {
	// Source is a file or folder of the host.
	Source string
	// SubPath is a path below Source to mount instead of it; it is made when
	// absent and can't lead out of Source.
	SubPath string `json:",omitempty"`
	// Target is the absolute path in the box. It is made when absent.
	Target string
	// ReadOnly also holds for what is mounted below Source.
	ReadOnly bool
}

// Spec says what to run.
type Spec struct {
	// Root is an existing folder that becomes "/".
	Root string
	// ReadOnlyRoot refuses writes outside of Mounts.
	ReadOnlyRoot bool
	Mounts       []Mount
	// Files are written into the root folder: absolute path to content.
	Files    map[string]string
	Hostname string

	Args []string // the program, by path or by name in PATH, and its arguments
	Env  []string // all of its environment, KEY=value
	Dir  string   // working folder, made when absent; "/" when empty

	UID, GID int
	Groups   []int // further groups; only root can give them
	// Capabilities are the numbers that a program of user 0 keeps.
	Capabilities []int
	// NoNewPrivileges keeps programs from gaining rights by set-user-ID files.
	NoNewPrivileges bool
	// Exec keeps a helper in the box, for Box.Exec.
	Exec bool
}

// Exit is how a program ended.
type Exit struct {
	// Code is its exit code; 128 and the signal's number when a signal ended it.
	Code int
	// Signal is the number of that signal, or 0.
	Signal int
}
