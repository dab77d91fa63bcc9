// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package kubelet answers what the API server asks a node: the logs of
// containers. It listens on loopback, and whoever asks shows a certificate of the
// cluster's authority and has the rights that a kubelet demands.
package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Server is the node's own API.
type Server struct {
	// Client asks the API server who may do what.
	Client kubernetes.Interface
	// Node is the node's name.
	Node string
	// Pods finds pods and their logs.
	Pods Pods
}

// Listen opens the port, 0 for any, with a serving certificate of its own when
// cert is nil. clients is the authority of those who may ask, PEM.
func Listen(host string, port int, clients []byte, cert *tls.Certificate, now time.Time) (net.Listener, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(clients) {
		return nil, errors.New("the authority of clients holds no certificate: give one with --client-ca-file")
	}
	if cert == nil {
		made, err := selfSigned(host, now)
		if err != nil {
			return nil, err
		}
		cert = &made
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*cert},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	return tls.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)), config)
}

// selfSigned makes a serving certificate, as a kubelet does that is given none.
func selfSigned(host string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the serving key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(host)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the serving certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Serve answers until ctx ends.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	handler := api.PodHandler(api.PodHandlerConfig{GetContainerLogs: s.logs}, false)
	server := &http.Server{Handler: s.authorised(handler), ReadHeaderTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the node's API: %w", err)
	}
	return nil
}

// authorised lets through who may use the node's proxy subresource, as a kubelet
// does. The certificate has been checked by then.
func (s Server) authorised(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: subject.CommonName, Groups: append(subject.Organization, "system:authenticated"),
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb(r), Version: "v1", Resource: "nodes", Subresource: "proxy", Name: s.Node},
		}}
		answer, err := s.Client.AuthorizationV1().SubjectAccessReviews().Create(r.Context(), review, metav1.CreateOptions{})
		if err != nil {
			http.Error(w, "it can't be found out whether you may", http.StatusServiceUnavailable)
			return
		}
		if !answer.Status.Allowed {
			http.Error(w, fmt.Sprintf("user %q may not use nodes/proxy of this node", subject.CommonName), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func verb(r *http.Request) string {
	if r.Method == http.MethodGet {
		return "get"
	}
	return "create"
}

// lastSegment names a container in messages.
func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
