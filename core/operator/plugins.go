// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"darkshift.io/infrared/core/pluginhost"
	"darkshift.io/infrared/core/providers"
)

// DefaultPluginFolder is where the plugins' programs are in the operator's image.
const DefaultPluginFolder = "/plugins"

// closeTime is how long plugins may take to end when the operator does. A pod has thirty seconds, and the lease is given up
// afterwards, so that two operators never have plugins at work at the same time.
const closeTime = 20 * time.Second

// plugins are the operator's plugin processes, and who looks after them.
type plugins struct {
	host     *pluginhost.Host
	registry *providers.Registry
}

// setupPlugins starts the reconciler of Providers with the manager. No plugin runs before this operator leads.
func setupPlugins(mgr manager.Manager, opts Options) (*plugins, error) {
	attach, err := pluginhost.ParseAttachments(opts.AttachProviders)
	if err != nil {
		return nil, err
	}
	r := &providers.Reconciler{
		Client: mgr.GetClient(),
		Live:   mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder("infrared-operator"),
	}
	host := pluginhost.New(pluginhost.Options{
		Folder:  opts.PluginFolder,
		Attach:  attach,
		Env:     pluginEnvironment(os.LookupEnv),
		Log:     mgr.GetLogger().WithName("plugins"),
		Metrics: metrics.Registry,
		Changed: r.Wake,
	})
	r.Host = host
	if err := r.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	p := &plugins{host: host, registry: &providers.Registry{Reader: mgr.GetClient(), Host: host}}
	// The manager waits for this before it gives the lease up; one that has lost the lease waits for nothing, and close is called
	// again.
	return p, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		p.close(ctx)
		return nil
	}))
}

// close ends all plugins and returns when none is left. ctx may be over already. It may be called again.
func (p *plugins) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	p.host.Close(ctx)
}

// pluginEnvironment is what plugins see of the operator's environment: where temporary files go, and how to reach a cloud. The rest
// is none of their business.
func pluginEnvironment(lookup func(string) (string, bool)) []string {
	var env []string
	for _, name := range []string{
		"PATH", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
	} {
		if value, ok := lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
