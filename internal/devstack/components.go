// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package devstack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"darkshift.io/infrared/internal/devstack/pki"
	"darkshift.io/infrared/internal/devstack/proc"
)

const (
	// etcdSocket is relative to the control plane's folder, which is the working folder of
	// its components: the path of a unix socket may hold 107 bytes only, and
	// data folders lie deep.
	etcdSocket = "etcd.sock"

	issuer       = "https://kubernetes.default.svc.cluster.local"
	serviceRange = "10.96.0.0/24"
)

// spec says how to start one component.
func (cp *ControlPlane) spec(component string) proc.Spec {
	args := map[string]func() []string{
		Etcd:              cp.etcdArgs,
		APIServer:         cp.apiServerArgs,
		ControllerManager: cp.controllerManagerArgs,
		Scheduler:         cp.schedulerArgs,
	}
	return proc.Spec{
		Name: component,
		Path: cp.opts.Binary,
		Args: append([]string{component}, args[component]()...),
		Dir:  cp.opts.Dir,
		Env:  slices.Concat(garbageEnv(), cp.opts.Env),
		Log:  cp.LogFile(component),
	}
}

// garbageEnv makes the components collect garbage half as often, unless the
// caller's environment says how often. Starting an API server takes a seventh
// less processor time that way, for 70 MB.
func garbageEnv() []string {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	return []string{"GOGC=200"}
}

// LogFile is where a component's output goes. What an earlier start of it
// printed is in the same name with ".1" added.
func (cp *ControlPlane) LogFile(component string) string {
	return filepath.Join(cp.opts.Dir, "logs", component+".log")
}

func (cp *ControlPlane) etcdArgs() []string {
	return []string{
		"--data-dir=" + filepath.Join(cp.opts.Dir, "etcd"),
		"--socket=" + etcdSocket,
		fmt.Sprintf("--unsafe-no-fsync=%t", cp.opts.UnsafeNoFsync),
	}
}

func (cp *ControlPlane) apiServerArgs() []string {
	f := cp.files
	args := []string{
		"--etcd-servers=unix:" + etcdSocket,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.port),
		// Endpoints may not hold a loopback address, so nothing can reconcile
		// those of the kubernetes Service.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--anonymous-auth=false",
		"--allow-privileged=true",
		"--profiling=false",
		"--cert-dir=" + f.Dir,
		"--client-ca-file=" + f.Cert(pki.CA),
		"--tls-cert-file=" + f.Cert(pki.Serving),
		"--tls-private-key-file=" + f.Key(pki.Serving),
		"--kubelet-client-certificate=" + f.Cert(pki.KubeletClient),
		"--kubelet-client-key=" + f.Key(pki.KubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + f.Cert(pki.FrontProxyCA),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + f.Cert(pki.FrontProxy),
		"--proxy-client-key-file=" + f.Key(pki.FrontProxy),
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + f.PublicKey(pki.ServiceAccounts),
		"--service-account-signing-key-file=" + f.Key(pki.ServiceAccounts),
	}
	if cp.opts.AuditLog != "" {
		args = append(args,
			"--audit-log-path="+cp.opts.AuditLog,
			"--audit-policy-file="+cp.auditPolicyFile(),
		)
	}
	return override(args, cp.opts.APIServerArgs)
}

// override puts more after args and leaves out those that more gives too: a
// flag that takes a list would else hold both.
func override(args, more []string) []string {
	name := func(arg string) string { before, _, _ := strings.Cut(arg, "="); return before }
	args = slices.DeleteFunc(args, func(arg string) bool {
		return slices.ContainsFunc(more, func(other string) bool { return name(other) == name(arg) })
	})
	return append(args, more...)
}

func (cp *ControlPlane) controllerManagerArgs() []string {
	f := cp.files
	return append(cp.clientArgs(pki.ControllerManager),
		"--use-service-account-credentials",
		"--root-ca-file="+f.Cert(pki.CA),
		"--cluster-signing-cert-file="+f.Cert(pki.CA),
		"--cluster-signing-key-file="+f.Key(pki.CA),
		"--service-account-private-key-file="+f.Key(pki.ServiceAccounts),
		"--controllers=*",
		// The defaults of 20 and 30 a second make the start a matter of patience:
		// dozens of controllers each ask for a token of their own.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (cp *ControlPlane) schedulerArgs() []string {
	return cp.clientArgs(pki.Scheduler)
}

// clientArgs are the flags of a component that only talks to the API server,
// is alone, and serves nothing.
func (cp *ControlPlane) clientArgs(user string) []string {
	path := cp.userKubeconfig(user)
	return []string{
		"--kubeconfig=" + path,
		"--authentication-kubeconfig=" + path,
		"--authorization-kubeconfig=" + path,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}
}

func (cp *ControlPlane) auditPolicyFile() string {
	return filepath.Join(cp.opts.Dir, "audit-policy.yaml")
}

// auditPolicy records every request once, when it is answered, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (cp *ControlPlane) userKubeconfig(user string) string {
	return filepath.Join(cp.files.Dir, user+".kubeconfig")
}
