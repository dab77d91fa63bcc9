// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies this program and a plugin of that name from the folder plugins into the folder programs, where it makes the
// plugin's folder. A copy that is there already is replaced whole.
func Install(plugins, plugin, programs string) error {
	if plugin == "" || plugin != filepath.Base(plugin) || plugin == "." || plugin == ".." {
		return fmt.Errorf("plugin %q is no file's name: give the name of a file in %s", plugin, plugins)
	}
	if err := os.MkdirAll(PluginFolder(programs), 0o755); err != nil {
		return fmt.Errorf("making the folder for the plugin: %w", err)
	}
	if _, err := os.Stat(filepath.Join(plugins, plugin)); err != nil {
		return fmt.Errorf("the build image has no plugin %q in %s: take an image that is of the operator's own version and has it: %w", plugin, plugins, err)
	}
	if err := copyProgram(filepath.Join(plugins, plugin), filepath.Join(PluginFolder(programs), plugin)); err != nil {
		return fmt.Errorf("copying plugin %q: %w", plugin, err)
	}
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program's own file: %w", err)
	}
	if err := copyProgram(own, filepath.Join(programs, Program)); err != nil {
		return fmt.Errorf("copying this program: %w", err)
	}
	return nil
}

// copyProgram makes an executable copy, whole or not at all.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".part-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(0o755)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}
