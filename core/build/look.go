// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

// world is all that there is of a Cluster's runs.
type world struct {
	// jobs and pods are those of the Cluster's name, also of another incarnation.
	jobs []batchv1.Job
	pods []corev1.Pod
	// records are those of this incarnation, the newest run first.
	records []record
	// unbegun is the newest record, where its run never began; it is not among records then.
	unbegun *record
	ledger  run.Ledger
}

// record is what tells of one run.
type record struct {
	identity
	name string
	// uid is empty where the record itself is gone, and only Job or status tell of the run.
	uid types.UID
	// ended is the value of annotationEnded.
	ended string
}

// look reads the world. Nothing of it comes from a cache. Where the ledger can't be read, the error is unreadable, and all else is there.
func (b *Builder) look(ctx context.Context, c *v1alpha1.Cluster) (*world, error) {
	w := &world{}
	var jobs batchv1.JobList
	err := b.Live.List(ctx, &jobs, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{v1alpha1.LabelBuild: kindJob, v1alpha1.LabelCluster: c.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the Jobs of Cluster %s: %w", c.Name, err)
	}
	var pods corev1.PodList
	err = b.Live.List(ctx, &pods, client.InNamespace(v1alpha1.Namespace),
		client.MatchingLabels{labelApp: appName, v1alpha1.LabelCluster: c.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of Cluster %s: %w", c.Name, err)
	}
	w.jobs, w.pods = jobs.Items, pods.Items
	var broke error
	if w.ledger, broke = b.ledger(ctx, c); broke != nil && broken(broke) == nil {
		return nil, broke
	}
	if w.records, err = b.records(ctx, c, w.jobs); err != nil {
		return nil, err
	}
	if err := b.setUnbegunApart(ctx, c, w); err != nil {
		return nil, err
	}
	return w, broke
}

// ledger reads what outlives the runs; one that is not there yet, or is another's, is empty.
func (b *Builder) ledger(ctx context.Context, c *v1alpha1.Cluster) (run.Ledger, error) {
	var ledger run.Ledger
	var stored corev1.ConfigMap
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: namesOf(c).Ledger()}
	switch err := b.Live.Get(ctx, key, &stored); {
	case apierrors.IsNotFound(err):
		return ledger, nil
	case err != nil:
		return ledger, fmt.Errorf("reading ledger %q: %w", key.Name, err)
	case !owned.By(&stored, c):
		return ledger, nil
	}
	if err := run.Unpack(stored.BinaryData[run.KeyLedger], &ledger); err != nil {
		return run.Ledger{}, unreadable{ledgerBroken(c, err)}
	}
	return ledger, nil
}

// records lists the runs, the newest first. A run whose record somebody has deleted is known by its Job, or by the status: else it
// would be taken for one that never was, and made again.
func (b *Builder) records(ctx context.Context, c *v1alpha1.Cluster, jobs []batchv1.Job) ([]record, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	labels := owned.Labels(c)
	labels[v1alpha1.LabelBuild] = kindRecord
	if err := b.Live.List(ctx, &list, client.InNamespace(v1alpha1.Namespace), client.MatchingLabels(labels)); err != nil {
		return nil, fmt.Errorf("listing the records of Cluster %s: %w", c.Name, err)
	}
	var all []record
	add := func(r record, text string) {
		known := slices.ContainsFunc(all, func(other record) bool { return other.name == r.name })
		if !known && r.name != "" && json.Unmarshal([]byte(text), &r.identity) == nil {
			all = append(all, r)
		}
	}
	for i := range list.Items {
		r := &list.Items[i]
		add(record{name: r.Name, uid: r.UID, ended: r.Annotations[annotationEnded]}, r.Annotations[annotationRun])
	}
	for i := range jobs {
		if owned.By(&jobs[i], c) {
			add(record{name: jobs[i].Annotations[annotationRecord]}, jobs[i].Annotations[annotationRun])
		}
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(b.Number, a.Number) })
	if s := c.Status.Run; s != nil {
		told := identity{Number: 1, Job: s.Job, Generation: s.Generation, Attempt: s.Attempt, Action: s.Action, Inputs: s.Inputs}
		if len(all) > 0 {
			told.Number += all[0].Number
		}
		add(record{name: s.Record}, told.text())
		slices.SortFunc(all, func(a, b record) int { return cmp.Compare(b.Number, a.Number) })
	}
	return all, nil
}

// setUnbegunApart finds out whether the newest run ever began: an operator may have died between making its record and its Job.
func (b *Builder) setUnbegunApart(ctx context.Context, c *v1alpha1.Cluster, w *world) error {
	if len(w.records) == 0 {
		return nil
	}
	newest := w.records[0]
	told := c.Status.Run != nil && c.Status.Run.Record == newest.name
	if newest.uid == "" || newest.ended != "" || told || w.ledger.Running == newest.name || w.jobOf(newest) != nil || len(w.podsOf(newest)) > 0 {
		return nil
	}
	report, err := b.read(ctx, newest)
	if err != nil {
		return err
	}
	if report.begun {
		return nil
	}
	w.unbegun, w.records = &newest, w.records[1:]
	return nil
}

