// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files gathers what goes into an image: files and folders of this machine, and for each program among them that is not
// static the shared libraries it is linked with, since an image has nothing else.
package files

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"darkshift.io/infrared/hack/realnode/internal/archive"
)

// Gather turns a map from paths in an image to paths on this machine into the files of the image, with a /tmp that anybody may
// write to. Symbolic links are followed.
func Gather(paths map[string]string) ([]archive.File, error) {
	g := gatherer{found: map[string]archive.File{"/tmp": {Path: "/tmp", Mode: 0o1777, Folder: true}}}
	for _, inside := range slices.Sorted(maps.Keys(paths)) {
		if err := g.add(path.Clean(inside), paths[inside]); err != nil {
			return nil, fmt.Errorf("gathering %s: %w", inside, err)
		}
	}
	return slices.SortedFunc(maps.Values(g.found), func(a, b archive.File) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	}), nil
}

type gatherer struct {
	found map[string]archive.File
}

func (g gatherer) add(inside, outside string) error {
	info, err := os.Stat(outside)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: run make stack build", outside)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return g.addFile(inside, outside, info)
	}
	entries, err := os.ReadDir(outside)
	if err != nil {
		return err
	}
	g.found[inside] = archive.File{Path: inside, Mode: 0o755, Folder: true}
	for _, e := range entries {
		if err := g.add(path.Join(inside, e.Name()), filepath.Join(outside, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (g gatherer) addFile(inside, outside string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder", outside)
	}
	g.found[inside] = archive.File{
		Path: inside, Mode: int64(info.Mode().Perm()), Size: info.Size(),
		Open: func() (io.ReadCloser, error) { return os.Open(outside) },
	}
	needs, err := linked(outside)
	if err != nil {
		return err
	}
	for _, library := range needs {
		if _, done := g.found[library]; done {
			continue
		}
		if err := g.add(library, library); err != nil {
			return err
		}
	}
	return nil
}

// linked are the libraries that a program or library names itself, and its loader, each by an absolute path. A file that is no
// program needs none.
func linked(file string) ([]string, error) {
	program, err := elf.Open(file)
	var bad *elf.FormatError
	if errors.As(err, &bad) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = program.Close() }()
	var all []string
	for _, segment := range program.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(segment.Open())
		if err != nil {
			return nil, fmt.Errorf("reading which loader %s needs: %w", file, err)
		}
		all = append(all, string(name[:max(len(name)-1, 0)])) // it ends with a zero byte
	}
	names, err := program.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("reading which libraries %s needs: %w", file, err)
	}
	for _, name := range names {
		library, err := find(name, program.Machine)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, library)
	}
	return all, nil
}

// find looks a library up where Debian's loader does. A machine may have those of another processor too.
func find(name string, processor elf.Machine) (string, error) {
	for _, pattern := range []string{"/lib/*-linux-gnu/", "/usr/lib/*-linux-gnu/", "/lib/", "/usr/lib/", "/lib64/", "/usr/lib64/"} {
		found, _ := filepath.Glob(pattern + name) // the error is one of the pattern, never of a file
		for _, library := range found {
			if isFor(library, processor) {
				return library, nil
			}
		}
	}
	return "", fmt.Errorf("the library %s is on none of the usual paths: build the program with CGO_ENABLED=0", name)
}

func isFor(library string, processor elf.Machine) bool {
	file, err := elf.Open(library)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	return file.Machine == processor
}
