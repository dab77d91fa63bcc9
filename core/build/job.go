// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
)

const (
	// labelApp is on the pods, by which deploy/build selects them all.
	labelApp = "app.kubernetes.io/name"
	appName  = "infrared-build"

	// program is infrared-build in its image; plugins are beside it.
	program = "/usr/local/bin/infrared-build"
	// scratch is the one place that is written to beside the run's own folders.
	scratch = "/tmp"

	// containerInstall copies the programs, containerTofu runs them. The names show in kubectl logs.
	containerInstall, containerTofu = "install", "tofu"

	volumePrograms, volumeWork, volumeScratch, volumeCredentials = "programs", "work", "tmp", "credentials"

	// user is nobody in particular: it owns the volumes by fsGroup.
	user = 65532
	// grace is how long OpenTofu has to write its state and let go of its lock.
	grace = 15 * 60
	// keep is how long a Job stays when it has ended.
	keep = 7 * 24 * 60 * 60
)

// job is the Job of a run. It is tried once: what a second pod would do over an unknown half of a first is a person's to decide.
func (b *Builder) job(c *v1alpha1.Cluster, id identity, record string, found Found, image string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: meta(c, kindJob, id.Job)}
	job.Labels[labelApp] = appName
	job.Annotations = map[string]string{annotationRun: id.text(), annotationRecord: record}
	template := corev1.PodTemplateSpec{Spec: b.pod(c, record, found, image)}
	template.Labels = maps.Clone(owned.Labels(c))
	template.Labels[labelApp] = appName
	template.Annotations = map[string]string{
		annotationRecord: record,
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"kubectl.kubernetes.io/default-container":        containerTofu,
	}
	job.Spec = batchv1.JobSpec{
		BackoffLimit:            ptr.To[int32](0),
		TTLSecondsAfterFinished: ptr.To[int32](keep),
		// A second pod never starts beside one that still winds down, and the Job ends only when its pod has.
		PodReplacementPolicy: ptr.To(batchv1.Failed),
		Template:             template,
	}
	return job
}

func (b *Builder) pod(c *v1alpha1.Cluster, record string, found Found, image string) corev1.PodSpec {
	programs := corev1.VolumeMount{Name: volumePrograms, MountPath: run.Programs}
	temporary := corev1.VolumeMount{Name: volumeScratch, MountPath: scratch}
	return corev1.PodSpec{
		ServiceAccountName:            namesOf(c).Account(),
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: ptr.To[int64](grace),
		EnableServiceLinks:            ptr.To(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](user), RunAsGroup: ptr.To[int64](user), FSGroup: ptr.To[int64](user),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers: []corev1.Container{{
			Name: containerInstall, Image: b.BuildImage, ImagePullPolicy: corev1.PullIfNotPresent,
			Command:                  []string{program, "install", "--plugin", found.Binary},
			Resources:                requests(),
			VolumeMounts:             []corev1.VolumeMount{programs, temporary},
			SecurityContext:          confined(),
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
		Containers: []corev1.Container{{
			Name: containerTofu, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
			Command:   []string{run.Programs + "/infrared-build", "run"},
			Env:       environment(c, record),
			Resources: requests(),
			VolumeMounts: []corev1.VolumeMount{
				readOnly(programs), {Name: volumeWork, MountPath: run.Work}, temporary,
				{Name: volumeCredentials, MountPath: run.Credentials, ReadOnly: true},
			},
			SecurityContext:          confined(),
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
		Volumes: []corev1.Volume{
			empty(volumePrograms), empty(volumeWork), empty(volumeScratch),
			{Name: volumeCredentials, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: v1alpha1.CredentialsSecretName(c.Name), DefaultMode: ptr.To[int32](0o440), Optional: ptr.To(false),
			}}},
		},
	}
}

func readOnly(mount corev1.VolumeMount) corev1.VolumeMount {
	mount.ReadOnly = true
	return mount
}

func empty(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// requests are what a run is placed by. There is no limit: an apply that is killed for want of memory is worse than a full node.
func requests() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
	}}
}

// environment is how infrared-build knows which run it is.
func environment(c *v1alpha1.Cluster, record string) []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
	}
	return []corev1.EnvVar{
		{Name: run.EnvNamespace, Value: v1alpha1.Namespace},
		{Name: run.EnvRecord, Value: record},
		{Name: run.EnvSuffix, Value: namesOf(c).Suffix},
		field(run.EnvJob, "metadata.labels['"+batchv1.JobNameLabel+"']"),
		field(run.EnvJobUID, "metadata.labels['"+batchv1.ControllerUidLabel+"']"),
		field(run.EnvPod, "metadata.name"),
		field(run.EnvPodUID, "metadata.uid"),
		field(run.EnvNode, "spec.nodeName"),
		{Name: "TMPDIR", Value: scratch},
		{Name: "HOME", Value: scratch},
	}
}
