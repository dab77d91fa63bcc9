// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/core/api/v1alpha1"
)

// podGrace is how long a Job may be without a pod before its status says so.
const podGrace = 10 * time.Second

// podPatience is how long a pod may take to start before that is said. What keeps a volume from being there, such as a Secret that is gone
// again, shows in events alone.
const podPatience = time.Minute

// killed is the exit code of a process that got SIGKILL.
const killed = 137

// running says what a run that goes is at, and when to look again.
func (b *Builder) running(c *v1alpha1.Cluster, r record, job *batchv1.Job, pods []corev1.Pod, told report) (string, time.Duration) {
	for i := range pods {
		if node := b.cutOff(&pods[i]); node != "" {
			return fmt.Sprintf("Node %s does not answer, so nobody knows whether OpenTofu still runs there, and nothing else is begun. When the node is gone for good, tell so: kubectl delete node %s", node, node), lookAtPod
		}
	}
	logs := fmt.Sprintf("To read along: kubectl -n %s logs -f job/%s", v1alpha1.Namespace, r.Job)
	switch {
	case job == nil, !job.DeletionTimestamp.IsZero():
		return fmt.Sprintf("Job %s is being deleted; its pod is told to wind down, and is waited for.", r.Job), lookAtPod
	case told.outcome != nil:
		return "OpenTofu has ended; its pod is about to.", lookAtPod
	case told.begun && wantedInputs(c, r) != r.Inputs:
		return "The Cluster has been changed since: that waits for this run to end. " + logs, lookAtRun
	case told.begun:
		return logs, lookAtRun
	case len(pods) == 0 && b.now().Sub(job.CreationTimestamp.Time) < podGrace:
		return "Waits for its pod.", podGrace
	case len(pods) == 0:
		return fmt.Sprintf("No pod could be made for Job %s so far, which a quota or an admission policy may refuse: kubectl -n %s describe job %s", r.Job, v1alpha1.Namespace, r.Job), lookAtPod
	}
	for i := range pods {
		if why := notStarting(&pods[i]); why != "" {
			return cut(why, longestMessage), lookAtPod
		}
	}
	if pods[0].Status.Phase == corev1.PodPending && b.now().Sub(pods[0].CreationTimestamp.Time) > podPatience {
		return fmt.Sprintf("Its pod has not started for more than a minute. Why: kubectl -n %s describe pod -l %s=%s", v1alpha1.Namespace, batchv1.JobNameLabel, r.Job), lookAtPod
	}
	return "Its pod starts. " + logs, lookAtPod
}

// cutOff is the node of a pod that may run on although nobody hears of it; "": it is not so.
func (b *Builder) cutOff(pod *corev1.Pod) string {
	overdue := pod.DeletionTimestamp != nil && b.now().After(pod.DeletionTimestamp.Time)
	if podEnded(pod) || pod.Status.Phase != corev1.PodUnknown && !overdue {
		return ""
	}
	return pod.Spec.NodeName
}

func wantedInputs(c *v1alpha1.Cluster, r record) string {
	if r.Action == v1alpha1.ActionDestroy {
		return r.Inputs
	}
	return wanted(c).Inputs
}

// notStarting says why a pod does not get to run; "": nothing keeps it.
func notStarting(pod *corev1.Pod) string {
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
			return fmt.Sprintf("The pod can't be placed on a node (%s): %s", cond.Reason, cond.Message)
		}
	}
	for _, status := range append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...) {
		waiting := status.State.Waiting
		if waiting == nil || waiting.Reason == "PodInitializing" || waiting.Reason == "ContainerCreating" {
			continue
		}
		if strings.Contains(waiting.Reason, "Image") || strings.Contains(waiting.Reason, "Pull") {
			return fmt.Sprintf("The image %s of container %s can't be had (%s): check that it exists and that the node may pull it.", status.Image, status.Name, waiting.Reason)
		}
		return fmt.Sprintf("Container %s can't start (%s): %s", status.Name, waiting.Reason, waiting.Message)
	}
	return ""
}

