// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"darkshift.io/infrared/core/build/run"
)

const (
	// keyState is where OpenTofu's backend keeps a state, compressed.
	keyState = "tfstate"
	// keyParts is in the head, instead of keyState, where the state is in parts.
	keyParts = "parts"
	// keyPart is in each part.
	keyPart = "part"

	// largestPart is how much one Secret takes: 1 MiB is the API server's limit for all of its values.
	largestPart = 900 << 10
	// largestState is how much all parts take.
	largestState = run.Parts * largestPart
)

// parts is where the head says that a state is.
type parts struct {
	// Set is a or b, Count how many of its parts, from the first.
	Set   string `json:"set"`
	Count int    `json:"count"`
	// SHA256 is that of the whole, in hex.
	SHA256 string `json:"sha256"`
}

// partsOf reads the head; nil: the state, if there is one, is in the head itself.
func partsOf(head *corev1.Secret) (*parts, error) {
	text, found := head.Data[keyParts]
	if !found {
		return nil, nil
	}
	var p parts
	if err := json.Unmarshal(text, &p); err != nil || p.Set != "a" && p.Set != "b" || p.Count < 1 || p.Count > run.Parts {
		return nil, broken(head.Name, "its key "+keyParts+" does not say where the state is")
	}
	return &p, nil
}

// broken is the error of a state that can't be put together.
func broken(name, why string) error {
	return failure(http.StatusInternalServerError, metav1.StatusReasonInternalError, fmt.Sprintf(
		"the state in Secret %s is not whole: %s. Nothing is done with it; put the Secrets %s and %s-* back from one and the same backup", name, why, name, name))
}

// failure is an error as an API server gives it.
func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// readState is the state's Secret as OpenTofu's backend expects it, whole.
func (o *objects) readState(ctx context.Context) (*corev1.Secret, error) {
	for {
		head, err := o.getSecret(ctx, o.names.State())
		if err != nil {
			return nil, err
		}
		state, err := o.joined(ctx, head)
		if err == nil {
			return withState(head, state), nil
		}
		// Somebody may have written between the two looks. If not, it is broken.
		again, againErr := o.getSecret(ctx, o.names.State())
		if againErr != nil || again.ResourceVersion == head.ResourceVersion {
			return nil, err
		}
	}
}

// joined is the state that a head has or names; nil: there is none.
func (o *objects) joined(ctx context.Context, head *corev1.Secret) ([]byte, error) {
	p, err := partsOf(head)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return head.Data[keyState], nil
	}
	var whole []byte
	for i := range p.Count {
		part, err := o.getSecret(ctx, o.names.Part(p.Set, i))
		if apierrors.IsNotFound(err) {
			return nil, broken(head.Name, "the part in Secret "+o.names.Part(p.Set, i)+" is missing")
		}
		if err != nil {
			return nil, err
		}
		whole = append(whole, part.Data[keyPart]...)
	}
	if sum := sha256.Sum256(whole); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, broken(head.Name, "its parts have another checksum than the one that was written down")
	}
	return whole, nil
}

// withState is a head as the backend sees it.
func withState(head *corev1.Secret, state []byte) *corev1.Secret {
	seen := head.DeepCopy()
	seen.Data = nil
	if len(state) > 0 {
		seen.Data = map[string][]byte{keyState: state}
	}
	return seen
}

// writeState writes a state over the version that the writer has seen. A large one goes into the set of parts that the head does not
// name, and then the head is turned to it: whoever dies in between leaves the old state whole.
func (o *objects) writeState(ctx context.Context, seenVersion string, state []byte) (*corev1.Secret, error) {
	head, err := o.getSecret(ctx, o.names.State())
	if err != nil {
		return nil, err
	}
	if seenVersion != "" && seenVersion != head.ResourceVersion {
		return nil, failure(http.StatusConflict, metav1.StatusReasonConflict, fmt.Sprintf(
			"Secret %s was changed by somebody else since this run read it: start the run again", head.Name))
	}
	if len(state) > largestState {
		return nil, failure(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, fmt.Sprintf(
			"the state has %d KiB compressed, and at most %d KiB can be kept: split the template into several clusters, or take large texts out of it",
			len(state)>>10, largestState>>10))
	}
	next := head.DeepCopy()
	next.Data = map[string][]byte{keyState: state}
	if len(state) > largestPart {
		p, err := o.writeParts(ctx, head, state)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("writing where the parts are: %w", err)
		}
		next.Data = map[string][]byte{keyParts: text}
	}
	written, err := o.updateSecret(ctx, next)
	if err != nil {
		return nil, err
	}
	return withState(written, state), nil
}

// writeParts writes the set that the head does not name.
func (o *objects) writeParts(ctx context.Context, head *corev1.Secret, state []byte) (parts, error) {
	set := "a"
	if current, err := partsOf(head); err != nil {
		return parts{}, err
	} else if current != nil && current.Set == "a" {
		set = "b"
	}
	sum := sha256.Sum256(state)
	p := parts{Set: set, SHA256: hex.EncodeToString(sum[:])}
	for rest := state; len(rest) > 0; p.Count++ {
		size := min(len(rest), largestPart)
		part, err := o.getSecret(ctx, o.names.Part(set, p.Count))
		if err != nil {
			return parts{}, err
		}
		part.Data = map[string][]byte{keyPart: rest[:size]}
		if _, err := o.updateSecret(ctx, part); err != nil {
			return parts{}, err
		}
		rest = rest[size:]
	}
	return p, nil
}

func (o *objects) getSecret(ctx context.Context, name string) (secret *corev1.Secret, err error) {
	err = o.patience.try(ctx, func(ctx context.Context) error {
		secret, err = o.secrets.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return secret, err
}

// updateSecret writes one Secret over the version that it was made from. An update whose answer got lost may have been made: the
// conflict that the next try then meets is with ourselves.
func (o *objects) updateSecret(ctx context.Context, secret *corev1.Secret) (written *corev1.Secret, err error) {
	lost := false
	err = o.patience.try(ctx, func(ctx context.Context) error {
		written, err = o.secrets.Update(ctx, secret, metav1.UpdateOptions{})
		if lost && apierrors.IsConflict(err) {
			if now, getErr := o.secrets.Get(ctx, secret.Name, metav1.GetOptions{}); getErr == nil && sameData(now.Data, secret.Data) {
				written = now
				return nil
			}
		}
		lost = lost || err != nil && isOutage(err)
		return err
	})
	return written, err
}
