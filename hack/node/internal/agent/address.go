// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"fmt"
	"hash/fnv"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HostIP is the node's address.
const HostIP = "127.0.0.1"

// podIP gives a pod an address of its own in 127.64.0.0/10, which Linux answers
// for as a whole, so that two pods can listen on the same port. It follows
// from the UID, so that nodes which share a machine rarely meet.
func (a *Agent) podIP(pod *corev1.Pod) (string, error) {
	if pod.Spec.HostNetwork {
		return HostIP, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	const bits = 22
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod.UID))
	for i := range uint32(1 << bits) {
		n := (hash.Sum32() + i) % (1 << bits)
		ip := netip.AddrFrom4([4]byte{127, 64 | byte(n>>16), byte(n >> 8), byte(n)}).String()
		if byte(n) == 0 || byte(n) == 255 || !free(a.ips, ip, pod.UID) {
			continue
		}
		a.ips[ip] = pod.UID
		return ip, nil
	}
	return "", fmt.Errorf("no address is left for pod %s/%s", pod.Namespace, pod.Name)
}

func free(taken map[string]types.UID, ip string, uid types.UID) bool {
	owner, ok := taken[ip]
	return !ok || owner == uid
}
