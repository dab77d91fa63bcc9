// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Sums remembers the SHA-256 of files, so that a restart of a plugin does not read all of it again. A file is known by device,
// inode, size and both of its times; one that was changed in the last seconds is not remembered, because a file system's
// clock may not tell a later change from that one. The zero value is ready, and is used from many goroutines.
type Sums struct {
	mu   sync.Mutex
	byID map[fileID]string
}

// fileID tells one state of a file from another.
type fileID struct {
	device, inode    uint64
	size             int64
	modified, status time.Time
}

// coarsest is the longest tick among the clocks of the file systems that a binary may lie on.
const coarsest = 2 * time.Second

// remembered is how many files are remembered at most.
const remembered = 256

// of returns the hex SHA-256 of an open file, read from its beginning.
func (s *Sums) of(f *os.File) (string, error) {
	before, known, err := identify(f)
	if err != nil {
		return "", err
	}
	if s != nil && known {
		s.mu.Lock()
		sum, ok := s.byID[before]
		s.mu.Unlock()
		if ok {
			return sum, nil
		}
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return "", fmt.Errorf("reading the binary: %w", err)
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	after, _, err := identify(f)
	if err != nil {
		return "", err
	}
	if s == nil || !known || after != before || time.Since(after.modified) < coarsest || time.Since(after.status) < coarsest {
		return sum, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// An upgrade leaves one old entry behind, so this is never full in practice.
	if len(s.byID) >= remembered {
		s.byID = nil
	}
	if s.byID == nil {
		s.byID = map[fileID]string{}
	}
	s.byID[after] = sum
	return sum, nil
}
