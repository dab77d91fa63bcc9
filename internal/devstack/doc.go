// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package devstack runs Kubernetes control planes on this machine: the real
// etcd, kube-apiserver, kube-controller-manager and kube-scheduler, each a process of its
// own, out of the one file that `make stack` builds. There are no nodes.
//
// A test that needs a cluster starts one with StartControlPlane and stops it at
// its end; `ir dev` (package stack) keeps several running. Everything a
// control plane owns is under one data folder: certificates, etcd's
// data, logs, and the address it had, which it gets again. It listens on loopback
// only, and dies with the process that started it, even by kill -9.
//
// The package needs nothing but the standard library, so that `ir` compiles
// in seconds: the few API calls it makes are plain HTTP.
package devstack
