// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"darkshift.io/infrared/sdk/plugin"
)

// dialer starts plugins by the SDK.
func (o Options) dialer() dialer {
	sums := &plugin.Sums{}
	return func(ctx context.Context, name string, spec Spec) (process, error) {
		if attachment, ok := o.Attach[name]; ok {
			p, err := plugin.Attach(ctx, attachment)
			if err != nil {
				return nil, err
			}
			return p, nil
		}
		path, err := resolve(o.Folder, spec)
		if err != nil {
			return nil, err
		}
		p, err := plugin.Dial(ctx, plugin.Launch{
			Path: path, SHA256: strings.ToLower(spec.SHA256), Sums: sums,
			Env: o.Env, SocketFolder: o.SocketFolder,
			Output: o.output(name),
		})
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// output is where a plugin's lines go.
func (o Options) output(name string) io.Writer {
	if o.Output != nil {
		return o.Output
	}
	return newOutput(o.Log.WithValues("plugin", name), o.Clock)
}

// resolve finds a plugin's binary. Its path is free of symbolic links, and within the folder.
func resolve(folder string, spec Spec) (string, error) {
	if spec.Binary != filepath.Base(spec.Binary) || spec.Binary == "." || spec.Binary == ".." || spec.Binary == "/" {
		return "", refused(plugin.ReasonBinaryMissing, nil, "binary %q is no file's name: give a name without a slash, of a file in the plugin folder", spec.Binary)
	}
	if !regexp.MustCompile(`^[0-9a-fA-F]{64}$`).MatchString(spec.SHA256) {
		return "", refused(plugin.ReasonChecksumMismatch, nil, "the SHA-256 of binary %q must be 64 hexadecimal digits; sha256sum prints them", spec.Binary)
	}
	root, err := filepath.Abs(folder)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", refused(plugin.ReasonBinaryMissing, err, "the plugin folder %q can't be read: %s", folder, cause(err))
	}
	path, err := filepath.EvalSymlinks(filepath.Join(root, spec.Binary))
	if err != nil {
		return "", refused(plugin.ReasonBinaryMissing, err, "binary %q in the plugin folder can't be read: %s", spec.Binary, cause(err))
	}
	if !strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
		return "", refused(plugin.ReasonBinaryMissing, nil, "binary %q leads out of the plugin folder, and nothing outside of it is run: put the file itself there", spec.Binary)
	}
	return path, nil
}

// cause is an error of the file system without its path.
func cause(err error) string {
	switch {
	case os.IsNotExist(err):
		return "it does not exist"
	case os.IsPermission(err):
		return "access is denied"
	}
	return "it or a link to it is broken"
}

func refused(reason plugin.StartReason, err error, format string, args ...any) error {
	return &plugin.StartError{Reason: reason, Message: fmt.Sprintf(format, args...), Err: err}
}
