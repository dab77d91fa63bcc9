// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"darkshift.io/infrared/sdk/provider"
)

// The cloud is laid out so:
//
//	things/<zone>/<kind>.<name>.json   a thing; its ID is <zone>/<kind>.<name>
//	keys/<SHA-256 of the key>.json     what a key lets its holder do, and until when
//	roles/<role>.json                  what a role lets who knows its external ID do
//	locks/<incarnation>                held by the build that runs
//	quota                              how many things there may be; no such file: any number
//	busy                               while it is there, every call is refused

// The names of the credentials. The path is no secret, the key is one.
const (
	keyName  = "FOLDER_KEY"
	pathName = "FOLDER_PATH"
)

const (
	kindCluster  = "cluster"
	kindDisk     = "disk"
	kindNode     = "node"
	kindSnapshot = "snapshot"
)

const (
	labelCluster     = "infrared-cluster"
	labelIncarnation = "infrared-cluster-uid"
)

// A key or a role has some of these rights.
const (
	rightLook     = "look"
	rightSnapshot = "snapshot"
	rightBuild    = "build"
)

// zones are where things may be. One whose folder is missing does not answer, which is not to say that it is empty.
func zones() []string { return []string{"north", "south"} }

// errGone is the cloud's own word that there is no such thing.
var errGone = errors.New("there is no such file")

