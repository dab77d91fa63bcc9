// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

// lockInfo is the annotation in which OpenTofu says who holds its lock.
const lockInfo = "app.terraform.io/lock-info"

// lock is OpenTofu's lock, as its Lease has it.
type lock struct {
	// id is what the lock is called; who is <user>@<host>, and the host is the pod's name.
	id, who, operation string
	// pod, podUID and node are who took it, as the proxy in front of the API server knew; empty where it did not pass there.
	pod, podUID, node string
}

// readLock is the lock that a Lease holds; nil: none.
func readLock(lease *coordinationv1.Lease) *lock {
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return nil
	}
	var info struct{ ID, Who, Operation string }
	// Where the annotation can't be read, the holder is known all the same.
	_ = json.Unmarshal([]byte(lease.Annotations[lockInfo]), &info)
	l := &lock{
		id: *lease.Spec.HolderIdentity, who: cut(info.Who, longestLine), operation: cut(info.Operation, longestLine),
	}
	// Somebody who took the lock without the proxy left the stamps of the one before.
	if stamped, found := lease.Annotations[run.StampLock]; !found || stamped == l.id {
		l.pod, l.podUID, l.node = lease.Annotations[run.StampPod], lease.Annotations[run.StampPodUID], lease.Annotations[run.StampNode]
	}
	if l.who == "" {
		l.who = "somebody who left no name"
	}
	if _, host, found := strings.Cut(l.who, "@"); found && l.pod == "" {
		l.pod = host
	}
	return l
}

// unlock releases the lock that a run has left, where its holder is provably gone, or where a person says that it may go. held is the
// lock that stays, in words; "": there is none.
func (b *Builder) unlock(ctx context.Context, c *v1alpha1.Cluster, w *world) (held string, err error) {
	var lease coordinationv1.Lease
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: namesOf(c).Lease()}
	switch err := b.Live.Get(ctx, key, &lease); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading lock %q: %w", key.Name, err)
	case !owned.By(&lease, c):
		return "", nil // making it one's own is what refuses it, in words
	}
	l := readLock(&lease)
	if l == nil {
		return "", nil
	}
	why, err := b.holderGone(ctx, w, *l)
	if err != nil {
		return "", err
	}
	if why != "" && (c.Annotations[v1alpha1.AnnotationReleaseLock] != l.id || w.going() != "") {
		return l.words(c, why), nil
	}
	lease.Spec.HolderIdentity = nil
	for _, stamp := range []string{lockInfo, run.StampLock, run.StampJob, run.StampJobUID, run.StampPod, run.StampPodUID, run.StampNode} {
		delete(lease.Annotations, stamp)
	}
	// The Lease's resourceVersion goes along, so that a lock which somebody has taken since stays.
	if err := b.Client.Update(ctx, &lease); err != nil {
		return "", fmt.Errorf("releasing lock %q: %w", l.id, err)
	}
	return "", nil
}

// holderGone says why the lock's holder may still be at work; "": it is not.
func (b *Builder) holderGone(ctx context.Context, w *world, l lock) (why string, err error) {
	if l.pod == "" {
		return "nothing tells which pod that was", nil
	}
	for i := range w.pods {
		pod := &w.pods[i]
		if pod.Name != l.pod || l.podUID != "" && string(pod.UID) != l.podUID {
			continue
		}
		if podEnded(pod) {
			return "", nil
		}
		return fmt.Sprintf("pod %s is %s", l.pod, cmp.Or(pod.Status.Phase, corev1.PodPending)), nil
	}
	if l.node == "" {
		return fmt.Sprintf("pod %s is gone, and nothing tells which node it was on", l.pod), nil
	}
	var nodes metav1.PartialObjectMetadataList
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := b.Live.List(ctx, &nodes, client.MatchingFields{"metadata.name": l.node}); err != nil {
		return "", fmt.Errorf("looking for node %q: %w", l.node, err)
	}
	if len(nodes.Items) > 0 {
		return fmt.Sprintf("pod %s is gone, but its node %s is there, where it may still run", l.pod, l.node), nil
	}
	if going := w.going(); going != "" {
		return going + " has not ended", nil
	}
	return "", nil
}

// words say who holds the lock, and how a person releases it.
func (l lock) words(c *v1alpha1.Cluster, why string) string {
	doing := ""
	if l.operation != "" {
		doing = " for " + l.operation
	}
	return fmt.Sprintf("OpenTofu's state is locked: lock %s is held by %s%s, and %s. When you are sure that nothing works on it any more, release it: %s",
		l.id, l.who, doing, why, annotate(c, v1alpha1.AnnotationReleaseLock, l.id))
}

// enrich says of a run that ended at a lock which lock that is.
func (b *Builder) enrich(ctx context.Context, c *v1alpha1.Cluster, s *v1alpha1.RunStatus) error {
	if s.Reason != v1alpha1.ReasonStateLocked && s.Reason != v1alpha1.ReasonBusy {
		return nil
	}
	var lease coordinationv1.Lease
	err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: namesOf(c).Lease()}, &lease)
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("reading the lock of Cluster %s: %w", c.Name, err)
	}
	l := readLock(&lease)
	if l == nil || strings.Contains(s.Message, l.id) && strings.Contains(s.Message, l.who) {
		return nil
	}
	s.Reason = v1alpha1.ReasonStateLocked
	s.Message = cut(strings.TrimSpace(s.Message)+fmt.Sprintf(" Lock %s is held by %s.", l.id, l.who), longestMessage)
	return nil
}
