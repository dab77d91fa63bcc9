// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"darkshift.io/infrared/sdk/provider"
)

// A plan's digest is 64 hexadecimal digits: four hashes of 16 each, so that a digest alone tells what has moved since.
const quarter = 16

// quarters are what the parts of a digest stand for, in their order.
func quarters() []string {
	return []string{"the module or its version", "the variables", "the state", "what would change"}
}

// digest names exactly these changes to exactly this state by exactly this module.
func (r *run) digest(s state, shown *tfjson.Plan) (string, error) {
	premises, err := r.premises(s)
	if err != nil {
		return "", err
	}
	changes, err := hashOf(normalised(shown))
	return premises + changes, err
}

// premises are the first three quarters: all that a plan is made from.
func (r *run) premises(s state) (string, error) {
	var text strings.Builder
	for _, part := range []any{
		[]any{r.source.String(), r.req.Version, r.module},
		r.variables,
		[]any{s.Lineage, s.Serial},
	} {
		hash, err := hashOf(part)
		if err != nil {
			return "", err
		}
		text.WriteString(hash)
	}
	return text.String(), nil
}

// hashOf is one quarter: the hash of a value as JSON, in which the order of names and the blanks do not count.
func hashOf(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("hashing the plan: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return "", fmt.Errorf("hashing the plan: %w", err)
	}
	if text, err = json.Marshal(plain); err != nil {
		return "", fmt.Errorf("hashing the plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:quarter], nil
}

// normalised is what a plan changes, in an order that does not depend on OpenTofu's.
func normalised(shown *tfjson.Plan) any {
	changes := slices.DeleteFunc(slices.Clone(shown.ResourceChanges), func(c *tfjson.ResourceChange) bool {
		return c.Change == nil || c.Change.Actions.NoOp() && c.Change.Importing == nil
	})
	slices.SortFunc(changes, func(a, b *tfjson.ResourceChange) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.DeposedKey, b.DeposedKey))
	})
	return []any{changes, shown.OutputChanges}
}

// moved lists what differs between two digests, or between one and the first quarters of another.
func moved(was, is string) []string {
	var names []string
	for i, name := range quarters() {
		from, to := i*quarter, (i+1)*quarter
		if len(is) >= to && (len(was) < to || was[from:to] != is[from:to]) {
			names = append(names, name)
		}
	}
	return names
}

// agreed is the plan that a person saw, or whatever is needed where nobody asked for one in particular.
func (r *run) agreed(ctx context.Context, s state) (plan, error) {
	if r.req.PlanDigest == "" {
		return r.makePlan(ctx, s)
	}
	if len(r.req.PlanDigest) != 4*quarter || strings.Trim(r.req.PlanDigest, "0123456789abcdef") != "" {
		// It may be another version's, whose plan nobody can hold against this one.
		return plan{}, provider.Errorf(provider.Conflict, "the plan's digest is none that this plugin makes, of %d digits 0-9a-f: plan again", 4*quarter)
	}
	premises, err := r.premises(s)
	if err != nil {
		return plan{}, err
	}
	if names := moved(r.req.PlanDigest, premises); len(names) > 0 {
		return plan{}, stale(names)
	}
	// Without the plan itself the same one is made again: it may only be applied if it comes out the same.
	read := r.makePlan
	if !r.req.Plan.IsZero() {
		read = r.readPlan
	}
	p, err := read(ctx, s)
	if err != nil {
		return plan{}, err
	}
	if names := moved(r.req.PlanDigest, p.digest); len(names) > 0 {
		return plan{}, stale(names)
	}
	return p, nil
}

func stale(names []string) error {
	return provider.Errorf(provider.Conflict, "the plan is no longer what would happen, for this has changed since: %s; plan again", strings.Join(names, ", "))
}

// maxPlan is how large a packed plan may be, so that it fits into a Secret.
const maxPlan = 900 << 10

// pack is the plan in the file, with the lock file by which its providers were chosen; the zero Secret where it is too large.
func (r *run) pack() (provider.Secret, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, path := range []string{r.folder.plan, filepath.Join(r.dir, lockFile)} {
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && filepath.Base(path) == lockFile {
			continue
		}
		if err == nil {
			err = archive.WriteHeader(&tar.Header{Name: filepath.Base(path), Mode: 0o600, Size: int64(len(content))})
		}
		if err == nil {
			_, err = archive.Write(content)
		}
		if err != nil {
			return provider.Secret{}, fmt.Errorf("saving the plan: %w", err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return provider.Secret{}, fmt.Errorf("saving the plan: %w", err)
	}
	if packed.Len() > maxPlan {
		r.say(provider.EventWarning, "the plan is too large to be kept: the apply plans again, and goes on only if it comes out the same")
		return provider.Secret{}, nil
	}
	return provider.NewSecret(packed.String()), nil
}

// maxUnpacked bounds what a packed plan may become.
const maxUnpacked = 256 << 20

// unpack reads what pack has written.
func unpack(packed provider.Secret) (plan, lock []byte, err error) {
	if packed.IsZero() {
		return nil, nil, nil
	}
	broken := provider.Invalidf("plan", "is no saved plan")
	zipped, err := gzip.NewReader(strings.NewReader(packed.Reveal()))
	if err != nil {
		return nil, nil, broken
	}
	archive := tar.NewReader(io.LimitReader(zipped, maxUnpacked))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, broken
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, nil, broken
		}
		if header.Name == lockFile {
			lock = content
		} else {
			plan = content
		}
	}
	if len(plan) == 0 {
		return nil, nil, broken
	}
	return plan, lock, nil
}
