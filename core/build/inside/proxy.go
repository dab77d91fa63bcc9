// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"darkshift.io/infrared/sdk/provider"
)

// proxy is the API server that OpenTofu's backend sees: one Secret, its Lease, and a list of that one Secret. Nothing of a request is
// passed on but the state and the lock in it.
type proxy struct {
	objects   *objects
	pod       Pod
	namespace string
	token     string
	server    *http.Server
	url       string
	authority []byte // PEM of the certificate
	decoder   runtime.Decoder
}

// largestBody is how much the proxy reads of a request: the largest state in base64 fits, and more so that one above that is told how large
// it is.
const largestBody = 64 << 20

// startProxy serves on a port of loopback that the system chooses. Whoever starts it calls close.
func startProxy(o *objects, namespace string, pod Pod) (*proxy, error) {
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback for OpenTofu's backend: %w", err)
	}
	certificate, authority, err := newCertificate()
	if err != nil {
		_ = listener.Close()
		return nil, err
	}
	p := &proxy{objects: o, pod: pod, namespace: namespace, token: rand.Text(), url: "https://" + listener.Addr().String(), authority: authority, decoder: decoder}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }()
	return p, nil
}

func (p *proxy) close() { _ = p.server.Close() }

// state is where the backend finds the proxy.
func (p *proxy) state() provider.State {
	return provider.State{Host: p.url, Token: provider.NewSecret(p.token), CA: p.authority, Namespace: p.namespace, Suffix: p.objects.names.Suffix}
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), proxyPatience)
	defer cancel()
	answer, err := p.answer(ctx, r)
	if err == nil {
		respond(w, http.StatusOK, answer)
		return
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
			Message: "the API server that keeps the state did not answer: connection refused or timed out",
		}}
	}
	body := status.Status()
	body.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	code := int(body.Code)
	if code < http.StatusBadRequest {
		code = http.StatusInternalServerError
	}
	respond(w, code, body)
}

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *proxy) answer(ctx context.Context, r *http.Request) (any, error) {
	given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found || subtle.ConstantTimeCompare([]byte(given), []byte(p.token)) != 1 {
		return nil, failure(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "this address is for the OpenTofu of one run, which knows its token")
	}
	secrets := "/api/v1/namespaces/" + p.namespace + "/secrets"
	leases := "/apis/coordination.k8s.io/v1/namespaces/" + p.namespace + "/leases"
	plain := r.URL.RawQuery == ""
	switch {
	case r.Method == http.MethodGet && r.URL.Path == secrets && !r.URL.Query().Has("watch"):
		return p.list(), nil
	case r.Method == http.MethodGet && r.URL.Path == secrets+"/"+p.objects.names.State() && plain:
		return typed(p.objects.readState(ctx))
	case r.Method == http.MethodPut && r.URL.Path == secrets+"/"+p.objects.names.State() && plain:
		return p.putState(ctx, r)
	case r.Method == http.MethodGet && r.URL.Path == leases+"/"+p.objects.names.Lease() && plain:
		return typedLease(p.objects.readLease(ctx))
	case r.Method == http.MethodPut && r.URL.Path == leases+"/"+p.objects.names.Lease() && plain:
		return p.putLease(ctx, r)
	}
	return nil, failure(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
		"a run of OpenTofu may get and update its own state (Secret %s) and lock (Lease %s) in namespace %s, and nothing else",
		p.objects.names.State(), p.objects.names.Lease(), p.namespace))
}

// list is all that tofu init looks for: which states there are. There is one, whatever else is in the namespace.
func (p *proxy) list() any {
	return &corev1.SecretList{
		TypeMeta: metav1.TypeMeta{Kind: "SecretList", APIVersion: "v1"},
		Items: []corev1.Secret{{
			TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: p.objects.names.State(), Namespace: p.namespace, Labels: map[string]string{
				"tfstate": "true", "tfstateSecretSuffix": p.objects.names.Suffix, "tfstateWorkspace": "default",
			}},
		}},
	}
}

func (p *proxy) putState(ctx context.Context, r *http.Request) (any, error) {
	var sent corev1.Secret
	if err := p.read(r, &sent); err != nil {
		return nil, err
	}
	// An empty state would be taken for that of a cluster that was never built. OpenTofu's has a header at least.
	if sent.Name != p.objects.names.State() || len(sent.Data[keyState]) == 0 {
		return nil, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request is not about Secret "+p.objects.names.State()+", or has no state in it")
	}
	return typed(p.objects.writeState(ctx, sent.ResourceVersion, sent.Data[keyState]))
}

func (p *proxy) putLease(ctx context.Context, r *http.Request) (any, error) {
	var sent coordinationv1.Lease
	if err := p.read(r, &sent); err != nil {
		return nil, err
	}
	if sent.Name != p.objects.names.Lease() {
		return nil, failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request is not about Lease "+p.objects.names.Lease())
	}
	return typedLease(p.objects.writeLease(ctx, &sent, p.pod))
}

// typed says of an object what it is, which typed clients leave out.
func typed(secret *corev1.Secret, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	secret.TypeMeta = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}
	return secret, nil
}

func typedLease(lease *coordinationv1.Lease, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	lease.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	return lease, nil
}

// read decodes a request. Its text is never quoted: it holds the state.
func (p *proxy) read(r *http.Request, into runtime.Object) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, largestBody+1))
	if err != nil {
		return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request broke off")
	}
	if len(body) > largestBody {
		return failure(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, fmt.Sprintf(
			"the state is larger than %d MiB, and at most %d KiB compressed can be kept: split the template into several clusters", largestBody>>20, largestState>>10))
	}
	// A body of another kind is decoded as what it is, and leaves into empty.
	if object, _, err := p.decoder.Decode(body, nil, into); err != nil || object != into {
		return failure(http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request is no object of that kind")
	}
	return nil
}

// newDecoder reads the two kinds of object in either form: the backend's two clients send JSON and protobuf.
func newDecoder() (runtime.Decoder, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("reading Kubernetes' objects: %w", err)
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer(), nil
}
