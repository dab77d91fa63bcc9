// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"darkshift.io/infrared/internal/devstack/folder"
)

// cniPlugins is where Debian has the network plugins.
const cniPlugins = "/usr/lib/cni"

// pauseImage holds the namespaces of each pod.
const pauseImage = "infrared-pause:dev"

// Prerequisites says what this machine lacks to run a node, and the way out.
func Prerequisites() error {
	if os.Getuid() != 0 {
		return errors.New("a real node mounts and makes control groups: run it as root, on Linux")
	}
	var missing []string
	for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", filepath.Join(cniPlugins, "ptp")} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("a real node needs %s: install what it runs on, on Debian with: apt-get install containerd runc containernetworking-plugins",
			strings.Join(missing, ", "))
	}
	return nil
}

func (n *node) writeConfigs() error {
	for path, text := range map[string]string{
		"containerd/config.toml":      n.containerdConfig(overlayWorks(n.path("containerd"))),
		"containerd/cni/10-pods.conf": n.network(),
		"kubelet/config.yaml":         n.kubeletConfig(),

		"containerd/registries/_default/hosts.toml": nowhere,
	} {
		if err := folder.WriteFile(n.path(path), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// containerdConfig keeps everything below Root. What containerd would do to a machine that it can't do in a container is left out:
// lowering its own OOM score, loading AppArmor profiles.
func (n *node) containerdConfig(overlay bool) string {
	snapshotter := "native"
	if overlay {
		snapshotter = "overlayfs"
	}
	return strings.NewReplacer("ROOT", n.path("containerd"), "SNAPSHOTTER", snapshotter, "PAUSE", pauseImage, "CNI", cniPlugins).Replace(`version = 2
root = "ROOT/root"
state = "ROOT/state"
oom_score = 0

[grpc]
  address = "ROOT/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
  path = "ROOT/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "PAUSE"
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "SNAPSHOTTER"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "ROOT/runc"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "ROOT/registries"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "CNI"
    conf_dir = "ROOT/cni"
`)
}

// nowhere is where all registries are: an image that was not imported can't be had, and nobody is asked for it.
const nowhere = `server = "http://127.0.0.1:1"
`

// network gives pods that don't share the machine's network an address that only this machine reaches. Without any network the
// kubelet never calls the node ready.
func (n *node) network() string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0", "name": "pods", "type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "subnet": "10.213.0.0/16", "dataDir": %q}
}
`, n.path("containerd/addresses"))
}

// kubeletConfig lets the kubelet run where control groups are of version 1, and touch nothing of the machine but its own. The images
// can't be had again, so it never removes one.
func (n *node) kubeletConfig() string {
	text := fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
readOnlyPort: 0
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: %q}
authorization: {mode: AlwaysAllow} # whoever has a certificate of that authority is an API server or its administrator
containerRuntimeEndpoint: %q
podLogsDir: %q
volumePluginDir: %q
cgroupDriver: cgroupfs
cgroupRoot: %q
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 5s
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, nodefs.inodesFree: 1%%, imagefs.available: 1%%}
`, n.Port, n.ClientCA, "unix://"+n.path("containerd/containerd.sock"), n.path("pods"), n.path("kubelet/plugins"), "/"+Cgroup(n.Root))
	if n.Cert != "" {
		text += fmt.Sprintf("tlsCertFile: %q\ntlsPrivateKeyFile: %q\n", n.Cert, n.Key)
	}
	return text
}

func (n *node) kubeletArgs() []string {
	return []string{
		"--config=" + n.path("kubelet/config.yaml"),
		"--kubeconfig=" + n.Kubeconfig,
		"--hostname-override=" + n.Name,
		"--root-dir=" + n.path("kubelet"),
		"--cert-dir=" + n.path("kubelet/pki"),
	}
}

// overlayWorks tries an overlay mount, which a folder that is on an overlay itself does not take.
func overlayWorks(dir string) bool {
	probe, err := os.MkdirTemp(dir, "overlay-")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(probe) }()
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if os.Mkdir(filepath.Join(probe, sub), 0o700) != nil {
			return false
		}
	}
	merged := filepath.Join(probe, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", probe)
	if syscall.Mount("overlay", merged, "overlay", 0, options) != nil {
		return false
	}
	return syscall.Unmount(merged, 0) == nil
}
