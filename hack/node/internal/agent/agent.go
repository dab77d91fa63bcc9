// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package agent is the node itself: it registers the node, follows the pods that
// are bound to it, and makes each of them run by a supervisor of its own.
//
// The Node object, its lease and its heartbeat are virtual-kubelet's. Its pod
// controller is not used: it deletes a pod's object when the grace is over, whether or not the
// processes are gone, tells pods apart by name and not by UID, and fails a pod whose Secret is not
// there yet. With two applies of one cluster at stake, a worker of ours follows each
// UID instead (worker.go), and an object goes only after the last process.
//
// A node is killed at any moment and started again. What it knows is in the pods' folders (package
// record), and all that a worker does is to compare the folder with the object and take the next
// step.
//
// It has one identity, system:node:<name>, and no other rights than the Node
// authorizer gives to a kubelet: the objects that its own pods refer to. So it
// never lists Secrets, and asks for each by name.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	files "darkshift.io/infrared/hack/node/internal/record"
)

// Options says how to be a node. All but Log must be given.
type Options struct {
	// Name is the node's name; the client's user is system:node:<Name>.
	Name string
	// Root is the folder that keeps the pods; it is this node's alone.
	Root string
	// Images is the path of the table of images.
	Images string
	// ServiceHost and ServicePort are where pods find the API server.
	ServiceHost, ServicePort string
	// Refresh is how often the volumes of running pods are brought up to date.
	Refresh time.Duration
	// Backoff is the wait before the second restart of a container.
	Backoff time.Duration
	// Supervisor is the command line of a supervisor; a pod's folder is added.
	Supervisor []string
	// Client acts as the node.
	Client kubernetes.Interface
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// Agent is a node at work.
type Agent struct {
	Options
	pods    listers.PodLister
	synced  cache.InformerSynced
	events  record.EventRecorder
	watcher *fsnotify.Watcher
	tokens  *tokens

	mu      sync.Mutex
	workers map[types.UID]*worker
	ips     map[string]types.UID
	stopped bool
	running sync.WaitGroup
}

// New makes an Agent that Run starts.
func New(o Options) *Agent {
	return &Agent{
		Options: o, workers: map[types.UID]*worker{}, ips: map[string]types.UID{},
		tokens: newTokens(o.Client, o.Now),
	}
}

// Pod finds a pod of this node by name, and the folder with its logs.
func (a *Agent) Pod(namespace, name string) (*corev1.Pod, files.Folder, error) {
	pod, err := a.pods.Pods(namespace).Get(name)
	if err != nil {
		return nil, "", err
	}
	return pod, files.Of(a.Root, pod.UID), nil
}

// Claim takes the folder of the node's pods, which only one process may have.
func Claim(root string) (*os.File, error) {
	if err := os.MkdirAll(files.Pods(root), 0o700); err != nil {
		return nil, fmt.Errorf("making the node's folder: %w", err)
	}
	lock, err := files.Lock(root + "/lock")
	if errors.Is(err, files.ErrLocked) {
		return nil, fmt.Errorf("another process has the folder %s: end that node first", root)
	}
	return lock, err
}

// Prepare connects the agent to the API server and returns when it has seen the
// node's pods. The folder must be claimed.
func (a *Agent) Prepare(ctx context.Context) error {
	if err := files.Sweep(a.Root); err != nil {
		return err
	}
	var err error
	if a.watcher, err = fsnotify.NewWatcher(); err != nil {
		return fmt.Errorf("watching the pods' folders: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: a.Client.CoreV1().Events("")})
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "process-node", Host: a.Name})

	mine := fields.OneTermEqualSelector("spec.nodeName", a.Name).String()
	factory := informers.NewSharedInformerFactoryWithOptions(a.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = mine }))
	informer := factory.Core().V1().Pods()
	a.pods, a.synced = informer.Lister(), informer.Informer().HasSynced
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), a.synced) {
		return errors.New("the node was ended before it had seen its pods")
	}
	if err := a.adopt(ctx); err != nil {
		return err
	}
	_, err = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { a.seen(ctx, o) },
		UpdateFunc: func(old, o any) { a.gone(old, o); a.seen(ctx, o) },
		DeleteFunc: func(o any) { a.gone(o, nil) },
	})
	return err
}

// Run works until ctx ends. The pods run on.
func (a *Agent) Run(ctx context.Context) {
	defer func() { _ = a.watcher.Close() }()
	for {
		select {
		case e := <-a.watcher.Events:
			a.wakeFolder(e.Name)
		case err := <-a.watcher.Errors:
			a.Log.Error("watching the pods' folders", "error", err)
			a.wakeAll() // what was missed is looked at
		case <-ctx.Done():
			a.mu.Lock()
			a.stopped = true
			a.mu.Unlock()
			a.running.Wait()
			return
		}
	}
}

// adopt makes a worker for each pod that an earlier node of this folder left.
func (a *Agent) adopt(ctx context.Context) error {
	uids, err := files.All(a.Root)
	if err != nil {
		return err
	}
	for _, uid := range uids {
		plan, err := files.Of(a.Root, uid).Plan()
		if err == nil {
			a.mu.Lock()
			a.ips[plan.PodIP] = uid
			a.mu.Unlock()
		}
		a.follow(ctx, uid, nil)
	}
	return nil
}

// seen tells a pod's worker what the API server says of it.
func (a *Agent) seen(ctx context.Context, o any) {
	if pod, ok := o.(*corev1.Pod); ok {
		a.follow(ctx, pod.UID, pod)
	}
}

// gone tells the worker that its pod's object is no more: deleted, or replaced
// by another of the same name.
func (a *Agent) gone(old, now any) {
	if last, ok := old.(cache.DeletedFinalStateUnknown); ok {
		old = last.Obj
	}
	pod, ok := old.(*corev1.Pod)
	if next, is := now.(*corev1.Pod); !ok || is && next.UID == pod.UID {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.workers[pod.UID]; w != nil {
		w.tell(pod, true)
	}
}

// follow makes sure that a pod has a worker. Without an object the pod counts
// as gone until one is seen.
func (a *Agent) follow(ctx context.Context, uid types.UID, pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	w := a.workers[uid]
	if w == nil {
		w = newWorker(a, uid)
		a.workers[uid] = w
		w.tell(pod, a.missing(uid, pod))
		a.running.Go(func() { w.run(ctx) })
		return
	}
	if pod != nil {
		w.tell(pod, false)
	}
}

// missing says whether the API server has no pod with a UID.
func (a *Agent) missing(uid types.UID, pod *corev1.Pod) bool {
	if pod != nil {
		return false
	}
	for _, o := range a.all() {
		if o.UID == uid {
			return false
		}
	}
	return true
}

// forget drops a worker that has nothing left to do.
func (a *Agent) forget(w *worker) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.workers, w.uid)
	for ip, uid := range a.ips {
		if uid == w.uid {
			delete(a.ips, ip)
		}
	}
}
