// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser refuses a peer that is another user's process: whoever answers here is given credentials.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("asking whose the socket is: %w", err)
	}
	var peer *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return fmt.Errorf("asking whose the socket is: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("asking whose the socket is: %w", asked)
	}
	if int(peer.Uid) != os.Geteuid() {
		return errors.New("its socket is another user's")
	}
	return nil
}
