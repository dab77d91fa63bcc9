// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"darkshift.io/infrared/sdk/fake/httpcloud"
)

// How long the tool goes on when the cloud asks to wait, and how long it waits in between where the cloud does not say.
const (
	toolPatience = 20 * time.Second
	toolPause    = 100 * time.Millisecond
)

// toolCloud is the cloud of the environment, in which OpenTofu passes the credentials on.
func toolCloud(args []string) (httpcloud.Client, error) {
	c := httpcloud.Client{Endpoint: os.Getenv(endpointName), Token: os.Getenv(tokenName)}
	switch {
	case len(args) != 1:
		return c, errors.New("takes one argument: OpenTofu calls this, from the module's provisioners")
	case c.Endpoint == "" || c.Token == "":
		return c, fmt.Errorf("%s or %s is not in the environment", endpointName, tokenName)
	}
	return c, nil
}

// put makes a thing: its argument is a JSON object with its id, region, labels and properties.
func put(ctx context.Context, args []string) error {
	c, err := toolCloud(args)
	if err != nil {
		return err
	}
	var want struct {
		ID string `json:"id"`
		httpcloud.Spec
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(args[0])))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil {
		return fmt.Errorf("reading what to make: %w", err)
	}
	for name, value := range want.Properties {
		if value == "" {
			delete(want.Properties, name)
		}
	}
	return patiently(ctx, func() error {
		_, err := c.Put(ctx, want.ID, want.Spec)
		return err
	})
}

// remove deletes the thing whose ID is the argument, and returns when it is gone.
func remove(ctx context.Context, args []string) error {
	c, err := toolCloud(args)
	if err != nil {
		return err
	}
	err = patiently(ctx, func() error { return c.Delete(ctx, args[0]) })
	for err == nil {
		if err = wait(ctx, toolPause); err == nil {
			err = patiently(ctx, func() error {
				_, err := c.Get(ctx, args[0], "")
				return err
			})
		}
	}
	if errors.Is(err, httpcloud.CodeNotFound) {
		return nil
	}
	return err
}

// patiently tries again while the cloud is busy, or still deletes what is to be made anew. Its error has the status in the words
// by which sdk/tofu tells what sort of error it is.
func patiently(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	for {
		err := do()
		var e *httpcloud.Error
		if !errors.As(err, &e) {
			return err
		}
		busy := e.Code == httpcloud.CodeThrottled || e.Code == httpcloud.CodeUnavailable || e.Code == httpcloud.CodeInUse
		if !busy || wait(ctx, cmp.Or(e.After, toolPause)) != nil {
			status := e.Code.HTTPStatus()
			return fmt.Errorf("%w [%d] %s", err, status, http.StatusText(status))
		}
	}
}

func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
