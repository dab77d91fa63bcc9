// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// fieldManager is who the manifests' fields belong to on the server.
const fieldManager = "ir-dev"

// applied is an object of the manifests as the server has it now.
type applied struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name          string `json:"name"`
		Namespace     string `json:"namespace"`
		UID           string `json:"uid"`
		Generation    int64  `json:"generation"`
		Deleted       string `json:"deletionTimestamp"`
		ManagedFields []struct {
			Manager string `json:"manager"`
			Time    string `json:"time"`
		} `json:"managedFields"`
	} `json:"metadata"`
}

func (a applied) String() string {
	if a.Metadata.Namespace != "" {
		return fmt.Sprintf("%s %s/%s", a.Kind, a.Metadata.Namespace, a.Metadata.Name)
	}
	return a.Kind + " " + a.Metadata.Name
}

// identity changes when the object is made again and when its spec was changed.
// Kinds without a generation have the time that the server sets when applying
// changed something. With the others that is also set by the first apply after a
// controller wrote the status, as resourceVersion is by the controller.
func (a applied) identity() string {
	text := a.String() + " " + a.Metadata.UID
	if a.Metadata.Generation != 0 {
		return fmt.Sprintf("%s %d", text, a.Metadata.Generation)
	}
	for _, m := range a.Metadata.ManagedFields {
		if m.Manager == fieldManager {
			text += " " + m.Time
		}
	}
	return text
}

// readApplied reads what kubectl apply --output=json printed: one object or a
// List, after any warnings.
func readApplied(output string) ([]applied, error) {
	_, text, found := strings.Cut("\n"+output, "\n{")
	if !found {
		return nil, errors.New("kubectl names nothing that it applied")
	}
	var list struct {
		applied
		Items []applied `json:"items"`
	}
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&list); err != nil {
		return nil, fmt.Errorf("reading what kubectl applied: %w", err)
	}
	if list.Kind != "List" {
		return []applied{list.applied}, nil
	}
	return list.Items, nil
}

// checkStaying refuses what is on its way out: it took the manifest, and will
// be gone all the same.
func checkStaying(objects []applied) error {
	for _, a := range objects {
		if a.Metadata.Deleted != "" {
			return fmt.Errorf("%s is still being deleted: run ir dev up again when it is gone", a)
		}
	}
	return nil
}
