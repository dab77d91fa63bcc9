// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"darkshift.io/infrared/core/build/run"
)

// readPatience is how long the order is waited for while the API server is away, writePatience how long everything that is written
// at the end.
const (
	readPatience  = 2 * time.Minute
	writePatience = 10 * time.Minute
)

// objects are those of the run, all made beforehand by the operator. The run's account may get and update them, and no more.
type objects struct {
	configMaps coreclient.ConfigMapInterface
	secrets    coreclient.SecretInterface
	leases     coordinationclient.LeaseInterface
	names      run.Names
	record     string
	patience   *patience
}

func newObjects(r Run) (*objects, error) {
	config := rest.CopyConfig(r.Config)
	config.QPS = -1 // the server's fairness decides
	config.UserAgent = Program
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the API server: %w", err)
	}
	coordination, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the API server: %w", err)
	}
	return &objects{
		configMaps: core.ConfigMaps(r.Namespace), secrets: core.Secrets(r.Namespace), leases: coordination.Leases(r.Namespace),
		names: r.Names, record: r.Record, patience: &patience{clock: r.Clock},
	}, nil
}

// order is what the run is to do; done is not nil where it was carried out already.
func (o *objects) order(ctx context.Context) (order run.Order, done *run.Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	var record *corev1.ConfigMap
	err = o.patience.try(ctx, func(ctx context.Context) (err error) {
		record, err = o.configMaps.Get(ctx, o.record, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return run.Order{}, nil, err
	}
	if packed := record.BinaryData[run.KeyOutcome]; len(packed) > 0 {
		done = &run.Outcome{}
		return run.Order{}, done, run.Unpack(packed, done)
	}
	packed := record.BinaryData[run.KeyOrder]
	if len(packed) == 0 {
		return run.Order{}, nil, fmt.Errorf("there is no key %s: only infrared-operator starts runs", run.KeyOrder)
	}
	return order, nil, run.Unpack(packed, &order)
}

// changeConfigMap reads one, has it changed, and writes it, again where somebody else was faster. change may be called several times.
func (o *objects) changeConfigMap(ctx context.Context, name string, change func(*corev1.ConfigMap) error) error {
	for {
		err := o.patience.try(ctx, func(ctx context.Context) error {
			object, err := o.configMaps.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if object.BinaryData == nil {
				object.BinaryData = map[string][]byte{}
			}
			if object.Data == nil {
				object.Data = map[string]string{}
			}
			if err := change(object); err != nil {
				return permanently(err)
			}
			_, err = o.configMaps.Update(ctx, object, metav1.UpdateOptions{})
			return err
		})
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

// changeSecret is changeConfigMap for a Secret.
func (o *objects) changeSecret(ctx context.Context, name string, change func(map[string][]byte)) error {
	for {
		err := o.patience.try(ctx, func(ctx context.Context) error {
			object, err := o.secrets.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			before := maps.Clone(object.Data)
			if object.Data == nil {
				object.Data = map[string][]byte{}
			}
			change(object.Data)
			if sameData(before, object.Data) {
				return nil
			}
			_, err = o.secrets.Update(ctx, object, metav1.UpdateOptions{})
			return err
		})
		if !apierrors.IsConflict(err) || ctx.Err() != nil {
			return err
		}
	}
}

func sameData(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
}

// permanently makes an error of our own one that no waiting mends.
func permanently(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: 422, Message: err.Error()}}
}
