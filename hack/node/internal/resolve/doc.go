// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve turns a pod into programs to run: it finds the images, fills
// in the environment, and decides users and rights.
//
// It follows the kubelet, with these differences. The whole pod is resolved once, before its
// first container starts, so an environment can't come from a Secret that an init
// container makes. There are no variables for other Services, as no Service has
// an address here. POD_IP is set in every container. What this node can't do is
// refused by Check, in words, before anything starts.
package resolve
