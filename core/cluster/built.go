// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/connect"
	"darkshift.io/infrared/sdk/kubeconfig"
	"darkshift.io/infrared/sdk/provider"
)

// madeWay is a way into a built cluster that a plugin made.
type madeWay struct {
	endpoint provider.Endpoint
	// uid is that of the namespace kube-system there; empty where it is not known.
	uid string
	// renewed is true where an older way in was used to make it.
	renewed bool
}

// need is why a kubeconfig of a built cluster is to be made.
type need struct {
	// renew is true where the one at hand still opens the cluster, and only its token is to be replaced. Else the cluster is found by the
	// outputs of its module, with the cloud's credentials.
	renew bool
	// sum is that of the kubeconfig at hand, or empty.
	sum string
}

// connectBuilt reaches a cluster that was built. Infrared makes its kubeconfig itself, and keeps its token fresh; everything else is as for
// a kubeconfig that a person gave, and a person may replace it.
func (r *Reconciler) connectBuilt(ctx context.Context, s *scope, turn build.Turn) (access, error) {
	// The ledger has an apply's outputs a little before the run ends, and what it was to build counts as there only then.
	going := turn.Run != nil && turn.Run.Phase == v1alpha1.RunRunning && turn.Run.Action == v1alpha1.ActionApply
	if turn.Built == nil && (turn.Applied == nil || going) {
		s.notBuilt()
		return access{}, nil
	}
	src, err := r.storedWay(ctx, s)
	if err != nil {
		return access{}, err
	}
	h, err := r.holds(ctx, s)
	if errors.As(err, &src.refused) {
		return r.follow(ctx, s, src)
	}
	if err != nil {
		return access{}, err
	}
	var outputs map[string]json.RawMessage // nil where what the apply said is lost
	if turn.Applied != nil {
		outputs = turn.Applied.Outputs
	}
	var failed *refusal
	var next time.Duration
	if due, what := r.due(h, outputs, going); due {
		if h, failed, next, err = r.renew(ctx, s, h, outputs, what); err != nil {
			return access{}, err
		}
	}
	if h == nil && failed == nil {
		s.reaching()
		return access{destination: src.stored, next: next}, nil
	}
	if h == nil {
		src.refused = failed
		acc, err := r.follow(ctx, s, src)
		acc.next = soonest(acc.next, next)
		return acc, err
	}
	s.recall(h, r.Clock.Now())
	if src.offered, err = r.offer(ctx, s); err != nil && !errors.As(err, &src.refused) {
		return access{}, err
	}
	return r.followBuilt(ctx, s, src, h, outputs, next)
}

// followBuilt is follow, and has the kubeconfig made anew where the cluster does not take it any more.
func (r *Reconciler) followBuilt(ctx context.Context, s *scope, src *ways, h *held, outputs map[string]json.RawMessage, next time.Duration) (access, error) {
	before := s.condition(v1alpha1.ConditionConnected)
	acc, err := r.follow(ctx, s, src)
	if err != nil {
		return access{}, err
	}
	acc.next = soonest(acc.next, next)
	if s.refused == nil || s.refused.reason != v1alpha1.ReasonUnauthorized || r.madeJustNow(h) {
		return acc, nil
	}
	_, failed, next, err := r.renew(ctx, s, h, outputs, need{sum: h.sum})
	if err != nil {
		return access{}, err
	}
	acc.next = soonest(acc.next, next)
	if failed != nil {
		s.putBack(before)
		s.refuse(failed)
	}
	return acc, nil
}

// due says whether a kubeconfig is to be made now, and how. While an apply goes, other outputs than before wait for its end.
func (r *Reconciler) due(h *held, outputs map[string]json.RawMessage, going bool) (bool, need) {
	if h == nil {
		return true, need{}
	}
	now := r.Clock.Now()
	made, end := h.life(now)
	expired := !end.IsZero() && !now.Before(end)
	moved := !going && outputs != nil && h.origin.Outputs != "" && h.origin.Outputs != outputsSum(outputs)
	switch at := renewAt(made, end); {
	case r.madeJustNow(h) && h.ours():
		return false, need{}
	case h.sum == "", expired, moved:
		// The outputs are others where an apply has replaced the cluster, say.
		return true, need{sum: h.sum}
	case at.IsZero(), now.Before(at):
		return false, need{}
	}
	return true, need{sum: h.sum, renew: true}
}