// newest is the newest run that began; nil: none ever did.
func (w *world) newest() *record {
	if len(w.records) == 0 {
		return nil
	}
	return &w.records[0]
}

// newestOf is the newest run of an action, or nil.
func (w *world) newestOf(action v1alpha1.Action) *record {
	for i := range w.records {
		if w.records[i].Action == action {
			return &w.records[i]
		}
	}
	return nil
}

// interrupted says that what a run did is not known, and that no run has succeeded since.
func (w *world) interrupted(c *v1alpha1.Cluster) bool {
	if s := c.Status.Run; s != nil && (s.Reason == v1alpha1.ReasonInterrupted || s.Reason == v1alpha1.ReasonRunLost) {
		return true // its record may be gone
	}
	for _, r := range w.records {
		switch r.ended {
		case succeeded:
			return false
		case v1alpha1.ReasonInterrupted, v1alpha1.ReasonRunLost:
			return true
		}
	}
	return w.ledger.Running != ""
}

// next is the number of the next run, and its attempt.
func (w *world) next(job string) (number int64, attempt int32) {
	number, attempt = 1, 1
	for _, r := range w.records {
		number = max(number, r.Number+1)
		if r.Job == job {
			attempt = max(attempt, r.Attempt+1)
		}
	}
	return number, attempt
}

// jobOf is the run's Job, or nil.
func (w *world) jobOf(r record) *batchv1.Job {
	for i := range w.jobs {
		if w.jobs[i].Name == r.Job && w.jobs[i].Annotations[annotationRecord] == r.name {
			return &w.jobs[i]
		}
	}
	return nil
}

// podsOf are the run's pods. There is one, unless somebody else made more.
func (w *world) podsOf(r record) []corev1.Pod {
	var pods []corev1.Pod
	for _, pod := range w.pods {
		if pod.Annotations[annotationRecord] == r.name {
			pods = append(pods, pod)
		}
	}
	return pods
}

// going names a Job or pod that may still run OpenTofu, of whatever incarnation; "": none does.
func (w *world) going() string {
	for i := range w.jobs {
		if !finished(&w.jobs[i]) {
			return "Job " + w.jobs[i].Name
		}
	}
	for i := range w.pods {
		if !podEnded(&w.pods[i]) {
			return "pod " + w.pods[i].Name
		}
	}
	return ""
}

// finished says whether a Job and all of its pods have ended: its pods are replaced only once they have failed, so this condition
// comes after the last of them.
func finished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(cond batchv1.JobCondition) bool {
		return cond.Status == corev1.ConditionTrue && (cond.Type == batchv1.JobComplete || cond.Type == batchv1.JobFailed)
	})
}

// podEnded says whether nothing of a pod can run any more. Unknown is not ended: its node may only be cut off.
func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// report is what a run has told in its record.
type report struct {
	stored   *corev1.ConfigMap // nil: the record is gone
	progress run.Progress
	outcome  *run.Outcome // nil: not told
	begun    bool
}

// read reads what a run has told.
func (b *Builder) read(ctx context.Context, r record) (report, error) {
	var stored corev1.ConfigMap
	switch err := b.Live.Get(ctx, types.NamespacedName{Namespace: v1alpha1.Namespace, Name: r.name}, &stored); {
	case apierrors.IsNotFound(err):
		return report{}, nil
	case err != nil:
		return report{}, fmt.Errorf("reading record %q: %w", r.name, err)
	}
	told := report{stored: &stored}
	progress, outcome := stored.BinaryData[run.KeyProgress], stored.BinaryData[run.KeyOutcome]
	// What can't be read counts as not told: whoever broke it must not keep the Cluster from ever having another run.
	if run.Unpack(progress, &told.progress) != nil {
		told.progress = run.Progress{}
	}
	var read run.Outcome
	if len(outcome) > 0 && run.Unpack(outcome, &read) == nil {
		told.outcome = &read
	}
	told.begun = len(progress) > 0 || len(outcome) > 0
	return told, nil
}

// order reads what a run was to do; nil where that is not known any more.
func (b *Builder) order(ctx context.Context, r record) (*run.Order, error) {
	told, err := b.read(ctx, r)
	if err != nil || told.stored == nil || len(told.stored.BinaryData[run.KeyOrder]) == 0 {
		return nil, err
	}
	var order run.Order
	if err := run.Unpack(told.stored.BinaryData[run.KeyOrder], &order); err != nil {
		return nil, unreadable{orderBroken(r, err)}
	}
	return &order, nil
}

func namesOf(c *v1alpha1.Cluster) run.Names { return run.NamesOf(c.Name, c.Spec.Incarnation) }

func (b *Builder) now() time.Time { return b.Clock.Now() }
