// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/dial"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// What Grant makes in a cluster, all in kube-system but the binding, which is the cluster's.
const (
	// AccountNamespace and AccountName are the ServiceAccount's that Infrared uses; AccountName is also the name of the ClusterRoleBinding
	// that lets it do everything.
	AccountNamespace = "kube-system"
	AccountName      = "infrared"
	// TokenSecretPrefix begins the names of the Secrets that tokens are bound to, before a number: whoever deletes one withdraws the
	// token.
	TokenSecretPrefix = "infrared-token-"
)

const (
	// tokenLifetime is what is asked for where the request names no lifetime, and shortestLifetime what an API server gives at least.
	tokenLifetime    = 7 * 24 * time.Hour
	shortestLifetime = 10 * time.Minute
	// grantTimeout bounds a whole call of Grant.
	grantTimeout = 30 * time.Second
	// keptSecrets is how many Secrets of tokens stay: the newest, and the one before, whose token may still be in use somewhere.
	keptSecrets = 2
)

// Grant makes Infrared's own way into a cluster through another one, admin, that may do everything: the ServiceAccount
// kube-system/infrared, its ClusterRoleBinding to cluster-admin, and a token for req.RenewToken, or for 7 days where that is zero. It
// returns once the token works. The API server decides how long it is valid; the expiry is its answer.
//
// The token is bound to the Secret kube-system/infrared-token-<n>. Older ones are deleted but for the one before, and for that of
// admin's own token. admin may be a way in that Grant made: so a token is renewed by itself. Of the request, only RenewToken,
// PrivateAddresses and Allow count. Calling again makes another token and nothing else.
//
// Its errors are those of [Serve]; Denied also where admin may not do what is needed, and Conflict where a ClusterRoleBinding named
// infrared is somebody else's.
func Grant(ctx context.Context, admin provider.Endpoint, req provider.ConnectRequest) (provider.Endpoint, error) {
	t := Target{
		Config: configOf(admin), Policy: dial.Policy{Private: req.PrivateAddresses, Allow: req.Allow}, Timeout: grantTimeout,
	}
	s, err := newSession(t)
	if err != nil {
		return provider.Endpoint{}, verdict(err)
	}
	defer s.close()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	token, expiry, err := s.grant(ctx, t, cmp.Or(req.RenewToken, tokenLifetime))
	if err != nil {
		return provider.Endpoint{}, grantError(err)
	}
	return provider.Endpoint{
		Server: admin.Server, TLSServerName: admin.TLSServerName, CA: admin.CA, Token: provider.NewSecret(token), Expiry: expiry,
	}, nil
}

// grantError is verdict for errors some of which have the plugins' words already.
func grantError(err error) error {
	var typed *provider.Error
	if errors.As(err, &typed) {
		return err
	}
	return verdict(err)
}

