// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"darkshift.io/infrared/internal/devstack/pki"
)

// versionFile marks a folder as a control plane's and says of which version.
const versionFile = "versions.json"

// claimFolder makes the data folder or takes the one there is, locked for us.
// It refuses a folder that holds something else, data of another version,
// and one that another process runs a control plane from.
func claimFolder(dir string, binary string) (*os.File, error) {
	versions, err := BinaryVersions(binary)
	if err != nil {
		return nil, err
	}
	if err := checkOurs(dir, versionFile); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	lock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if err := checkVersion(dir, versions); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// checkOurs refuses a folder with files in it but without our mark.
func checkOurs(dir, mark string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into the data folder: %w", err)
	}
	// These two are made before the mark; a kill between leaves them alone there.
	early := map[string]bool{"logs": true, "lock": true}
	for _, e := range entries {
		if e.Name() == mark {
			return nil
		}
	}
	for _, e := range entries {
		if !early[e.Name()] {
			return fmt.Errorf("the folder %s holds files that are not ours, such as %q: choose another folder, or empty this one", dir, e.Name())
		}
	}
	return nil
}

// lockFile takes an exclusive lock that the kernel drops when this process
// ends, however it ends, so there is no such thing as a stale one.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("a control plane already runs from %s: stop it first", filepath.Dir(path))
	}
	return f, nil
}

// checkVersion compares the data's versions with the binary's and writes them
// down. Patch releases share their data; others are not migrated here.
func checkVersion(dir string, now Versions) error {
	path := filepath.Join(dir, versionFile)
	data, err := os.ReadFile(path)
	if err == nil {
		var was Versions
		if json.Unmarshal(data, &was) != nil {
			return fmt.Errorf("the file %s is damaged: remove the folder %s (with ir: ir dev down --purge)", path, dir)
		}
		if minor(was.Kubernetes) != minor(now.Kubernetes) || minor(was.Etcd) != minor(now.Etcd) {
			return fmt.Errorf("the data in %s is of Kubernetes %s and etcd %s, the binary is of %s and %s: remove the folder (with ir: ir dev down --purge)",
				dir, was.Kubernetes, was.Etcd, now.Kubernetes, now.Etcd)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading the version of the data: %w", err)
	}
	data, err = json.Marshal(now)
	if err != nil {
		return fmt.Errorf("encoding the version of the data: %w", err)
	}
	return writeFile(path, append(data, '\n'))
}

// minor cuts v1.37.2 to v1.37.
func minor(version string) string {
	if i := strings.LastIndexByte(version, '.'); i > 0 {
		return version[:i]
	}
	return version
}

// writeConfig makes the certificates and everything that names the port.
func (cp *ControlPlane) writeConfig(now time.Time) error {
	files, err := pki.Ensure(filepath.Join(cp.opts.Dir, "pki"), now)
	if err != nil {
		return err
	}
	cp.files = files
	cp.CAFile = files.Cert(pki.CA)
	cp.URL = fmt.Sprintf("https://127.0.0.1:%d", cp.port)
	if cp.ca, err = os.ReadFile(cp.CAFile); err != nil {
		return fmt.Errorf("reading the certificate authority: %w", err)
	}
	for user, path := range map[string]string{
		pki.Admin:             cp.Kubeconfig(),
		pki.ControllerManager: cp.userKubeconfig(pki.ControllerManager),
		pki.Scheduler:         cp.userKubeconfig(pki.Scheduler),
	} {
		if err := cp.writeUserKubeconfig(user, path); err != nil {
			return err
		}
	}
	if cp.opts.AuditLog != "" {
		if err := writeFile(cp.auditPolicyFile(), []byte(auditPolicy)); err != nil {
			return err
		}
	}
	cp.api, err = newAPIClient(cp.URL, files, cp.ca)
	return err
}

func (cp *ControlPlane) writeUserKubeconfig(user, path string) error {
	cert, err := os.ReadFile(cp.files.Cert(user))
	if err != nil {
		return fmt.Errorf("reading the certificate of %s: %w", user, err)
	}
	key, err := os.ReadFile(cp.files.Key(user))
	if err != nil {
		return fmt.Errorf("reading the key of %s: %w", user, err)
	}
	k := kubeconfig{cluster: cp.opts.Name, server: cp.URL, ca: cp.ca, user: user, cert: cert, key: key}
	return writeFile(path, k.render())
}
