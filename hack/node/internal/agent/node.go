// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	leaseSeconds = 40
	statusEvery  = 10 * time.Second
)

// Register keeps the Node object and its lease alive until ctx ends. port is
// where the node's own API listens. A node that somebody deletes is made again.
func (a *Agent) Register(ctx context.Context, port int) error {
	object, err := a.nodeObject(port)
	if err != nil {
		return err
	}
	nodes := a.Client.CoreV1().Nodes()
	again := func(ctx context.Context, err error) error {
		if !apierrors.IsNotFound(err) {
			return err
		}
		fresh := object.DeepCopy()
		_, err = nodes.Create(ctx, fresh, metav1.CreateOptions{})
		return err
	}
	controller, err := vknode.NewNodeController(vknode.NaiveNodeProvider{}, object.DeepCopy(), nodes,
		vknode.WithNodeEnableLeaseV1(a.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease), leaseSeconds),
		vknode.WithNodeStatusUpdateInterval(statusEvery), vknode.WithNodeStatusUpdateErrorHandler(again))
	if err != nil {
		return fmt.Errorf("registering the node: %w", err)
	}
	return controller.Run(ctx)
}

// nodeObject is the node as it is registered.
func (a *Agent) nodeObject(port int) (*corev1.Node, error) {
	capacity, err := a.capacity()
	if err != nil {
		return nil, err
	}
	now := metav1.NewTime(a.Now())
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	return &corev1.Node{
		// Not virtual-kubelet's label kubernetes.io/role, which a node may not give itself.
		ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: map[string]string{
			corev1.LabelHostname: a.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: HostIP}, {Type: corev1.NodeHostName, Address: a.Name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "pods run as processes of this machine"),
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "NotWatched", "this node doesn't watch memory"),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "NotWatched", "this node doesn't watch the disk"),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "NotWatched", "this node doesn't watch processes"),
			},
			NodeInfo: nodeInfo(),
		},
	}, nil
}

func (a *Agent) capacity() (corev1.ResourceList, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return nil, fmt.Errorf("reading the machine's memory: %w", err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(a.Root, &disk); err != nil {
		return nil, fmt.Errorf("reading the size of the disk: %w", err)
	}
	const pods = 110 // a kubelet's default
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(info.Totalram)*int64(info.Unit), resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(int64(disk.Blocks)*disk.Bsize, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(pods, resource.DecimalSI),
	}, nil
}

// nodeInfo says what kubectl get nodes -o wide shows. What isn't known stays
// empty.
func nodeInfo() corev1.NodeSystemInfo {
	info := corev1.NodeSystemInfo{OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, ContainerRuntimeVersion: "process://1", KubeletVersion: kubernetesVersion()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		info.KernelVersion = unix.ByteSliceToString(u.Release[:])
	}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		info.BootID = strings.TrimSpace(string(id))
	}
	return info
}

// kubernetesVersion is that of the libraries: client-go v0.37.2 belongs to
// Kubernetes v1.37.2.
func kubernetesVersion() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range build.Deps {
		if rest, ok := strings.CutPrefix(dep.Version, "v0."); ok && dep.Path == "k8s.io/client-go" {
			return "v1." + rest
		}
	}
	return ""
}
