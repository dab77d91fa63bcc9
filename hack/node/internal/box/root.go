// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the device files that every program may expect.
func devices() []string { return []string{"null", "zero", "full", "random", "urandom", "tty"} }

// tree is a mount that is not attached anywhere yet.
type tree struct {
	fd     int
	folder bool
	target string
}

// buildRoot makes the box's root folder the root of this process.
//
// All sources are opened while the host's files can still be seen, and attached
// after the host is gone. So a symbolic link in a volume, which a program may
// have made, leads to another place in the box and never to the host.
func buildRoot(spec Spec) error {
	// Nothing that is mounted from here on may show up on the host.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("parting from the host's mounts: %w", err)
	}
	trees, err := openTrees(spec)
	if err != nil {
		return err
	}
	if err := pivot(spec.Root); err != nil {
		return err
	}
	if err := furnish(spec); err != nil {
		return err
	}
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(workDir(spec), 0o755); err != nil {
		return fmt.Errorf("making the working folder: %w", err)
	}
	if !spec.ReadOnlyRoot {
		return nil
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("making the root folder read-only: %w", err)
	}
	return nil
}

// openTrees opens what will be mounted, outer targets before inner ones.
func openTrees(spec Spec) ([]tree, error) {
	mounts := slices.Clone(spec.Mounts)
	for _, name := range devices() {
		mounts = append(mounts, Mount{Source: "/dev/" + name, Target: "/dev/" + name})
	}
	slices.SortStableFunc(mounts, func(a, b Mount) int { return depth(a.Target) - depth(b.Target) })
	var trees []tree
	for _, m := range mounts {
		t, err := openTree(m)
		if err != nil {
			return nil, fmt.Errorf("mounting at %s: %w", m.Target, err)
		}
		trees = append(trees, t)
	}
	return trees, nil
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

func openTree(m Mount) (tree, error) {
	source := m.Source
	if m.SubPath != "" {
		sub, err := openSubPath(m)
		if err != nil {
			return tree{}, err
		}
		defer sub.Close()
		source = fmt.Sprintf("/proc/self/fd/%d", sub.Fd())
	}
	info, err := os.Stat(source)
	if err != nil {
		return tree{}, err
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return tree{}, fmt.Errorf("opening the mount (Linux 5.12 or later is needed): %w", err)
	}
	if m.ReadOnly {
		attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
			return tree{}, fmt.Errorf("making it read-only: %w", err)
		}
	}
	return tree{fd: fd, folder: info.IsDir(), target: m.Target}, nil
}

// openSubPath opens a path below a volume, making folders that are missing.
func openSubPath(m Mount) (*os.File, error) {
	root, err := os.OpenRoot(m.Source)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(m.SubPath); errors.Is(err, fs.ErrNotExist) {
		if err := root.MkdirAll(m.SubPath, 0o755); err != nil {
			return nil, err
		}
	}
	return root.Open(m.SubPath)
}

// pivot enters the root folder and leaves the host's behind.
func pivot(root string) error {
	if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting the root folder: %w", err)
	}
	proc := filepath.Join(root, "proc")
	if err := os.MkdirAll(proc, 0o755); err != nil {
		return fmt.Errorf("making /proc: %w", err)
	}
	// While the host's /proc is in sight: the kernel shows no more of it than
	// could be seen before.
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("entering the root folder: %w", err)
	}
	// The old root ends up below the new one, at the same place, and is taken off.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("changing the root folder: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the host's files: %w", err)
	}
	return os.Chdir("/")
}

// furnish makes what programs expect to find beside their own files.
func furnish(spec Spec) error {
	for path, mode := range map[string]os.FileMode{"/dev": 0o755, "/tmp": 0o777 | os.ModeSticky} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
		if err := os.Chmod(path, mode); err != nil {
			return fmt.Errorf("making %s: %w", path, err)
		}
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=755,size=64m"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	if err := os.Mkdir("/dev/shm", 0o777); err != nil {
		return fmt.Errorf("making /dev/shm: %w", err)
	}
	if err := os.Chmod("/dev/shm", 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("making /dev/shm: %w", err)
	}
	for link, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("making %s: %w", link, err)
		}
	}
	for path, text := range spec.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making the folder of %s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// attach mounts the tree at its target, which it makes when absent.
func (t tree) attach() error {
	if err := t.makeTarget(); err != nil {
		return fmt.Errorf("making the mount point %s: %w", t.target, err)
	}
	flags := unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_SYMLINKS
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.target, flags); err != nil {
		return fmt.Errorf("mounting at %s: %w", t.target, err)
	}
	return unix.Close(t.fd)
}

func (t tree) makeTarget() error {
	if t.folder {
		return os.MkdirAll(t.target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(t.target), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(t.target, os.O_CREATE|os.O_RDONLY|unix.O_NONBLOCK, 0o644)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		if _, statErr := os.Stat(t.target); statErr == nil {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return file.Close()
}
