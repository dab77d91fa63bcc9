// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"strings"
	"time"
)

// recipe is the way out wherever a user holds no credential that can be stored.
const recipe = "give a ServiceAccount token or a client certificate inline. For a token: " +
	"kubectl -n kube-system create serviceaccount infrared && " +
	"kubectl create clusterrolebinding infrared --clusterrole=cluster-admin --serviceaccount=kube-system:infrared && " +
	"kubectl -n kube-system create token infrared --duration=8760h; put what it prints into token, and remove the rest of the user"

// readUser judges the chosen user and copies its credential into c.
func readUser(o object, c *Config, now time.Time) error {
	if err := checkUserRefused(o); err != nil {
		return err
	}
	token, err := readToken(o)
	if err != nil {
		return err
	}
	c.Token = NewSecret(token)
	if err := readCertificate(o, c, now); err != nil {
		return err
	}
	if c.Token.IsZero() && len(c.ClientCertData) == 0 {
		return noCredential(o)
	}
	return nil
}

// checkUserRefused refuses every way to sign in that needs a program, a file or another identity. A plugin is refused
// even where a token stands beside it: that token is what the plugin printed last, and short-lived.
func checkUserRefused(o object) error {
	switch {
	case o.has("exec"):
		return refuse(o.at("exec"), ReasonExec, "an exec plugin is a program that would have to run here; %s", recipe)
	case o.has("auth-provider"):
		return refuse(o.at("auth-provider"), ReasonAuthProvider, "an auth-provider is a plugin of the kubectl it was written for; %s", recipe)
	case o.isSet("tokenFile"):
		return refuse(o.at("tokenFile"), ReasonFile, "names a file on another machine; put the token itself inline, into token")
	case o.isSet("client-certificate"):
		return refuse(o.at("client-certificate"), ReasonFile,
			"names a file on another machine; put its content inline, in client-certificate-data: %s", flatten)
	case o.isSet("client-key"):
		return refuse(o.at("client-key"), ReasonFile,
			"names a file on another machine; put its content inline, in client-key-data: %s", flatten)
	case o.isSet("username"):
		return refuse(o.at("username"), ReasonBasicAuth, "API servers no longer take a user name and password; %s", recipe)
	case o.isSet("password"):
		return refuse(o.at("password"), ReasonBasicAuth, "API servers no longer take a user name and password; %s", recipe)
	}
	for _, field := range []string{"as", "as-uid", "as-groups", "as-user-extra"} {
		if o.isSet(field) {
			return refuse(o.at(field), ReasonImpersonation,
				"acting as somebody else is not taken over, as Argo CD could not do it; remove it and give the credential of the account itself")
		}
	}
	return nil
}

// readToken returns the bearer token, without blanks around it; "" where there is none.
func readToken(o object) (string, error) {
	token, err := o.text("token")
	if err != nil {
		return "", err
	}
	token = strings.TrimSpace(token)
	for _, r := range token {
		// A header can't hold these, and a token with a blank is usually two things pasted as one.
		if r <= ' ' || r > '~' {
			return "", refuse(o.at("token"), ReasonToken, "holds a blank or a character that no token has; put the bare token there, in one line")
		}
	}
	return token, nil
}

func noCredential(o object) *Error {
	if o.has("token") {
		return refuse(o.at("token"), ReasonNoCredential, "is empty; %s", recipe)
	}
	return refuse(o.path, ReasonNoCredential, "holds no credential; %s", recipe)
}
