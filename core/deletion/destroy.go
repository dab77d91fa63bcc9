// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/core/pipeline"
)

// lookAgain is when a destroy is looked at although no watch told anything.
const lookAgain = time.Minute

// onlyRegistered says why there is nothing of ours to destroy.
func onlyRegistered(s *Scope) string {
	if s.Cluster.Spec.Template != nil {
		return ""
	}
	return "Infrared did not build the cluster, and does not destroy it."
}

// destroy has OpenTofu take away all that was built. A run that still goes is waited for and never killed, since half an apply is
// harder to take away than a whole one.
func destroy(ctx context.Context, s *Scope) (pipeline.Outcome, error) {
	torn, err := s.Builder.Destroy(ctx, s.Cluster, s.Again)
	if err != nil {
		return pipeline.Outcome{}, fmt.Errorf("destroying what was built: %w", err)
	}
	s.Turn = &torn.Turn
	run := torn.Run
	after := cmp.Or(torn.After, lookAgain)
	switch {
	case torn.Done:
		stays, err := staying(ctx, s)
		if err != nil {
			return pipeline.Outcome{}, err
		}
		if torn.Nothing {
			return pipeline.Skipped("Nothing was ever built for the Cluster." + stays), nil
		}
		out := destroyed(run)
		out.Message += stays
		return out, nil
	case torn.Failed:
		out := pipeline.Outcome{Cause: v1alpha1.CauseCloud}
		if run != nil {
			out.Left = run.LeftBehind
		}
		return out, pipeline.Refused(errors.New(failed(s.Cluster, run)))
	case run == nil:
		return pipeline.Wait(after, v1alpha1.CauseInfrared, "The destroy is being prepared."), nil
	case run.Action != v1alpha1.ActionDestroy:
		return pipeline.Wait(after, v1alpha1.CauseCloud, fmt.Sprintf(
			"The %s that was going when the deletion began is waited for, and not cut off: %s.", run.Action, run.Log())), nil
	case run.Phase == v1alpha1.RunWaitingForCredentials, run.Reason == v1alpha1.ReasonStateLocked:
		return pipeline.Ask(after, run.Message), nil
	case run.Phase == v1alpha1.RunRunning:
		return pipeline.Wait(after, v1alpha1.CauseCloud, sentence(cmp.Or(run.Message, "OpenTofu destroys what it built"))+" Its log: "+run.Log()+"."), nil
	}
	return pipeline.Wait(after, v1alpha1.CauseInfrared, cmp.Or(run.Message, "The destroy is being prepared.")), nil
}

// staying says that the cloud's credentials, where a person made their Secret, are still there; empty: they are not. Infrared has no word
// on whether they are needed elsewhere.
func staying(ctx context.Context, s *Scope) (string, error) {
	if p := s.Cluster.Spec.Provision; s.Cluster.Spec.Org != "" || p != nil && p.CloudAccount != "" {
		return "", nil // none that a person made was used
	}
	var secret metav1.PartialObjectMetadata
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := types.NamespacedName{Namespace: v1alpha1.Namespace, Name: v1alpha1.CredentialsSecretName(s.Cluster.Name)}
	switch err := s.Live.Get(ctx, key, &secret); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at Secret %s: %w", key, err)
	case owned.Others(&secret, s.Cluster):
		return "", nil
	}
	return fmt.Sprintf(" Secret %s with the cloud's credentials is yours, and stays. If nothing else needs it: kubectl -n %s delete secret %s",
		key, key.Namespace, key.Name), nil
}

// destroyed is the end of a destroy that did what it was to do.
func destroyed(run *v1alpha1.RunStatus) pipeline.Outcome {
	out := pipeline.Done("All that was built is destroyed.")
	if run == nil {
		return out
	}
	if out.Left = run.LeftBehind; len(out.Left) > 0 {
		out.Message = "All that OpenTofu's state lists is destroyed. What a run made besides, and no state knows, is listed under leftBehind: delete it in the cloud."
	}
	return out
}

// failed says why a destroy failed, where to read on, and how it is run again.
func failed(cluster *v1alpha1.Cluster, run *v1alpha1.RunStatus) string {
	message := "The destroy failed."
	if run != nil {
		message = sentence(cmp.Or(run.Message, message))
		if log := run.Log(); log != "" {
			message += " Its log: " + log + "."
		}
	}
	return fmt.Sprintf("%s Put right what it names, then run the destroy again: kubectl annotate cluster %s %s=%s/%s %s=<your user name>",
		message, cluster.Name, v1alpha1.AnnotationForce, cluster.Name, StepDestroy, v1alpha1.AnnotationForceBy)
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if text == "" || text[len(text)-1] == '.' {
		return text
	}
	return text + "."
}

var _ Builder = (*build.Builder)(nil)