// madeJustNow keeps a token that is refused as soon as it is made from being made again and again.
func (r *Reconciler) madeJustNow(h *held) bool {
	return h.ours() && r.Clock.Now().Sub(h.origin.MadeAt) < leastBetween
}

// renew has the plugin make a kubeconfig, and keeps it. While that goes, or where it failed, the one at hand stays. failed is why it can't be
// made, and next in how long that is tried again.
func (r *Reconciler) renew(ctx context.Context, s *scope, h *held, outputs map[string]json.RawMessage, what need) (now *held, failed *refusal, next time.Duration, err error) {
	w, err := r.wayTo(ctx, s)
	if err != nil {
		return h, nil, 0, err
	}
	if w.plugin == nil {
		return h, &refusal{v1alpha1.ReasonProviderUnavailable, fmt.Sprintf(
			"No Provider is for %s, whose plugin makes the way into the cluster. Apply one that names the plugin.", cloudOf(s.Cluster))}, resync, nil
	}
	credentials, version, err := r.credentials(ctx, s)
	if err != nil {
		return h, nil, 0, err
	}
	switch {
	case what.renew:
	case outputs == nil && s.unbuilt != nil:
		// What the apply said could not be read this time, which does not mean that it is lost.
		return h, nil, resync, nil //nolint:nilerr // Reconcile returns it at its end
	case outputs == nil:
		return h, s.noOutputs(), resync, nil
	case credentials.IsZero():
		return h, s.noCredentials(), resync, nil
	}
	req := provider.ConnectRequest{Cluster: w.cluster, Outputs: outputs, Credentials: credentials, RenewToken: tokenLife}
	if s.Spec.Org == "" {
		req.PrivateAddresses, req.Allow = true, r.Allow
	}
	if what.renew {
		if err := r.throughHeld(h, &req); err != nil {
			return h, err, resync, nil
		}
		version = ""
	}
	key := lookKey{s.Name, making}
	v := r.looks.see(key, w.bucket, needPrint(s, w, what, outputs, version), func(ctx context.Context) finding { return makeWay(ctx, w, req) })
	switch {
	case v == nil:
		return h, nil, resync, nil
	case v.err != nil:
		logf.FromContext(ctx).Error(v.err, "no kubeconfig could be made for a cluster that was built", "plugin", w.name, "renewal", what.renew)
		return h, refusalOf(v.err), v.next, nil
	}
	if err := r.keep(ctx, s, h, *v.made, outputsSum(outputs)); err != nil {
		return h, nil, 0, err
	}
	r.looks.drop(key)
	now, err = r.holds(ctx, s)
	return now, nil, 0, err
}

// throughHeld has the request go by the kubeconfig at hand, without the cloud's credentials, which it does not need.
func (r *Reconciler) throughHeld(h *held, req *provider.ConnectRequest) *refusal {
	config, err := kubeconfig.Reader{Now: r.Clock.Now}.Read(h.secret.Data[v1alpha1.KubeconfigKey])
	if err != nil {
		return &refusal{v1alpha1.ReasonKubeconfigInvalid, fmt.Sprintf("The kubeconfig in Secret %s is refused: %s", h.secret.Name, err)}
	}
	endpoint := connect.EndpointOf(*config)
	req.Endpoint, req.Credentials = &endpoint, provider.Credentials{}
	return nil
}

