// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// In the folder are
//
//	things/<kind>.<name>.json  a thing
//	writes.log                 a line of JSON a write
//	faults.json                what is wrong with the cloud
const (
	thingsFolder = "things"
	writesFile   = "writes.log"
	faultsFile   = "faults.json"
	partial      = ".part" // a file that is being written, and no file yet
)

// load reads the folder. What was being written when the cloud was killed was not written.
func (c *Cloud) load() error {
	things := filepath.Join(c.options.Folder, thingsFolder)
	if err := os.MkdirAll(things, 0o700); err != nil {
		return fmt.Errorf("making the cloud's folder: %w", err)
	}
	entries, err := os.ReadDir(things)
	if err != nil {
		return fmt.Errorf("reading the cloud's folder: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(things, entry.Name())
		if strings.HasSuffix(path, partial) {
			_ = os.Remove(path)
			continue
		}
		var k kept
		if err := readJSON(path, &k.Thing); err != nil {
			return err
		}
		c.things[k.ID] = &k
	}
	if err := readJSON(filepath.Join(c.options.Folder, faultsFile), &c.faults); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.loadWrites()
}

func (c *Cloud) loadWrites() error {
	text, err := os.ReadFile(filepath.Join(c.options.Folder, writesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the log of writes: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var w Write
		// A line that was cut off is of a write that nobody was told of.
		if json.Unmarshal([]byte(line), &w) == nil {
			c.writes = append(c.writes, w)
		}
	}
	return nil
}

// save keeps a thing. It needs the lock.
func (c *Cloud) save(k *kept) error {
	if err := writeJSON(c.path(k.ID), k.Thing); err != nil {
		return err
	}
	c.things[k.ID] = k
	return nil
}

// drop forgets a thing. It needs the lock.
func (c *Cloud) drop(id string) error {
	if err := os.Remove(c.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", id, err)
	}
	delete(c.things, id)
	return nil
}

// note adds a line to the log of writes. It needs the lock.
func (c *Cloud) note(w Write) error {
	text, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("writing the log of writes: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.options.Folder, writesFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the log of writes: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing the log of writes: %w", err)
	}
	c.writes = append(c.writes, w)
	return nil
}

// path is a thing's file. Kinds and names have no slashes and no dots.
func (c *Cloud) path(id string) string {
	return filepath.Join(c.options.Folder, thingsFolder, strings.ReplaceAll(id, "/", ".")+".json")
}

// Things lists all that is there in truth, sorted by ID, past the API and without being a look.
func (c *Cloud) Things() []Thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Thing
	for _, id := range slices.Sorted(maps.Keys(c.things)) {
		all = append(all, c.things[id].copy())
	}
	return all
}

// Add puts a thing into the cloud, past the API and its log. A state that is missing is available.
func (c *Cloud) Add(kind, name string, s Spec) (Thing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &kept{Thing: Thing{ID: kind + "/" + name, Kind: kind, Name: name, Spec: s, State: StateAvailable, Version: 1}}
	if err := c.save(k); err != nil {
		return Thing{}, err
	}
	return k.copy(), nil
}

// Remove takes things away at once, past the API and its log. What is not there is no matter.
func (c *Cloud) Remove(ids ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if err := c.drop(id); err != nil {
			return err
		}
	}
	return nil
}

// Writes lists what was made, changed and deleted through the API, in order. That a thing settles is no write.
func (c *Cloud) Writes() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes)
}

func (k *kept) copy() Thing {
	t := k.Thing
	t.Labels, t.Properties = maps.Clone(t.Labels), maps.Clone(t.Properties)
	return t
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	return nil
}

// writeJSON replaces a file as a whole, so that a kill leaves the old one or the new one.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	f, err := os.OpenFile(path+partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+partial, path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(path), err)
	}
	return nil
}