// grant is Grant within one session and its deadline.
func (s *session) grant(ctx context.Context, t Target, lifetime time.Duration) (string, time.Time, error) {
	if !t.Policy.Private {
		// Argo CD will dial the same host with a resolver of its own, so every address of it must be public.
		if err := t.Policy.CheckHost(ctx, s.server.Hostname()); err != nil {
			return "", time.Time{}, s.transportError(ctx, err)
		}
	}
	// Whatever else is at the address gets no request that could mean something to it.
	if _, err := s.version(ctx); err != nil {
		return "", time.Time{}, err
	}
	if err := s.makeAccount(ctx); err != nil {
		return "", time.Time{}, err
	}
	if err := s.makeBinding(ctx); err != nil {
		return "", time.Time{}, err
	}
	secrets, err := s.tokenSecrets(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	own := boundTo(s.token)
	secret, err := s.secretFor(ctx, secrets, own)
	if err != nil {
		return "", time.Time{}, err
	}
	token, expiry, err := s.requestToken(ctx, secret, lifetime)
	if err != nil {
		return "", time.Time{}, err
	}
	if err := s.awaitRights(ctx, t, token); err != nil {
		return "", time.Time{}, err
	}
	return token, expiry, s.prune(ctx, append(secrets, secret), own)
}

// object is a Kubernetes object in a request.
type object = map[string]any

// marks are the labels of all that Grant makes.
func marks() object { return object{"app.kubernetes.io/managed-by": "infrared"} }

// makeAccount makes the ServiceAccount, if it is not there.
func (s *session) makeAccount(ctx context.Context) error {
	status, err := s.send(ctx, send{method: http.MethodPost, path: inSystem("serviceaccounts"), body: object{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": AccountName, "labels": marks()},
	}})
	return s.judge(status, err, "make the ServiceAccount "+AccountNamespace+"/"+AccountName, http.StatusConflict)
}

// bindings is where ClusterRoleBindings are.
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"

// binding is a ClusterRoleBinding.
type binding struct {
	RoleRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"roleRef"`
	Subjects []object `json:"subjects"`
}

// makeBinding makes the ClusterRoleBinding, or adds the account to the one that is there. One to another role can't be changed, and
// is not ours.
func (s *session) makeBinding(ctx context.Context) error {
	const what = "make the ClusterRoleBinding " + AccountName
	subject := object{"kind": "ServiceAccount", "namespace": AccountNamespace, "name": AccountName}
	status, err := s.send(ctx, send{method: http.MethodPost, path: bindings, body: object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": AccountName, "labels": marks()},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []object{subject},
	}})
	if err := s.judge(status, err, what, http.StatusConflict); err != nil || status != http.StatusConflict {
		return err
	}
	var there binding
	status, err = s.send(ctx, send{method: http.MethodGet, path: bindings + "/" + AccountName, into: &there})
	if err := s.judge(status, err, "read the ClusterRoleBinding "+AccountName); err != nil {
		return err
	}
	if there.RoleRef.Kind != "ClusterRole" || there.RoleRef.Name != "cluster-admin" {
		return provider.Errorf(provider.Conflict, "the ClusterRoleBinding %s of the cluster is not Infrared's: it binds another role than cluster-admin; delete it or give it another name", AccountName)
	}
	if slices.ContainsFunc(there.Subjects, func(o object) bool {
		return o["kind"] == subject["kind"] && o["namespace"] == subject["namespace"] && o["name"] == subject["name"]
	}) {
		return nil
	}
	status, err = s.send(ctx, send{method: http.MethodPatch, path: bindings + "/" + AccountName, body: object{"subjects": append(there.Subjects, subject)}})
	return s.judge(status, err, what)
}

// inSystem is where objects of kube-system are.
func inSystem(parts ...string) string {
	return "/api/v1/namespaces/" + AccountNamespace + "/" + strings.Join(parts, "/")
}

// judge makes an error of a status that is none of those that are no failure.
func (s *session) judge(status int, err error, what string, fine ...int) error {
	switch {
	case err != nil:
		return err
	case status < http.StatusMultipleChoices || slices.Contains(fine, status):
		return nil
	case status == http.StatusForbidden:
		return s.fail(Forbidden, "does not let the credential %s: it needs the ClusterRole cluster-admin", what)
	}
	return provider.Errorf(provider.Other, "the API server %s answers %d when asked to %s", s.server.Host, status, what)
}

// boundTo is the name of the Secret that a token of ours is bound to; empty: it is none of ours.
func boundTo(token kubeconfig.Secret) string {
	subject, ok := kubeconfig.TokenSubject(token)
	if !ok || subject.Namespace != AccountNamespace || subject.Name != AccountName {
		return ""
	}
	var claims struct {
		Kubernetes struct {
			Secret struct {
				Name string `json:"name"`
			} `json:"secret"`
		} `json:"kubernetes.io"`
	}
	if err := decodeClaims(token.Reveal(), &claims); err != nil {
		return ""
	}
	return claims.Kubernetes.Secret.Name
}

// awaitRights waits until the token may do everything: an API server learns of a binding a moment after it is made.
func (s *session) awaitRights(ctx context.Context, t Target, token string) error {
	config := *t.Config
	config.Token, config.ClientCertData, config.ClientKeyData = provider.NewSecret(token), nil, provider.Secret{}
	t.Config = &config
	ours, err := newSession(t)
	if err != nil {
		return err
	}
	defer ours.close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var review struct {
			Status struct {
				Allowed bool `json:"allowed"`
			} `json:"status"`
		}
		status, err := ours.send(ctx, send{
			method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", into: &review, body: object{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
				"spec": object{"resourceAttributes": object{"verb": "*", "group": "*", "resource": "*"}},
			},
		})
		if err := ours.judge(status, err, "ask what it may do", http.StatusForbidden); err != nil && !isKind(err, Unauthorized) {
			return err
		}
		if err == nil && review.Status.Allowed {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return provider.Unavailablef(0, "%w", fmt.Errorf("the token that was made for the API server %s does not let Infrared do everything yet: call again", s.server.Host))
		}
	}
}