// lost says why a run ended without telling its outcome.
func lost(c *v1alpha1.Cluster, r record, job *batchv1.Job, pods []corev1.Pod) (reason, message string) {
	reason = v1alpha1.ReasonInterrupted
	var why string
	for i := range pods {
		var began bool
		if why, began = deathOf(&pods[i]); !began {
			reason = v1alpha1.ReasonStartRefused
		}
		if why != "" {
			break
		}
	}
	switch {
	case why != "":
	case job != nil:
		why = fmt.Sprintf("The pod of Job %s is gone, and told no outcome", r.Job)
		for _, cond := range job.Status.Conditions {
			if cond.Type == batchv1.JobFailed && cond.Status == corev1.ConditionTrue && cond.Reason != "BackoffLimitExceeded" {
				why += fmt.Sprintf(" (%s)", cond.Reason)
			}
		}
	case r.ended == v1alpha1.ReasonInterrupted || r.ended == v1alpha1.ReasonStartRefused:
		// How it ended was seen while its Job was there, which made way for the next attempt since.
		reason, why = r.ended, fmt.Sprintf("Job %s was cut off, and has made way for another attempt", r.Job)
	default:
		reason, why = v1alpha1.ReasonRunLost, fmt.Sprintf("Job %s was deleted before it told its outcome", r.Job)
	}
	if reason == v1alpha1.ReasonStartRefused {
		return reason, cut(why+". OpenTofu never began. "+wayOn(c, r), longestMessage)
	}
	if r.Action == v1alpha1.ActionPlan {
		return reason, cut(why+". A plan makes nothing, so nothing is left of it. "+wayOn(c, r), longestMessage)
	}
	return reason, cut(why+". What it made until then is in OpenTofu's state or in the ledger, and the next run looks for it. "+wayOn(c, r), longestMessage)
}

// wayOn is how a person has a failed run made again.
func wayOn(c *v1alpha1.Cluster, r record) string {
	if r.Action == v1alpha1.ActionDestroy {
		return "To go on, have the destroy run again."
	}
	return "To go on, raise spec.provision.run: " + raise(c)
}

// deathOf says how a pod ended, and whether OpenTofu's container may have begun.
func deathOf(pod *corev1.Pod) (why string, began bool) {
	if pod.Status.Reason == "Evicted" {
		return "The pod was evicted from its node (" + strings.TrimSuffix(cut(pod.Status.Message, longestLine), ".") + ")", true
	}
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.DisruptionTarget && cond.Status == corev1.ConditionTrue {
			return fmt.Sprintf("The pod was taken off its node (%s)", cond.Reason), true
		}
	}
	for _, status := range pod.Status.InitContainerStatuses {
		if end := status.State.Terminated; end != nil && end.ExitCode != 0 {
			return fmt.Sprintf("The pod's step %s failed with exit code %d (%s): check the image %s", status.Name, end.ExitCode, end.Reason, status.Image), false
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		switch end := status.State.Terminated; {
		case end == nil:
		case end.Reason == "StartError", end.Reason == "ContainerCannotRun":
			return fmt.Sprintf("Container %s could not start (%s): %s", status.Name, end.Reason, strings.TrimSuffix(cut(end.Message, longestLine), ".")), false
		case end.Reason == "OOMKilled":
			return "The pod ran out of memory and was killed (OOMKilled)", true
		case end.ExitCode == killed:
			return fmt.Sprintf("The pod was killed (exit code %d)", end.ExitCode), true
		default:
			return fmt.Sprintf("The run ended with exit code %d and told no outcome", end.ExitCode), true
		}
	}
	if pod.Status.Reason != "" {
		return fmt.Sprintf("The pod failed (%s)", pod.Status.Reason), true
	}
	return "", true
}
