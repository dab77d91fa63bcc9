// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSums(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "binary")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &Sums{}
	sum := func() string {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := s.of(f)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	remembered := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.byID)
	}

	write("one")
	first := sum()
	if want := "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"; first != want {
		t.Errorf("the sum is %s, want %s", first, want)
	}
	if remembered() != 0 {
		t.Error("a file that was changed just now is remembered: its next change may have the same time")
	}
	write("two")
	if sum() == first {
		t.Error("a change at once, of the same length, was not seen")
	}
	write("one")
	deadline := time.Now().Add(20 * time.Second)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for remembered() == 0 {
		if time.Now().After(deadline) {
			t.Fatal("a file that stays as it is, is never remembered")
		}
		<-ticker.C
		if sum() != first {
			t.Fatal("the sum changes by itself")
		}
	}

	// With the old length and the old time of the content; only the time of the inode tells.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write("two")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if sum() == first {
		t.Error("a change that puts the time back was not seen")
	}
}
