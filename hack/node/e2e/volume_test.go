// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func local(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func (s space) secret(name string, data map[string][]byte) {
	s.t.Helper()
	if _, err := s.client.CoreV1().Secrets(s.name).Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s space) configMap(name string, text map[string]string, data map[string][]byte) {
	s.t.Helper()
	if _, err := s.client.CoreV1().ConfigMaps(s.name).Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: text, BinaryData: data}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// odd are bytes that a careless copy changes.
func odd() []byte {
	all := make([]byte, 0, 600)
	for i := range 256 {
		all = append(all, byte(i))
	}
	return append(all, []byte("\r\n\n${X} %{y} \"' \\ \xff\xfe end without line feed")...)
}

func TestVolumesByteForByte(t *testing.T) {
	s := newSpace(t)
	s.secret("sec", map[string][]byte{"odd": odd(), "empty": {}})
	s.configMap("conf", map[string]string{"text": "a\n$(B)\n", "left": "out"}, map[string][]byte{"odd": odd()})
	pod := shellPod("volumes", `cd /in && find . -path '*/..*' -prune -o \( -type f -o -type l \) -print | sort | while read f; do sha256sum "$f"; done; stat -Lc '%a %u %g %n' secret/odd items/sub/deep down/labels token/token`)
	pod.Labels, pod.Annotations = map[string]string{"app": "x", "tier": "back"}, map[string]string{"note": "quo\"te\n"}
	mode, seconds := int32(0o440), int64(1200)
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "sec", DefaultMode: &mode}}},
		{Name: "items", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("conf"), Items: []corev1.KeyToPath{{Key: "odd", Path: "sub/deep"}, {Key: "text", Path: "text"}}}}},
		{Name: "down", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}, {Path: "notes", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations"}}, {Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
		}}}},
		{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{Secret: &corev1.SecretProjection{LocalObjectReference: local("sec"), Items: []corev1.KeyToPath{{Key: "odd", Path: "odd"}}}},
		}}}},
		{Name: "one", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("conf")}}},
	}
	c := &pod.Spec.Containers[0]
	for _, v := range pod.Spec.Volumes[:4] {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/in/" + v.Name})
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "one", MountPath: "/in/single", SubPath: "text"})
	s.create(pod)
	if got := s.until("volumes", ended); got.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("the pod is %s\n%s", describe(got), s.output("volumes"))
	}
	sum := func(data string) string { h := sha256.Sum256([]byte(data)); return hex.EncodeToString(h[:]) }
	want := map[string]string{
		"./secret/odd": sum(string(odd())), "./secret/empty": sum(""), "./items/sub/deep": sum(string(odd())), "./items/text": sum("a\n$(B)\n"),
		"./down/labels": sum("app=\"x\"\ntier=\"back\""), "./down/notes": sum(`note="quo\"te\n"`), "./down/name": sum("volumes"), "./token/odd": sum(string(odd())), "./single": sum("a\n$(B)\n"),
	}
	text := s.output("volumes")
	for name, hash := range want {
		if name == "./items/sub/deep" {
			continue // behind a link to a folder, which find doesn't follow; stat sees it below
		}
		if !strings.Contains(text, hash+"  "+name+"\n") {
			t.Errorf("%s is not byte for byte what it was:\n%s", name, text)
		}
	}
	for _, line := range []string{"440 0 0 secret/odd\n", "644 0 0 items/sub/deep\n", "644 0 0 down/labels\n", "644 0 0 token/token\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("modes and owners lack %q:\n%s", line, text)
		}
	}
}

// The projected token is one that the API server knows, bound to this pod.
func TestToken(t *testing.T) {
	s := newSpace(t)
	pod, _, release := oncePod(t, "token")
	made := s.create(pod)
	s.until("token", inPhase(corev1.PodRunning))
	found, err := filepath.Glob(filepath.Join(s.node.root(), "pods", string(made.UID), "volumes", "kube-api-access-*", "token"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the default token is in %v, %v", found, err)
	}
	token, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.admin)
	config.BearerToken = string(token)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	me, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if user := me.Status.UserInfo; user.Username != "system:serviceaccount:"+s.name+":default" || strings.Join(user.Extra["authentication.kubernetes.io/pod-uid"], "") != string(made.UID) {
		t.Errorf("the token is %+v's", user)
	}
	release()
	s.until("token", ended)
}

func TestChangesReachRunningPods(t *testing.T) {
	s := newSpace(t)
	s.secret("live", map[string][]byte{"word": []byte("old"), "gone": []byte("x")})
	pod := shellPod("live", `cat /in/word; echo; until test "$(cat /in/word)" = new && test ! -e /in/gone && test -e /in/more; do read -t 0.05 x < <(tail -f /dev/null); done; cat /in/word`)
	pod.Spec.Containers[0].Command = []string{"bash"}
	pod.Spec.Volumes = []corev1.Volume{{Name: "live", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "live"}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "live", MountPath: "/in"}}
	s.create(pod)
	eventually(t, func() error {
		text, err := s.logs("live", corev1.PodLogOptions{})
		if err == nil && text != "old\n" {
			err = fmt.Errorf("the pod printed %q", text)
		}
		return err
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "live"}, Data: map[string][]byte{"word": []byte("new"), "more": {}}}
	if _, err := s.client.CoreV1().Secrets(s.name).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := s.until("live", ended); got.Status.Phase != corev1.PodSucceeded || s.output("live") != "old\nnew" {
		t.Errorf("the pod is %s and printed %q", describe(got), s.output("live"))
	}
}

func TestClaim(t *testing.T) {
	s := newSpace(t)
	dir := filepath.Join(t.TempDir(), "made")
	class, gib := "", resource.MustParse("1Gi")
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: gib}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
			ClaimRef:                      &corev1.ObjectReference{Namespace: s.name, Name: "data"},
		},
	}
	if _, err := s.client.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: volume.Spec.AccessModes, StorageClassName: &class, VolumeName: s.name,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: gib}},
	}}
	if _, err := s.client.CoreV1().PersistentVolumeClaims(s.name).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"echo kept > /data/file", "cat /data/file"} {
		pod := shellPod("claim", script)
		user := int64(1234)
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		made := s.create(pod)
		if got := s.until("claim", ended); got.Status.Phase != corev1.PodSucceeded {
			t.Fatalf("the pod is %s: %s", describe(got), s.output("claim"))
		}
		if text := s.output("claim"); script == "cat /data/file" && text != "kept\n" {
			t.Errorf("the second pod found %q in the volume", text)
		}
		s.delete("claim", nil)
		s.gone(s.node, made)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(data) != "kept\n" {
		t.Errorf("the volume's folder holds %q, %v, after both pods are gone", data, err)
	}
}
