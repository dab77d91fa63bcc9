// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"darkshift.io/infrared/internal/devstack"
	"darkshift.io/infrared/internal/devstack/folder"
	"darkshift.io/infrared/internal/devstack/proc"
)

// cloudName is the component's, its folder's, and cloud.env's, so no cluster may
// be called that.
const cloudName = "cloud"

// Keys of cloud.env and of a credentials Secret for the fake cloud.
const (
	cloudEndpoint = "FAKE_ENDPOINT"
	cloudToken    = "FAKE_TOKEN"
)

// cloudService is the cloud of the provider fake, which the same program is. The
// clusters that it gives out are the further control planes.
func cloudService() service {
	return service{
		name:    cloudName,
		stage:   onceAllAreUp,
		wanted:  func(w Wanted) bool { return w.Operator },
		program: func(s *Stack, _ Wanted) string { return filepath.Join(s.pluginFolder(), "fake") },
		prepare: prepareCloud,
		reads: func(s *Stack, w Wanted) string {
			text := ""
			for _, name := range w.Clusters {
				text += name + " " + fileIdentity(s.kubeconfig(name)) + " "
			}
			return text
		},
	}
}

func prepareCloud(_ context.Context, s *Stack, _ *devstack.ControlPlane, w Wanted) (launch, error) {
	access, err := s.cloudAccess(w.NewPorts)
	if err != nil {
		return launch{}, err
	}
	data := filepath.Join(s.path(cloudName), "data")
	if err := folder.Make(data); err != nil {
		return launch{}, err
	}
	args := []string{cloudName, "--listen", access.address, "--data", data}
	for _, name := range w.Clusters {
		if path := s.kubeconfig(name); fileIdentity(path) != "" {
			args = append(args, "--kubeconfig", name+"="+path)
		}
	}
	return launch{
		args: args, address: "http://" + access.address,
		// In the environment, which other users can't read, as they can arguments.
		env: []string{cloudToken + "=" + access.token},
		ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", access.address)
			if err != nil {
				return err
			}
			return conn.Close()
		},
	}, nil
}

// cloudAccess is where the cloud is and what opens it.
type cloudAccess struct {
	address string // 127.0.0.1:<port>
	token   string
}

// cloudAccess reads cloud.env, which is what people make a credentials Secret of,
// or makes it. Address and token stay, because Secrets hold them; a port that
// somebody else has taken is given up only when newPort asks for it.
func (s *Stack) cloudAccess(newPort bool) (cloudAccess, error) {
	path := s.path(cloudName + ".env")
	access, err := readCloudAccess(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return access, err
	}
	if err == nil {
		port := access.port()
		if devstack.PortFreeSoon(port) {
			return access, nil
		}
		if !newPort {
			return access, fmt.Errorf("port %s of the cloud is taken by %s: stop that, or give the cloud another port with --new-ports",
				access.address, firstOf(proc.PortHolder(port), "another program"))
		}
	}
	if access.token == "" {
		access.token = rand.Text()
	}
	if access.address, err = freeAddress(); err != nil {
		return access, err
	}
	text := fmt.Sprintf("%s=http://%s\n%s=%s\n", cloudEndpoint, access.address, cloudToken, access.token)
	return access, folder.WriteFile(path, []byte(text))
}

func readCloudAccess(path string) (cloudAccess, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return cloudAccess{}, fmt.Errorf("reading the access to the cloud: %w", err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = value
		}
	}
	endpoint, err := url.Parse(values[cloudEndpoint])
	// The error of Parse may quote the line.
	if err != nil || endpoint.Hostname() != "127.0.0.1" || values[cloudToken] == "" || (cloudAccess{address: endpoint.Host}).port() == 0 {
		return cloudAccess{}, fmt.Errorf("the file %s should hold %s and %s: remove it", path, cloudEndpoint, cloudToken)
	}
	return cloudAccess{address: endpoint.Host, token: values[cloudToken]}, nil
}

// port is 0 when there is none.
func (a cloudAccess) port() int {
	_, text, _ := net.SplitHostPort(a.address)
	port, _ := strconv.ParseUint(text, 10, 16)
	return int(port)
}