// makeWay asks the plugin.
func makeWay(ctx context.Context, w way, req provider.ConnectRequest) finding {
	answer, err := w.plugin.Connect(ctx, req)
	if err != nil {
		failed := failedBy(err, !req.Credentials.IsZero())
		failed.through = w.name
		return failed
	}
	// It is read like a person's: what can't be kept as a kubeconfig is no way in.
	if _, err := kubeconfig.Read(kubeconfig.Write(configOf(answer.Endpoint))); err != nil {
		return finding{through: w.name, err: provider.Errorf(provider.Other, "the plugin's way into the cluster is refused: %w", err)}
	}
	return finding{through: w.name, made: &madeWay{
		endpoint: answer.Endpoint, uid: answer.Identity.KubeSystemUID, renewed: req.Endpoint != nil,
	}}
}

// needPrint names what is asked for, so that an answer is never taken for another's. credentials is the version of their Secret: new ones
// are tried at once.
func needPrint(s *scope, w way, what need, outputs map[string]json.RawMessage, credentials string) string {
	return digest([]byte(strings.Join([]string{
		s.Spec.Incarnation, s.Spec.Org, w.name, fmt.Sprint(what.renew), what.sum, outputsSum(outputs), credentials,
	}, "\x00")))
}

// credentials are the cloud's for the Cluster, as their Secret has them now, and the Secret's version. They are kept nowhere.
func (r *Reconciler) credentials(ctx context.Context, s *scope) (provider.Credentials, string, error) {
	if s.Spec.Org != "" && s.provision().CloudAccount == "" {
		return provider.Credentials{}, "", nil // a Secret made by hand is the platform's alone
	}
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.Name)}
	var secret corev1.Secret
	switch err := r.Live.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return provider.Credentials{}, "", nil
	case err != nil:
		return provider.Credentials{}, "", fmt.Errorf("reading Secret %s: %w", key, err)
	case owned.Others(&secret, s.Cluster):
		return provider.Credentials{}, "", nil
	}
	found := provider.Credentials{Values: map[string]provider.Secret{}}
	for name, value := range secret.Data {
		found.Values[name] = provider.NewSecret(string(value))
	}
	return found, string(secret.UID) + "/" + secret.ResourceVersion, nil
}

// reaching says of a cluster that was never reached that the way into it is being made. What was known before stays.
func (s *scope) reaching() {
	if s.Status.Identity == nil {
		s.set(v1alpha1.ConditionConnected, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "The cluster is built. The plugin makes a way into it.")
	}
}

// noCredentials says that a kubeconfig can't be made without them.
func (s *scope) noCredentials() *refusal {
	name := v1alpha1.CredentialsSecretName(s.Name)
	return &refusal{v1alpha1.ReasonWaitingForCredentials, fmt.Sprintf(
		"Infrared has no way into the cluster that it built, and a new one needs the cloud's credentials, which are not there, or are in a Secret that belongs to another Cluster or an earlier one of this name, which then has to be deleted first. Make them: kubectl -n %s create secret generic %s --from-env-file=<KEY=value lines>",
		v1alpha1.Namespace, name)}
}

// noOutputs says that what the newest apply told of the cluster is lost, as when somebody has deleted the ledger.
func (s *scope) noOutputs() *refusal {
	return &refusal{v1alpha1.ReasonNotBuilt, fmt.Sprintf(
		"What the apply said of the cluster is lost, and with it how to reach it. Apply again, which changes nothing that is as it should be: kubectl patch cluster %s --type=merge -p '{\"spec\":{\"provision\":{\"action\":\"apply\",\"run\":%d}}}'",
		s.Name, s.provision().Run+1)}
}

// recall takes over what the kubeconfig at hand says: when its token ends and, where it was made by the outputs of the module, which
// cluster that is. An apply that replaces the cluster puts another in its place, which is then ours all the same.
func (s *scope) recall(h *held, now time.Time) {
	made, end := h.life(now)
	if built := s.Status.Built; built != nil {
		built.TokenMadeAt, built.TokenExpiresAt = secondsOrNil(made), secondsOrNil(end)
	}
	if id := s.Status.Identity; id != nil && h.ours() && h.origin.UID != "" && id.KubeSystemUID != h.origin.UID {
		id.KubeSystemUID = h.origin.UID
	}
}
