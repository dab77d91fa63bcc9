// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive writes container images as docker archives, the format of `docker save` that `ctr images import` reads too.
//
// An archive is a tar file with three members: manifest.json names the image, config.json says what runs in it, and layer.tar
// holds its files. There is no base image and no registry: an image is the files that it is given, in one layer. The same files
// always give the same bytes.
package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// Image is what one archive holds.
type Image struct {
	// Name as pods write it, with a tag.
	Name string
	// Arch is Go's word for the processor, such as amd64.
	Arch  string
	Files []File
	// Entrypoint, Cmd and Env are the image's defaults; Env is KEY=value.
	Entrypoint, Cmd, Env []string
	// User is a number, or empty for root.
	User string
	// WorkingDir is where programs start; empty: the root folder.
	WorkingDir string
}

// File is a regular file or a folder of an image. Folders above it are made by themselves, readable by all and owned by root.
type File struct {
	// Path is absolute.
	Path string
	// Mode holds permission bits, and tar's sticky bit where a folder has one.
	Mode int64
	// Folder says that it is one; Size and Open are then not looked at.
	Folder bool
	// Size in bytes of what Open reads. Open is called more than once.
	Size int64
	Open func() (io.ReadCloser, error)
}

// config and manifest are the two JSON members, as far as an engine needs them.
type config struct {
	Architecture string  `json:"architecture"`
	OS           string  `json:"os"`
	Config       process `json:"config"`
	RootFS       rootFS  `json:"rootfs"`
}

type process struct {
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env,omitempty"`
	Entrypoint []string `json:"Entrypoint,omitempty"`
	Cmd        []string `json:"Cmd,omitempty"`
	WorkingDir string   `json:"WorkingDir,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the image's archive. It reads each file twice, since the digest of the layer comes before the layer.
func Write(to io.Writer, image Image) error {
	if err := image.write(to); err != nil {
		return fmt.Errorf("writing image %q: %w", image.Name, err)
	}
	return nil
}

func (i Image) write(to io.Writer) error {
	hash := sha256.New()
	size := &counter{to: hash}
	if err := writeLayer(size, i.Files); err != nil {
		return err
	}
	settings, err := json.Marshal(config{
		Architecture: i.Arch, OS: "linux",
		Config: process{User: i.User, Env: i.Env, Entrypoint: i.Entrypoint, Cmd: i.Cmd, WorkingDir: i.WorkingDir},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + hex.EncodeToString(hash.Sum(nil))}},
	})
	if err != nil {
		return err
	}
	index, err := json.Marshal([]manifest{{Config: "config.json", RepoTags: []string{i.Name}, Layers: []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	for _, member := range []struct {
		name string
		data []byte
	}{{"manifest.json", index}, {"config.json", settings}} {
		if err := add(out, header(member.name, 0o644, int64(len(member.data))), bytes.NewReader(member.data)); err != nil {
			return err
		}
	}
	if err := out.WriteHeader(header("layer.tar", 0o644, size.n)); err != nil {
		return err
	}
	if err := writeLayer(out, i.Files); err != nil {
		return err
	}
	return out.Close()
}

// writeLayer writes the files in the order of their paths, each after the folders above it.
func writeLayer(to io.Writer, files []File) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	layer := tar.NewWriter(to)
	made := map[string]bool{"/": true}
	for _, f := range files {
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path {
			return fmt.Errorf("%q is not a clean absolute path", f.Path)
		}
		if made[f.Path] {
			return fmt.Errorf("%s is there twice, or both a file and a folder", f.Path)
		}
		if err := addFolders(layer, path.Dir(f.Path), made); err != nil {
			return err
		}
		made[f.Path] = true
		if err := addFile(layer, f); err != nil {
			return fmt.Errorf("adding %s: %w", f.Path, err)
		}
	}
	return layer.Close()
}

func addFolders(layer *tar.Writer, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := addFolders(layer, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return layer.WriteHeader(folder(dir, 0o755))
}

func addFile(layer *tar.Writer, f File) error {
	if f.Folder {
		return layer.WriteHeader(folder(f.Path, f.Mode))
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	return add(layer, header(strings.TrimPrefix(f.Path, "/"), f.Mode, f.Size), in)
}

func add(to *tar.Writer, h *tar.Header, from io.Reader) error {
	if err := to.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.CopyN(to, from, h.Size)
	return err
}

func header(name string, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
}

func folder(name string, mode int64) *tar.Header {
	h := header(strings.TrimPrefix(name, "/")+"/", mode, 0)
	h.Typeflag = tar.TypeDir
	return h
}

// counter counts what it passes on.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(data []byte) (int, error) {
	n, err := c.to.Write(data)
	c.n += int64(n)
	return n, err
}
