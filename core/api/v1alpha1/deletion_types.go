// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StepState is where a step of a pipeline stands.
// +kubebuilder:validation:Enum=Running;WaitingOnYou;Stuck;Failed;Done;Skipped;Forced
type StepState string

// Seconds is t as the API stores it.
func Seconds(t time.Time) *metav1.Time {
	stored := metav1.NewTime(t.Truncate(time.Second))
	return &stored
}

// The states of a step. Running, WaitingOnYou, Stuck and Failed are the ones that a step leaves again.
const (
	StepRunning      StepState = "Running"
	StepWaitingOnYou StepState = "WaitingOnYou"
	StepStuck        StepState = "Stuck"
	StepFailed       StepState = "Failed"
	StepDone         StepState = "Done"
	StepSkipped      StepState = "Skipped"
	StepForced       StepState = "Forced"
)

// Cause is whom a step waits for.
// +kubebuilder:validation:Enum=You;Cloud;Cluster;Infrared
type Cause string

// The causes of a wait.
const (
	CauseYou      Cause = "You"
	CauseCloud    Cause = "Cloud"
	CauseCluster  Cause = "Cluster"
	CauseInfrared Cause = "Infrared"
)

// DeletionStatus is how far a deletion has come.
type DeletionStatus struct {
	// startedAt is when the deletion was asked for and confirmed. Left out while it is not confirmed.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// backup tells whether the disks are backed up first.
	// +optional
	Backup bool `json:"backup,omitempty"`
	// step is the name of the step the deletion is on.
	// +optional
	Step string `json:"step,omitempty"`
	// state is the state of that step.
	// +optional
	State StepState `json:"state,omitempty"`
	// message says what it is doing, or what it waits for.
	// +optional
	Message string `json:"message,omitempty"`
	// steps are the steps so far, in order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Steps []StepStatus `json:"steps,omitempty"`
}

// StepStatus is one step of a pipeline.
type StepStatus struct {
	// name of the step.
	Name string `json:"name"`
	// state of the step.
	State StepState `json:"state"`
	// cause is whom it waits for.
	// +optional
	Cause Cause `json:"cause,omitempty"`
	// message says what it did, what it is doing, what it waits for, or why it was skipped.
	// +optional
	Message string `json:"message,omitempty"`
	// startedAt is when the step began. A step that has run for more than fifteen minutes is Stuck.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// endedAt is when it was Done, Skipped or Forced.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	// forcedBy is the user who moved the step on.
	// +optional
	ForcedBy string `json:"forcedBy,omitempty"`
	// leftBehind is what the step may have left when it was forced.
	// +optional
	LeftBehind []Leftover `json:"leftBehind,omitempty"`
}

// Leftover is one thing that may have been left behind.
type Leftover struct {
	// kind of the thing, such as Secret or Volume; Unknown where it could not even be listed.
	Kind string `json:"kind"`
	// id by which its owner knows it: a cloud ID, or <namespace>/<name>.
	ID string `json:"id"`
	// name a person knows it by.
	// +optional
	Name string `json:"name,omitempty"`
	// where it is: a region, a zone, or "management cluster".
	// +optional
	Where string `json:"where,omitempty"`
	// account or project it is in.
	// +optional
	Account string `json:"account,omitempty"`
	// why it is thought to be this Cluster's, or what kept it.
	// +optional
	Why string `json:"why,omitempty"`
	// hourlyUSD is what it costs an hour, where known.
	// +optional
	HourlyUSD string `json:"hourlyUSD,omitempty"`
	// link to it in its owner's console.
	// +optional
	Link string `json:"link,omitempty"`
}

// DeletionRecord is what stays of a Cluster that was let go: what was done, what was forced and by whom, and what may have been
// left behind. Its name is <cluster>-u<first 8 digits of the incarnation>.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=infrared
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Started",type=date,JSONPath=`.spec.startedAt`
// +kubebuilder:printcolumn:name="Ended",type=date,JSONPath=`.spec.endedAt`
// +kubebuilder:printcolumn:name="Forced",type=string,JSONPath=`.spec.forced`
// +kubebuilder:printcolumn:name="Left",type=integer,JSONPath=`.spec.leftCount`
type DeletionRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the record.
	Spec DeletionRecordSpec `json:"spec"`
}

// DeletionRecordList is a list of DeletionRecords.
// +kubebuilder:object:root=true
type DeletionRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeletionRecord `json:"items"`
}

// DeletionRecordSpec is the record of one deletion.
type DeletionRecordSpec struct {
	// cluster is the name the Cluster had.
	Cluster string `json:"cluster"`
	// incarnation is the Cluster's; a Cluster that carries it can't be made again.
	Incarnation string `json:"incarnation"`
	// org whose own cluster it was.
	// +optional
	Org string `json:"org,omitempty"`
	// provider the cluster was in.
	// +optional
	Provider string `json:"provider,omitempty"`
	// region the cluster was in.
	// +optional
	Region string `json:"region,omitempty"`
	// kubeSystemUID the cluster had.
	// +optional
	KubeSystemUID string `json:"kubeSystemUID,omitempty"`
	// startedAt is when the deletion was confirmed.
	StartedAt metav1.Time `json:"startedAt"`
	// endedAt is when its last step ended.
	EndedAt metav1.Time `json:"endedAt"`
	// forced lists the steps that were forced and by whom, in words; empty where none was.
	// +optional
	Forced string `json:"forced,omitempty"`
	// leftCount is how many things may have been left behind.
	LeftCount int32 `json:"leftCount"`
	// steps are all steps, as they ended.
	// +optional
	// +listType=map
	// +listMapKey=name
	Steps []StepStatus `json:"steps,omitempty"`
}
