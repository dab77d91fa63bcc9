// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"darkshift.io/infrared/sdk/plugin"
)

func TestResolve(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "plugins")
	outside := filepath.Join(root, "plugins-evil")
	for _, dir := range []string{folder, outside, filepath.Join(folder, "v2")} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(folder, "eks"), filepath.Join(folder, "v2", "eks"), filepath.Join(outside, "eks")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"inside": "v2/eks", "out": filepath.Join(outside, "eks"), "relative": "../plugins-evil/eks", "shell": "/bin/sh",
		"loop": "loop", "dangling": "nowhere", "folder": folder,
	} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	// The folder itself may be reached by a link: a volume of Kubernetes is.
	alias := filepath.Join(root, "alias")
	if err := os.Symlink(folder, alias); err != nil {
		t.Fatal(err)
	}
	sum := strings.Repeat("a", 64)
	const noName = "is no file's name: give a name without a slash, of a file in the plugin folder"
	const leadsOut = "leads out of the plugin folder, and nothing outside of it is run: put the file itself there"
	for name, c := range map[string]struct {
		reason string
		folder string
		spec   Spec
		want   string // the path below folder
		why    plugin.StartReason
		text   string
	}{
		"a file":                {reason: "this is the usual case", folder: folder, spec: Spec{"eks", sum}, want: "eks"},
		"a link within":         {reason: "a link may choose a version", folder: folder, spec: Spec{"inside", sum}, want: "v2/eks"},
		"a folder by a link":    {reason: "volumes are mounted by links", folder: alias, spec: Spec{"eks", sum}, want: "eks"},
		"capital digits":        {reason: "hex is hex", folder: folder, spec: Spec{"eks", strings.ToUpper(sum)}, want: "eks"},
		"a link out":            {reason: "nothing outside is run", folder: folder, spec: Spec{"out", sum}, why: "BinaryMissing", text: `binary "out" ` + leadsOut},
		"a relative link out":   {reason: "a sibling whose name begins the same is outside too", folder: folder, spec: Spec{"relative", sum}, why: "BinaryMissing", text: `binary "relative" ` + leadsOut},
		"a link to a shell":     {reason: "a shell is no plugin", folder: folder, spec: Spec{"shell", sum}, why: "BinaryMissing", text: `binary "shell" ` + leadsOut},
		"a link to the folder":  {reason: "the folder is not in itself", folder: folder, spec: Spec{"folder", sum}, why: "BinaryMissing", text: `binary "folder" ` + leadsOut},
		"a slash":               {reason: "only names are allowed", folder: folder, spec: Spec{"v2/eks", sum}, why: "BinaryMissing", text: `binary "v2/eks" ` + noName},
		"a climb":               {reason: "only names are allowed", folder: folder, spec: Spec{"../plugins-evil/eks", sum}, why: "BinaryMissing", text: `binary "../plugins-evil/eks" ` + noName},
		"an absolute path":      {reason: "only names are allowed", folder: folder, spec: Spec{"/bin/sh", sum}, why: "BinaryMissing", text: `binary "/bin/sh" ` + noName},
		"two dots":              {reason: "it is a folder", folder: folder, spec: Spec{"..", sum}, why: "BinaryMissing", text: `binary ".." ` + noName},
		"nothing":               {reason: "no name is no file", folder: folder, spec: Spec{"", sum}, why: "BinaryMissing", text: `binary "" ` + noName},
		"a missing file":        {reason: "it is named", folder: folder, spec: Spec{"gke", sum}, why: "BinaryMissing", text: `binary "gke" in the plugin folder can't be read: it does not exist`},
		"a dangling link":       {reason: "what it leads to is not there", folder: folder, spec: Spec{"dangling", sum}, why: "BinaryMissing", text: `binary "dangling" in the plugin folder can't be read: it does not exist`},
		"a link to itself":      {reason: "it leads nowhere", folder: folder, spec: Spec{"loop", sum}, why: "BinaryMissing", text: `binary "loop" in the plugin folder can't be read: it or a link to it is broken`},
		"no checksum":           {reason: "an unpinned binary is never run", folder: folder, spec: Spec{"eks", ""}, why: "ChecksumMismatch", text: `the SHA-256 of binary "eks" must be 64 hexadecimal digits; sha256sum prints them`},
		"half a checksum":       {reason: "it pins nothing", folder: folder, spec: Spec{"eks", sum[:32]}, why: "ChecksumMismatch", text: `the SHA-256 of binary "eks" must be 64 hexadecimal digits; sha256sum prints them`},
		"a folder that is gone": {reason: "the folder is named", folder: "/nonexistent", spec: Spec{"eks", sum}, why: "BinaryMissing", text: `the plugin folder "/nonexistent" can't be read: it does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := resolve(c.folder, c.spec)
			if c.why == "" {
				real, linkErr := filepath.EvalSymlinks(folder)
				if err != nil || linkErr != nil || path != filepath.Join(real, c.want) {
					t.Errorf("got %q, %v, want %s of the folder: %s", path, err, c.want, c.reason)
				}
				return
			}
			var typed *plugin.StartError
			if !errors.As(err, &typed) || typed.Reason != c.why || typed.Message != c.text {
				t.Errorf("got %v, want %s: %s\n%s", err, c.why, c.text, c.reason)
			}
		})
	}
}
