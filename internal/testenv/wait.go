// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"darkshift.io/infrared/core/operator"
)

// quiet lets through what a test's reader must see.
const quiet = zapcore.ErrorLevel

// Quiet makes controllers in this process log errors only, to standard error. Main does it; a package with a TestMain of its own
// calls it once.
func Quiet() { log.SetLogger(zap.New(zap.WriteTo(os.Stderr), zap.Level(quiet))) }

// Loopback is where the clusters of tests are.
var Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// Poll calls check until it returns nil, a little less often each time, and returns its last error when ctx ends first.
func Poll(ctx context.Context, check func() error) error {
	backoff := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.3, Jitter: 0.1, Steps: 1 << 30, Cap: 500 * time.Millisecond}
	var last error
	err := backoff.DelayFunc().Until(ctx, true, false, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil && last != nil {
		return fmt.Errorf("still, at the end of the wait: %w", last)
	}
	return err
}

// Eventually fails the test when check has not returned nil within Patience.
func Eventually(t testing.TB, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := Poll(ctx, check); err != nil {
		t.Fatal(err)
	}
}

// RunOperator runs the operator in this process, as its own user, until the test ends or the returned function is called.
func (e *Env) RunOperator(t testing.TB, change ...func(*operator.Options)) (stop func()) {
	t.Helper()
	opts := operator.Options{ManagementName: "management", Allow: Loopback, MetricsAddress: "0", ProbeAddress: "0"}
	for _, f := range change {
		f(&opts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx, rest.CopyConfig(e.Operator), opts) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the operator ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// WriteKubeconfig writes the operator's credential for the API server at an address, which may be a proxy's.
func (e *Env) WriteKubeconfig(path, server string, ca []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["management"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: e.Operator.BearerToken}
	config.Contexts["operator"] = &clientcmdapi.Context{Cluster: "management", AuthInfo: "operator"}
	config.CurrentContext = "operator"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
