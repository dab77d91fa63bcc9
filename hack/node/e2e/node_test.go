// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// node is a node as a process, which tests kill and start again.
type node struct {
	stack     *stack
	dir, name string
	uid       uint32

	mu   sync.Mutex
	cmd  *exec.Cmd
	dead bool
}

// images is the table that the tests' pods use.
const images = `images:
- image: shell
  files: {%s}
  command: [sh]
- image: bare
  files: {%s}
- image: program
  files: {%s, /program: %s}
  command: [/program, serve-program]
- image: user
  files: {%s}
  command: [sh]
  user: 4711
  env: [FROM_IMAGE=yes, OVERRIDDEN=no]
  workingDir: /home/here
`

// hostFolders are those of this machine that a shell needs, as YAML entries.
func hostFolders(names ...string) string {
	var out []string
	for _, name := range names {
		if _, err := os.Stat(name); err == nil {
			out = append(out, fmt.Sprintf("%s: %s", name, name))
		}
	}
	return joined(out)
}

func joined(list []string) string {
	var b bytes.Buffer
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// newNode prepares a node that runs as a user.
func (s *stack) newNode(dir, name string, uid uint32) (*node, error) {
	n := &node{stack: s, dir: dir, name: name, uid: uid}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(s.dir, "program")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		if err := copyFile(self, program); err != nil {
			return nil, err
		}
	}
	shell, libraries := hostFolders("/bin", "/usr", "/lib", "/lib64"), hostFolders("/lib", "/lib64", "/usr/lib")
	table := fmt.Sprintf(images, shell, libraries, libraries, program, shell)
	if err := os.WriteFile(n.path("images.yaml"), []byte(table), 0o644); err != nil {
		return nil, err
	}
	if err := n.writeKubeconfig(); err != nil {
		return nil, err
	}
	return n, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(uid), int(uid))
	})
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }
func (n *node) root() string            { return n.path("root") }

// writeKubeconfig gives the node the identity that a kubelet has.
func (n *node) writeKubeconfig() error {
	pki := filepath.Join(n.stack.data(), "management", "pki")
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return err
	}
	authorityKey, err := os.ReadFile(filepath.Join(pki, "ca.key"))
	if err != nil {
		return err
	}
	cert, key, err := sign(authority, authorityKey, pkix.Name{CommonName: "system:node:" + n.name, Organization: []string{"system:nodes"}})
	if err != nil {
		return fmt.Errorf("signing the node's certificate: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["management"] = &clientcmdapi.Cluster{Server: n.stack.admin.Host, CertificateAuthorityData: authority}
	config.AuthInfos["node"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts["node"] = &clientcmdapi.Context{Cluster: "management", AuthInfo: "node"}
	config.CurrentContext = "node"
	return clientcmd.WriteToFile(*config, n.path("kubeconfig"))
}

func sign(authority, authorityKey []byte, subject pkix.Name) (cert, key []byte, err error) {
	block, _ := pem.Decode(authority)
	parent, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	block, _ = pem.Decode(authorityKey)
	signer, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if signer, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
			return nil, nil, err
		}
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: subject, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

// start starts the node's process, which dies with the tests.
func (n *node) start() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	log, err := os.OpenFile(n.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	n.cmd = exec.Command(n.stack.binary, "run", "--name", n.name, "--root", n.root(), "--images", n.path("images.yaml"),
		"--kubeconfig", n.path("kubeconfig"), "--refresh", "200ms", "--restart-backoff", "100ms")
	// A data race in the node or a supervisor ends it, and so fails a test.
	n.cmd.Env = append(os.Environ(), "GORACE=halt_on_error=1")
	n.cmd.Stdout, n.cmd.Stderr, n.cmd.Dir = log, log, n.dir
	n.cmd.SysProcAttr = n.attr()
	n.dead = false
	return n.cmd.Start()
}

func (n *node) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if n.uid != 0 && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: n.uid, Gid: n.uid}
	}
	return attr
}

// kill ends the node with SIGKILL. Its pods run on.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = n.cmd.Process.Kill()
	_ = n.cmd.Wait()
	n.dead = true
}

// revive starts the node if a test that failed has left it dead.
func (n *node) revive() error {
	n.mu.Lock()
	dead := n.dead
	n.mu.Unlock()
	if !dead {
		return nil
	}
	return n.start()
}

// stop ends the node and all its pods.
func (n *node) stop(ctx context.Context) error {
	n.kill()
	cmd := exec.CommandContext(ctx, n.stack.binary, "stop", "--root", n.root(), "--purge")
	cmd.SysProcAttr = n.attr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stopping node %s: %w\n%s", n.name, err, out)
	}
	return nil
}

// waitReady waits until the scheduler may use the node.
func (n *node) waitReady(ctx context.Context) error {
	err := poll(ctx, func() error {
		object, err := n.stack.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, t := range object.Spec.Taints {
			if t.Effect == corev1.TaintEffectNoSchedule {
				return fmt.Errorf("node %s is tainted %s", n.name, t.Key)
			}
		}
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("node %s is not ready", n.name)
	})
	if err != nil {
		log, _ := os.ReadFile(n.path("log"))
		return fmt.Errorf("%w\n%s", err, log)
	}
	return nil
}
