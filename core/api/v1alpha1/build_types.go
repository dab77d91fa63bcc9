// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunPhase says how far an OpenTofu run is.
// +kubebuilder:validation:Enum=WaitingForCredentials;Running;Succeeded;Failed
type RunPhase string

// The phases of an OpenTofu run, and there are no others.
const (
	RunWaitingForCredentials RunPhase = "WaitingForCredentials"
	RunRunning               RunPhase = "Running"
	RunSucceeded             RunPhase = "Succeeded"
	RunFailed                RunPhase = "Failed"
)

// ActionDestroy is the action of the run that a deletion starts; nobody can ask for it in spec.provision.action.
const ActionDestroy Action = "destroy"

// RunStatus is the newest OpenTofu run of a cluster.
type RunStatus struct {
	// job is the Job's name in namespace infrared: tofu-<cluster>-<generation>-<action>. Empty where none was made, because the run
	// waits or could not begin.
	// +optional
	Job string `json:"job,omitempty"`
	// record is the ConfigMap in namespace infrared that keeps the run's log and result when its Job and pod are gone.
	// +optional
	Record string `json:"record,omitempty"`
	// generation is the Cluster's metadata.generation that the run is for.
	Generation int64 `json:"generation"`
	// attempt counts the Jobs of one name: the second and later ones are made when a person asks for the same again.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// action is plan, apply or destroy.
	// +kubebuilder:validation:Enum=plan;apply;destroy
	Action Action `json:"action"`
	// phase is how far it is.
	Phase RunPhase `json:"phase"`
	// reason is why it waits or failed, in one word with a page of its own under docs/runbooks.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says it for people, with the way out.
	// +optional
	Message string `json:"message,omitempty"`
	// inputs is a hash of all that OpenTofu reads, by which a change of the Cluster that needs a run is told from one that does not.
	// +optional
	Inputs string `json:"inputs,omitempty"`
	// startedAt is when the Job was made.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// endedAt is when it had ended.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	// counts are the changes planned, or made by an apply or destroy.
	// +optional
	Counts *ChangeCounts `json:"counts,omitempty"`
	// changes are the first of them, those that destroy something first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Changes []ResourceChange `json:"changes,omitempty"`
	// resources is how many things OpenTofu's state held after the run.
	// +optional
	Resources *int32 `json:"resources,omitempty"`
	// leftBehind are the first of the things that a run made and that are neither in the state nor gone, with their cloud IDs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	LeftBehind []Leftover `json:"leftBehind,omitempty"`
	// events are the newest lines of its progress, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Events []RunEvent `json:"events,omitempty"`
}

// Log is how a person reads all that OpenTofu printed in the run; empty where there is no Job.
func (r *RunStatus) Log() string {
	if r == nil || r.Job == "" {
		return ""
	}
	text := fmt.Sprintf("kubectl -n %s logs job/%s", Namespace, r.Job)
	if r.Record != "" {
		text += fmt.Sprintf(" or, once its pod is gone, kubectl -n %s get configmap %s -o jsonpath='{.data.log}'", Namespace, r.Record)
	}
	return text
}

// PlanStatus is the newest plan of a cluster: what an apply would do.
type PlanStatus struct {
	// digest names exactly these changes to exactly this state by exactly this module. An apply does this, or nothing.
	Digest string `json:"digest"`
	// inputs is a hash of what it was made from.
	Inputs string `json:"inputs"`
	// generation is the Cluster's metadata.generation that it was made for.
	Generation int64 `json:"generation"`
	// madeAt is when it was made.
	MadeAt metav1.Time `json:"madeAt"`
	// expiresAt is 24 hours later; from then on it can't be applied any more.
	ExpiresAt metav1.Time `json:"expiresAt"`
	// counts are what it changes; all zero: nothing.
	Counts ChangeCounts `json:"counts"`
	// changes are the first of what it changes, those that destroy something first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Changes []ResourceChange `json:"changes,omitempty"`
	// approve is the annotation without which it can't be applied, because it would destroy or replace the cluster or a node group;
	// left out where it needs none.
	// +optional
	Approve string `json:"approve,omitempty"`
}

// ChangeCounts counts changes by what they do.
type ChangeCounts struct {
	// create counts what is made.
	Create int32 `json:"create"`
	// update counts what is changed and stays.
	Update int32 `json:"update"`
	// replace counts what is destroyed and made anew.
	Replace int32 `json:"replace"`
	// delete counts what is destroyed.
	Delete int32 `json:"delete"`
}

// ResourceChange is what a run does to one thing.
type ResourceChange struct {
	// address is the thing's address in the template, such as module.vpc.aws_subnet.private[0].
	Address string `json:"address"`
	// operation is Create, Read, Update, Replace or Delete.
	Operation string `json:"operation"`
	// why are the attributes that force a replacement.
	// +optional
	Why string `json:"why,omitempty"`
}

// RunEvent is one line of a run's progress.
type RunEvent struct {
	// at is when it happened.
	At metav1.Time `json:"at"`
	// kind is Message, Warning, Planned, Started, Done or Failed.
	Kind string `json:"kind"`
	// message is for people.
	Message string `json:"message"`
}

// BuiltStatus is what Infrared has built for a cluster.
type BuiltStatus struct {
	// generation is the Cluster's metadata.generation of the newest apply that succeeded.
	Generation int64 `json:"generation"`
	// version is the template's version that it built.
	Version string `json:"version"`
	// at is when it had ended.
	At metav1.Time `json:"at"`
	// tokenExpiresAt is when the token ends that Infrared uses on the cluster; it is renewed at half of its life.
	// +optional
	TokenExpiresAt *metav1.Time `json:"tokenExpiresAt,omitempty"`
	// tokenMadeAt is when that token was made.
	// +optional
	TokenMadeAt *metav1.Time `json:"tokenMadeAt,omitempty"`
}
