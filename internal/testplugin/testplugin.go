// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testplugin has plugins that crash, lie and hang, as programs, for the tests of whoever starts plugins. A program behaves
// by the name that it was started under:
//
//	folder := testplugin.Build(t)
//	path, sha256 := folder.Add(t, "crash-connect")
//
// Plugins over the SDK declare the provider toy with Accounts, and answer every verb at once. Each call first appends its verb as
// a line to the file named in the credential MARK, where there is one (in Account.Stored for Verify and Mint); then:
//
//	good             answers
//	crash-<verb>     prints "panic: out of luck" and exits with code 3, the first time that the mark has the verb; without a mark every time
//	hang-<verb>      waits until its context ends, appends "<verb> ended" to the mark, and fails; as often as crash-<verb>
//	stuck-<verb>     never returns, whatever happens to its context
//	panics-<verb>    panics with "S3CR3T", every time
//	slow             answers after the duration in the credential WAIT (300ms), or fails when its context ends sooner
//	winds-down       waits until its context ends, and answers after WAIT more
//	many             answers Confirm with what it was asked about, Sweep with 40,000 resources
//	floods           writes to standard error for ever, without the end of a line
//	grandchild       has a child in a session of its own that holds its standard error: "sleep 1000"
//	orphans          leaves children behind, some dead and some alive, whose parents are gone
//	tells-env        says its environment in Connection.Identity.Traits["environment"]
//	bad-facts        has facts that are not valid
//
// Programs without the SDK:
//
//	prints-first     prints "hello from init" first
//	prints-bytes     prints 1 MiB of control characters first, without the end of a line
//	forged           prints a handshake whose socket is in another folder
//	forged-nobody    prints a handshake whose socket would be in the right folder, where nobody listens
//	forged-silent    the same, where somebody listens and never says a word
//	forged-stranger  the same, where a plugin answers that has another certificate than the one in the handshake
//	silent           prints nothing and sleeps
//	exits            prints "no region" to standard error and exits with code 1
//	touches          makes the file named in the environment's TOUCHES, prints "touched" and ends
//	wrong-version    speaks protocol version 2 only
//	two-versions     speaks protocol versions 1 and 2, over go-plugin alone
//	ignores-sigterm  the same, ignores SIGTERM and does not watch its host
//	handshake-exits  prints a handshake and exits with code 4
//	late-exit        exits with code 4 when it is asked who it is
package testplugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"darkshift.io/infrared/internal/devstack"
)

// Folder is a folder of plugin binaries, of one test's own.
type Folder struct {
	// Path is the folder.
	Path string
	// Host is the path of a small host program: see internal/testplugin/host.
	Host string

	sdk, raw binary
}

// binary is a program that was built.
type binary struct{ path, sha256 string }

// Build compiles the programs, once a test binary, and makes an empty folder for the test.
func Build(t testing.TB) Folder {
	t.Helper()
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return Folder{Path: t.TempDir(), Host: programs[2].path, sdk: programs[0], raw: programs[1]}
}

// Add puts a program into the folder under a name, and returns its path and its SHA-256 in hex.
func (f Folder) Add(t testing.TB, name string) (path, sum string) {
	t.Helper()
	from := f.sdk
	if slices.Contains(rawNames(), name) {
		from = f.raw
	}
	path = filepath.Join(f.Path, name)
	if err := os.Link(from.path, path); err != nil {
		// Another file system.
		if err := copyFile(from.path, path); err != nil {
			t.Fatalf("adding the test plugin %s: %v", name, err)
		}
	}
	return path, from.sha256
}

func rawNames() []string {
	return []string{
		"prints-first", "prints-bytes", "forged", "forged-nobody", "forged-silent", "forged-stranger", "silent", "exits", "touches", "wrong-version", "two-versions",
		"ignores-sigterm", "handshake-exits", "late-exit",
	}
}

// build compiles once a process. The binaries stay in .dev/bin, where the next run finds them; test binaries that run at the same time
// take turns.
var build = sync.OnceValues(func() ([3]binary, error) {
	root, err := devstack.RepoRoot()
	if err != nil {
		return [3]binary{}, err
	}
	folder := filepath.Join(root, ".dev", "bin", "testplugin")
	if err := os.MkdirAll(filepath.Join(folder, "new"), 0o755); err != nil {
		return [3]binary{}, fmt.Errorf("making a folder for the test plugins: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return [3]binary{}, fmt.Errorf("opening the lock of the test plugins: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return [3]binary{}, fmt.Errorf("waiting for others who build test plugins: %w", err)
	}
	command := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(folder, "new")+"/", "./internal/testplugin/...")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return [3]binary{}, fmt.Errorf("building the test plugins: %w: %s", err, out)
	}
	var built [3]binary
	for i, name := range []string{"sdk", "raw", "host"} {
		if built[i], err = keep(folder, name); err != nil {
			return [3]binary{}, fmt.Errorf("keeping the test plugin %s: %w", name, err)
		}
	}
	return built, nil
})

// keep gives a new binary a name by its content. The compiler writes over what it made before, and a file that runs can't be
// written to.
func keep(folder, name string) (binary, error) {
	data, err := os.ReadFile(filepath.Join(folder, "new", name))
	if err != nil {
		return binary{}, err
	}
	sum := sha256.Sum256(data)
	b := binary{sha256: hex.EncodeToString(sum[:])}
	b.path = filepath.Join(folder, name+"-"+b.sha256[:16])
	if have, err := os.ReadFile(b.path); err == nil && bytes.Equal(have, data) {
		return b, nil
	}
	old, err := filepath.Glob(filepath.Join(folder, name+"-*"))
	if err != nil {
		return binary{}, err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return binary{}, err
		}
	}
	return b, copyFile(filepath.Join(folder, "new", name), b.path)
}

// copyFile makes an executable copy, whole or not at all. Another process does the writing: a child that is started in the meantime
// by this one would hold the file open for writing, and it could not be executed.
func copyFile(from, to string) error {
	out, err := exec.Command("cp", from, to+".part").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(to+".part", to)
}
