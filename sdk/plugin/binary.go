// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// binaryFD is the descriptor under which a plugin's process is given its own pinned binary, to be executed through.
const binaryFD = 4

// errReplaced is why a start was given up at the last moment.
var errReplaced = errors.New("the binary is not the pinned one any more")

// binary is the file of a launch. One that is pinned stays open from its checksum to the end of the start, so that what is executed is
// the very file that was read, wherever its name leads by then.
type binary struct {
	launch Launch
	file   *os.File    // nil: it is not pinned
	info   os.FileInfo // of file
	state  fileID      // of file, before it was read
}

// open looks at the binary before it is started.
func (l Launch) open() (*binary, *StartError) {
	if !filepath.IsAbs(l.Path) {
		return nil, startErrorf(ReasonBinaryMissing, nil, "the plugin's path %q is not absolute", l.Path)
	}
	info, err := os.Stat(l.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, startErrorf(ReasonBinaryMissing, err, "there is no binary %s in the plugin folder", l.name())
	case err != nil:
		return nil, startErrorf(ReasonNotExecutable, err, "the binary %s can't be looked at: %s", l.name(), plainCause(err))
	case !info.Mode().IsRegular():
		return nil, startErrorf(ReasonNotExecutable, nil, "%s is not a file that can be executed", l.name())
	}
	b := &binary{launch: l}
	if l.SHA256 == "" {
		return b, l.executable(info)
	}
	// Non-blocking, for the case that the name leads to a pipe by now.
	b.file, err = os.OpenFile(l.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, startErrorf(ReasonNotExecutable, err, "the binary %s can't be read: %s", l.name(), plainCause(err))
	}
	if err := b.check(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// check compares the open file with the pinned one.
func (b *binary) check() *StartError {
	l := b.launch
	var err error
	if b.info, err = b.file.Stat(); err != nil || !b.info.Mode().IsRegular() {
		return startErrorf(ReasonNotExecutable, err, "%s is not a file that can be executed", l.name())
	}
	if b.state, _, err = identify(b.file); err != nil {
		return startErrorf(ReasonStartFailed, err, "the binary %s can't be looked at: %s", l.name(), plainCause(err))
	}
	// The checksum first: of a file that is not ours nothing else is worth telling.
	if err := l.compare(b.file); err != nil {
		return err
	}
	if err := l.executable(b.info); err != nil {
		return err
	}
	start := make([]byte, 2)
	if _, err := b.file.ReadAt(start, 0); err == nil && string(start) == "#!" {
		return startErrorf(ReasonNotExecutable, nil,
			"%s is a script, and its checksum says nothing about the program that would run it: build the plugin as a program of its own", l.name())
	}
	return nil
}

func (l Launch) executable(info os.FileInfo) *StartError {
	if info.Mode().Perm()&0o111 == 0 {
		return startErrorf(ReasonNotExecutable, nil, "the binary %s is not executable: set its mode to 0755", l.name())
	}
	return nil
}

// compare holds the checksum of an open file against the one that is pinned.
func (l Launch) compare(f *os.File) *StartError {
	sum, err := l.Sums.of(f)
	if err != nil {
		return startErrorf(ReasonStartFailed, err, "the checksum of %s can't be computed: %s", l.name(), plainCause(err))
	}
	if !strings.EqualFold(sum, l.SHA256) {
		return startErrorf(ReasonChecksumMismatch, nil,
			"the checksums did not match: the binary %s has SHA-256 %s, and %s is pinned; it was not executed. Put the right binary there, or pin this one", l.name(), sum, strings.ToLower(l.SHA256))
	}
	return nil
}

// command is what to execute, and the descriptors from [binaryFD] on that its process needs for that.
func (b *binary) command() (path string, files []*os.File) {
	if b.file == nil || !executesOpenFiles {
		return b.launch.Path, nil
	}
	return openBinary, []*os.File{b.file}
}

// changed says whether the file that was read has other content now. Only a file whose state tells of a change is read again; a new
// name for it is one, too.
func (b *binary) changed() bool {
	if b.file == nil {
		return false
	}
	now, known, err := identify(b.file)
	if err == nil && known && now == b.state {
		return false
	}
	return err != nil || b.launch.compare(b.file) != nil
}

// replaced says whether the binary was changed since its checksum was compared, or its name leads to another one now. Where the system
// executes names, that one may be what ran.
func (b *binary) replaced() bool {
	if b.file == nil {
		return false
	}
	if b.changed() {
		return true
	}
	now, err := os.Stat(b.launch.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return !executesOpenFiles
	case err == nil && os.SameFile(now, b.info):
		return false
	}
	other, failed := b.launch.open()
	if failed != nil {
		return true
	}
	other.close()
	return false
}

func (b *binary) close() {
	if b.file != nil {
		_ = b.file.Close()
	}
}
