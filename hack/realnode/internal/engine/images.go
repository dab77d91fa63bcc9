// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"darkshift.io/infrared/hack/realnode/internal/archive"
	"darkshift.io/infrared/hack/realnode/internal/files"
	"darkshift.io/infrared/hack/realnode/internal/table"
	"darkshift.io/infrared/internal/devstack/folder"
)

// kubernetes is containerd's namespace of what the kubelet sees.
const kubernetes = "k8s.io"

// importAll imports the pause image and those of the table whose files are others than at the last import.
func (n *node) importAll(ctx context.Context) error {
	images, err := table.Load(n.Images)
	if err != nil {
		return err
	}
	pause := table.Image{Image: pauseImage, Files: map[string]string{"/pause": n.Self}, Command: []string{"/pause", "pause"}, User: 65532}
	for _, image := range append([]table.Image{pause}, images...) {
		if err := n.importOne(ctx, image); err != nil {
			return fmt.Errorf("importing image %q: %w", image.Image, err)
		}
	}
	return nil
}

func (n *node) importOne(ctx context.Context, row table.Image) error {
	lookup, tag, err := row.Reference()
	if err != nil {
		return err
	}
	content, err := files.Gather(row.Files)
	if err != nil {
		return err
	}
	mark, err := fingerprint(row, content)
	if err != nil {
		return err
	}
	// Kept in a file, because importing a hundred megabytes again at each start is what would make it slow.
	record := n.path(fmt.Sprintf("images/%x", sha256.Sum256([]byte(row.Image))))
	if n.imported[row.Image] == "" {
		if was, err := os.ReadFile(record); err == nil {
			n.imported[row.Image] = string(was)
		}
	}
	if n.imported[row.Image] == mark {
		return nil
	}
	image := archive.Image{Name: tag, Arch: runtime.GOARCH, Files: content, Entrypoint: row.Command, Cmd: row.Args, Env: row.Env, WorkingDir: row.WorkingDir}
	if row.User != 0 {
		image.User = fmt.Sprint(row.User)
	}
	if err := n.load(ctx, image); err != nil {
		return err
	}
	if lookup != tag {
		if err := n.tag(ctx, tag, lookup); err != nil {
			return err
		}
	}
	n.imported[row.Image] = mark
	fmt.Fprintf(n.Out, "imported image %s\n", row.Image)
	return folder.WriteFile(record, []byte(mark))
}

// load streams the archive into ctr.
func (n *node) load(ctx context.Context, image archive.Image) error {
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := archive.Write(out, image)
		_ = out.CloseWithError(err)
		written <- err
	}()
	_, err := n.ctr(ctx, in, "images", "import", "-")
	_ = in.CloseWithError(io.ErrClosedPipe)
	if writeErr := <-written; err == nil {
		return writeErr
	}
	return err
}

// fingerprint tells one content of an image from another by the files' sizes and times, since hashing them takes a second.
func fingerprint(row table.Image, content []archive.File) (string, error) {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(row); err != nil {
		return "", err
	}
	for _, f := range content {
		fmt.Fprintf(hash, "%s %o %d\n", f.Path, f.Mode, f.Size)
		if f.Folder {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return "", err
		}
		if file, ok := in.(*os.File); ok {
			if info, err := file.Stat(); err == nil {
				fmt.Fprintln(hash, info.ModTime().UnixNano())
			}
		}
		_ = in.Close()
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// tag gives an imported image the name that it is looked up by. containerd writes a default registry before a name that has none, so
// the name is taken from its own list.
func (n *node) tag(ctx context.Context, imported, lookup string) error {
	all, err := n.ctr(ctx, nil, "images", "list", "-q")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(all) {
		if registry, ok := strings.CutSuffix(name, imported); ok && (registry == "" || strings.HasSuffix(registry, "/")) {
			_, err := n.ctr(ctx, nil, "images", "tag", "--force", name, registry+lookup)
			return err
		}
	}
	return fmt.Errorf("containerd has no image of the name %s after importing it", imported)
}

// ctr runs containerd's own client and returns what it printed.
func (n *node) ctr(ctx context.Context, in io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", filepath.Join(n.Root, "containerd/containerd.sock"), "--namespace", kubernetes}, args...)...)
	cmd.Stdin = in
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}
