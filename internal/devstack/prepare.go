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
	"time"

	"darkshift.io/infrared/internal/devstack/folder"
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
	if err := folder.CheckOurs(dir, versionFile, "logs", "lock"); err != nil {
		return nil, err
	}
	if err := folder.Make(filepath.Join(dir, "logs")); err != nil {
		return nil, err
	}
	lock, err := folder.TryLock(filepath.Join(dir, "lock"))
	if errors.Is(err, folder.ErrLocked) {
		return nil, fmt.Errorf("a control plane already runs from %s: stop it first", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := checkVersion(dir, versions); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
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
	return folder.WriteFile(path, append(data, '\n'))
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
		if err := folder.WriteFile(cp.auditPolicyFile(), []byte(auditPolicy)); err != nil {
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
	return folder.WriteFile(path, k.render())
}
