// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"

	"darkshift.io/infrared/sdk/provider"
)

// lockFile is where OpenTofu keeps which builds of which providers may be used.
const lockFile = ".terraform.lock.hcl"

// sourceOf is where the request's module is.
func (o Options) sourceOf(req provider.BuildRequest) (Source, error) {
	text := req.Source
	if text == "" && o.Source == "" {
		if o.Module == nil {
			return Source{}, provider.Invalidf(fieldSource, "is empty, and the plugin has no module of its own")
		}
		return Source{}, nil
	}
	if text == "" {
		if err := CheckVersion(req.Version); err != nil {
			return Source{}, err
		}
		text = strings.ReplaceAll(o.Source, "{version}", strings.ReplaceAll(req.Version, "+", "%2B"))
	}
	source, err := ParseSource(text)
	if err != nil {
		return Source{}, err
	}
	if source.Kind == SourceGit && source.Ref == "" {
		if err := CheckVersion(req.Version); err != nil {
			return Source{}, err
		}
		source = source.At(req.Version)
	}
	// The provider's own source needs nobody's leave.
	if req.Source != "" && !allow(o.Allow, source) {
		return Source{}, provider.Invalidf(fieldSource, "%s/%s is not among the sources that this cluster may use", source.Host, source.Path)
	}
	return source, nil
}

// prepare fetches the module and makes OpenTofu's folder of it.
func (r *run) prepare(ctx context.Context) error {
	root, err := r.fetchModule(ctx)
	if err != nil {
		return err
	}
	own, err := treeHash(root)
	if err != nil {
		return fmt.Errorf("reading the module: %w", err)
	}
	if err := r.pinProviders(); err != nil {
		return err
	}
	if err := r.writeBackend(r.dir); err != nil {
		return err
	}
	if err := r.init(ctx); err != nil {
		return err
	}
	if err := r.checkCalled(); err != nil {
		return err
	}
	called, err := treeHash(filepath.Join(r.folder.data, "modules"))
	if err != nil {
		return fmt.Errorf("reading the modules that the module calls: %w", err)
	}
	r.module = own + called
	return nil
}

// fetchModule puts the module in place, and returns the root of what was fetched with it.
func (r *run) fetchModule(ctx context.Context) (root string, err error) {
	if r.source.Kind == "" {
		r.dir = filepath.Join(r.folder.fetch, "module")
		if err := os.CopyFS(r.dir, r.o.Module); err != nil {
			return "", fmt.Errorf("writing the plugin's own module: %w", err)
		}
		return r.dir, r.checkProgram(ctx, r.dir)
	}
	if err := r.checkProgram(ctx, r.folder.fetch); err != nil {
		return "", err
	}
	// OpenTofu's own fetching, by a module that only calls ours. It is then run where it lies, so that what it refers to
	// beside its own folder is there.
	caller, err := json.Marshal(map[string]any{"module": map[string]any{"template": map[string]any{"source": r.source.String()}}})
	if err != nil {
		return "", fmt.Errorf("naming the module: %w", err)
	}
	if err := r.folder.write(filepath.Join(r.folder.fetch, "main.tf.json"), caller); err != nil {
		return "", err
	}
	data := filepath.Join(r.folder.fetch, ".terraform")
	err = r.command(ctx, call{
		step: "fetching the module", dir: r.folder.fetch, data: data, show: true,
		env: fetching(r.env, r.req.Credentials.Values[gitToken], r.source),
		do:  func(ctx context.Context, tf *tfexec.Terraform) error { return tf.Get(ctx) },
	})
	if err != nil {
		return "", err
	}
	modules, err := readModules(data)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(modules, func(m moduleRecord) bool { return m.Key == "template" })
	if at < 0 {
		return "", provider.Errorf(provider.Other, "fetching the module: OpenTofu does not say where it put it")
	}
	if r.dir = modules[at].Dir; !filepath.IsAbs(r.dir) {
		r.dir = filepath.Join(r.folder.fetch, r.dir)
	}
	return filepath.Join(data, "modules", "template"), nil
}

// pinProviders says whether the providers are pinned: by the module's lock file, or else by that of the saved plan.
func (r *run) pinProviders() error {
	path := filepath.Join(r.dir, lockFile)
	if _, err := os.Lstat(path); err == nil {
		r.pinned = true
	}
	plan, lock, err := unpack(r.req.Plan)
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		return nil
	}
	if err := r.folder.write(r.folder.plan, plan); err != nil {
		return err
	}
	if len(lock) == 0 || r.pinned {
		return nil
	}
	r.pinned = true
	return r.folder.write(path, lock)
}

// init fetches providers and called modules and opens the state. A lock file is never changed: providers other than those
// that the module was tried with are an error.
func (r *run) init(ctx context.Context) error {
	flags := ""
	if r.pinned {
		flags = "-lockfile=readonly"
	}
	return r.command(ctx, call{
		step: "tofu init", dir: r.dir, data: r.folder.data, show: true, init: flags,
		env: fetching(r.env, r.req.Credentials.Values[gitToken], r.source),
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			return tf.Init(ctx, tfexec.Reconfigure(true), tfexec.Upgrade(false))
		},
	})
}

// dataOf is the TF_DATA_DIR that belongs to a folder.
func (r *run) dataOf(dir string) string {
	if dir == r.dir {
		return r.folder.data
	}
	return filepath.Join(dir, ".terraform")
}

// moduleRecord is a line of OpenTofu's list of the modules that it has fetched.
type moduleRecord struct {
	Key, Source, Dir string
}

func readModules(data string) ([]moduleRecord, error) {
	text, err := os.ReadFile(filepath.Join(data, "modules", "modules.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list struct{ Modules []moduleRecord }
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading OpenTofu's list of modules: %w", err)
	}
	return list.Modules, nil
}

// checkCalled holds the modules that the module calls against the list of what may be used. They are fetched by then, and
// nothing of them has run.
func (r *run) checkCalled() error {
	if r.o.Allow == nil || r.req.Source == "" {
		return nil
	}
	modules, err := readModules(r.folder.data)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if m.Source == "" || strings.HasPrefix(m.Source, ".") {
			continue
		}
		if source, err := ParseSource(m.Source); err != nil || !allow(r.o.Allow, source) {
			return provider.Invalidf(fieldSource, "it calls module.%s, whose source is not among those that this cluster may use", m.Key)
		}
	}
	return nil
}

// treeHash names the content of all files below a folder: path, whether it can be executed, content. What git and we keep
// there does not count.
func treeHash(root string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".terraform"):
			return filepath.SkipDir
		case entry.IsDir(), entry.Name() == backendFile, entry.Name() == "modules.json":
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return hashFile(sum, path, relative, entry)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

func hashFile(sum io.Writer, path, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		fmt.Fprintf(sum, "link %q %q\n", name, target)
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	content := sha256.New()
	if _, err := io.Copy(content, file); err != nil {
		return err
	}
	fmt.Fprintf(sum, "file %q %t %x\n", name, info.Mode()&0o100 != 0, content.Sum(nil))
	return nil
}
