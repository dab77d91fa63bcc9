// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// identify says which file in which state f is; known is false where the system can't tell.
func identify(f *os.File) (id fileID, known bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return fileID{}, false, fmt.Errorf("looking at the binary: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false, nil
	}
	return fileID{
		device: stat.Dev, inode: stat.Ino, size: stat.Size,
		modified: time.Unix(stat.Mtim.Unix()), status: time.Unix(stat.Ctim.Unix()),
	}, true, nil
}
