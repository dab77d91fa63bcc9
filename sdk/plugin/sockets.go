// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// socketPrefix begins the names of folders with one plugin's socket each.
	socketPrefix = "ir-plugin-"
	// longestSocket is how many bytes the path of a unix socket may have: 108 with the NUL at its end on Linux, less on others.
	longestSocket = 103
	// nameLength is how many random letters make a folder's name, of 5 bits each.
	nameLength = 10
	// belowBase is what comes behind the base folder at most: /ir-plugin- and its letters, /plugin with up to ten digits.
	belowBase = len("/"+socketPrefix) + nameLength + len("/plugin") + 10
	// longestBase is how long the path of the base folder may be.
	longestBase = longestSocket - belowBase
)

// socketFolder is a folder of one plugin's own. It is locked for as long as its host lives, so that whoever can lock it may
// take it away.
type socketFolder struct {
	path string
	lock *os.File
}

// newSocketFolder makes a folder in the first base that will do, and clears away what killed hosts left there. An empty wish
// means the usual places.
func newSocketFolder(wish string) (*socketFolder, *StartError) {
	type base struct{ name, path string }
	bases := []base{{name: "the socket folder " + wish, path: wish}}
	if wish == "" {
		bases = []base{{name: "TMPDIR", path: os.Getenv("TMPDIR")}, {name: "/tmp", path: "/tmp"}, {name: "/dev/shm", path: "/dev/shm"}}
	}
	var why []string
	for _, b := range bases {
		if b.path == "" {
			continue
		}
		folder, err := socketFolderIn(b.path)
		if err == nil {
			return folder, nil
		}
		why = append(why, b.name+" "+err.Error())
	}
	return nil, startErrorf(ReasonNoSocketFolder, nil,
		"there is no folder for the plugin's socket: %s. Set TMPDIR to a folder that can be written to, with a path of at most %d bytes",
		strings.Join(why, "; "), longestBase)
}

// socketFolderIn makes one in base. Its errors read on from base's name.
func socketFolderIn(base string) (*socketFolder, error) {
	base, err := filepath.Abs(base)
	if err != nil {
		return nil, errors.New("has no absolute path")
	}
	if len(base) > longestBase {
		return nil, fmt.Errorf("is too long: %d bytes", len(base))
	}
	removeStaleSockets(base)
	const tries = 10
	for range tries {
		path := filepath.Join(base, socketPrefix+rand.Text()[:nameLength])
		if err := os.Mkdir(path, 0o700); err != nil {
			return nil, socketTrouble(err)
		}
		lock, err := lockFolder(path, true)
		if err != nil {
			_ = os.RemoveAll(path)
			return nil, fmt.Errorf("can't hold a lock: %w", err)
		}
		// Between the two steps another host may have taken it for a stale one.
		if stillThere(path, lock) {
			return &socketFolder{path: path, lock: lock}, nil
		}
		_ = lock.Close()
	}
	return nil, errors.New("loses every folder as soon as it is made")
}

// socketTrouble says why no folder could be made, without the random name.
func socketTrouble(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("can't be written to")
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("can't be used: %w", path.Err)
	}
	return fmt.Errorf("can't be used: %w", err)
}

// remove takes the folder away with all in it.
func (f *socketFolder) remove() {
	_ = os.RemoveAll(f.path)
	_ = f.lock.Close()
}

// removeStaleSockets takes away the folders whose hosts are gone, and first what is left of their plugins. What can't be looked at
// belongs to somebody else.
func removeStaleSockets(base string) {
	found, _ := filepath.Glob(filepath.Join(escapeGlob(base), socketPrefix+"*"))
	for _, path := range found {
		lock, err := lockFolder(path, false)
		if err != nil {
			continue
		}
		stale := &socketFolder{path: path, lock: lock}
		outliveHost(filepath.Base(path), stale.remove)
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func stillThere(path string, lock *os.File) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(held, now)
}