// thing is one thing in the cloud.
type thing struct {
	Kind     string            `json:"kind"`
	Name     string            `json:"name"`
	Zone     string            `json:"zone"`
	Labels   map[string]string `json:"labels,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
	Role     provider.Role     `json:"role,omitempty"`
}

func (t thing) id() string { return t.Zone + "/" + t.Kind + "." + t.Name }

func (t thing) is(of provider.Cluster) bool {
	return t.Labels[labelCluster] == of.Name && t.Labels[labelIncarnation] == of.Incarnation
}

// resource is a thing as Infrared knows things. There is no price list, so there is no price.
func (t thing) resource(account string) provider.Resource {
	return provider.Resource{
		Kind: t.Kind, ID: t.id(), Name: t.Name, Location: t.Zone, Account: account, Role: t.Role,
		Proof: provider.ProofLabel, Why: fmt.Sprintf("label %s=%s", labelIncarnation, t.Labels[labelIncarnation]),
	}
}

// key is what a key lets its holder do.
type key struct {
	Rights []string  `json:"rights"`
	Expiry time.Time `json:"expiry,omitzero"`
	// Cluster is the only incarnation that may be written for; empty: any.
	Cluster string `json:"cluster,omitempty"`
}

// cloud is one call's way into the folder. It is opened from the request and closed with the call.
type cloud struct {
	// root keeps every name within the folder, whatever is in it.
	root *os.Root
	path string
	key  key
}

// open reads the credentials and lets the key be judged by the cloud.
func open(ctx context.Context, credentials provider.Credentials, right string) (*cloud, error) {
	secret := credentials.Values[keyName].Reveal()
	folder := credentials.Values[pathName].Reveal()
	if secret == "" || folder == "" {
		return nil, provider.Errorf(provider.Unauthenticated, "the credentials hold no %s or no %s: add both to the Secret", keyName, pathName)
	}
	c, err := enter(ctx, folder)
	if err != nil {
		return nil, err
	}
	if err := c.judge(secret, right); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// enter opens the folder for nobody in particular.
func enter(ctx context.Context, folder string) (*cloud, error) {
	if ctx.Err() != nil {
		return nil, stopped()
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, provider.Unavailablef(0, "the folder can't be opened: %w", reason(err))
	}
	c := &cloud{root: root, path: folder}
	if _, err := root.Stat("busy"); err == nil {
		c.close()
		return nil, provider.Unavailablef(5*time.Second, "the folder is busy")
	}
	return c, nil
}

func (c *cloud) close() { _ = c.root.Close() }

func (c *cloud) judge(secret, right string) error {
	err := c.read(keyFile(secret), &c.key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return provider.Errorf(provider.Unauthenticated, "the folder does not know the key in %s: give one that is valid", keyName)
	case err != nil:
		return provider.Unavailablef(0, "the folder's keys can't be read: %w", reason(err))
	case !c.key.Expiry.IsZero() && !time.Now().Before(c.key.Expiry):
		return provider.Errorf(provider.Unauthenticated, "the key in %s has expired: make a new one", keyName)
	case !slices.Contains(c.key.Rights, right):
		return provider.Errorf(provider.Denied, "the key in %s lacks the right %q: add it", keyName, right)
	}
	return nil
}

func keyFile(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "keys/" + hex.EncodeToString(sum[:]) + ".json"
}

func stopped() error {
	return provider.Unavailablef(0, "stopped before the folder answered: call again")
}

// reason is an error of the file system without the path, which is the caller's own and says nothing new.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func (c *cloud) read(name string, into any) error {
	text, err := c.root.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func thingFile(id string) string { return "things/" + id + ".json" }

// answers says whether a zone does.
func (c *cloud) answers(ctx context.Context, zone string) error {
	if ctx.Err() != nil {
		return stopped()
	}
	if info, err := c.root.Stat("things/" + zone); err != nil || !info.IsDir() || !slices.Contains(zones(), zone) {
		return provider.Unavailablef(0, "zone %q does not answer", zone)
	}
	return nil
}

// get looks at one thing. errGone is the only error that says that it is gone.
func (c *cloud) get(ctx context.Context, id string) (thing, error) {
	zone, _, _ := strings.Cut(id, "/")
	if err := c.answers(ctx, zone); err != nil {
		return thing{}, err
	}
	var t thing
	err := c.read(thingFile(id), &t)
	if errors.Is(err, fs.ErrNotExist) {
		return thing{}, errGone
	}
	if err != nil {
		return thing{}, provider.Unavailablef(0, "%s can't be read: %w", id, reason(err))
	}
	return t, nil
}

// list gives all things of a zone, sorted by ID. With an error it gives what it could see.
func (c *cloud) list(ctx context.Context, zone string) ([]thing, error) {
	if err := c.answers(ctx, zone); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(c.root.FS(), path.Join("things", zone))
	if err != nil {
		return nil, provider.Unavailablef(0, "zone %q can't be listed: %w", zone, reason(err))
	}
	var all []thing
	for _, entry := range entries {
		t, err := c.get(ctx, zone+"/"+strings.TrimSuffix(entry.Name(), ".json"))
		if errors.Is(err, errGone) {
			continue // it went while the list was read
		}
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
	return all, nil
}

// create makes a thing, or returns the one of that name that is there already. Linking a finished file is what makes two
// calls at once make one thing.
func (c *cloud) create(ctx context.Context, t thing) (thing, error) {
	if err := c.mayWrite(t); err != nil {
		return thing{}, err
	}
	if err := c.answers(ctx, t.Zone); err != nil {
		return thing{}, err
	}
	old, err := c.get(ctx, t.id())
	if errors.Is(err, errGone) {
		if err := c.underQuota(ctx); err != nil {
			return thing{}, err
		}
		err = c.write(thingFile(t.id()), t)
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return thing{}, provider.Unavailablef(0, "%s can't be written: %w", t.id(), reason(err))
		}
		old, err = c.get(ctx, t.id())
	}
	if err != nil {
		return thing{}, err
	}
	if old.Labels[labelIncarnation] != t.Labels[labelIncarnation] {
		return thing{}, provider.Errorf(provider.Conflict, "%s is there and belongs to something else: remove it or choose another name", t.id())
	}
	return old, nil
}

// write makes a file that is there as a whole or not at all. One that is there already is fs.ErrExist.
func (c *cloud) write(name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	draft := "draft-" + rand.Text()
	if err := c.root.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	err = c.root.Link(draft, name)
	return errors.Join(err, c.root.Remove(draft))
}

func (c *cloud) underQuota(ctx context.Context) error {
	text, err := c.root.ReadFile("quota")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return provider.Errorf(provider.Other, "the folder's quota is no number: write one")
	}
	there := 0
	for _, zone := range zones() {
		all, err := c.list(ctx, zone)
		if err != nil {
			return err
		}
		there += len(all)
	}
	if there >= most {
		return provider.Errorf(provider.Quota, "the folder may hold no more than %d things: raise its quota", most)
	}
	return nil
}

// remove takes a thing away. One that is not there is as it should be.
func (c *cloud) remove(ctx context.Context, t thing) error {
	if err := c.mayWrite(t); err != nil {
		return err
	}
	if err := c.answers(ctx, t.Zone); err != nil {
		return err
	}
	if err := c.root.Remove(thingFile(t.id())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return provider.Unavailablef(0, "%s can't be removed: %w", t.id(), reason(err))
	}
	return nil
}

func (c *cloud) mayWrite(t thing) error {
	if c.key.Cluster != "" && c.key.Cluster != t.Labels[labelIncarnation] {
		return provider.Errorf(provider.Denied, "the key in %s is for another cluster: make one for this", keyName)
	}
	return nil
}

// lock lets one build a cluster run at a time. The kernel frees it when the process dies.
func (c *cloud) lock(of provider.Cluster) (unlock func(), err error) {
	file, err := c.root.OpenFile("locks/"+of.Incarnation, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, provider.Unavailablef(0, "the lock can't be taken: %w", reason(err))
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, provider.Errorf(provider.Conflict, "another build of %s runs: wait for it to end", of.Name)
	}
	return func() { file.Close() }, nil
}
