// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"

	goplugin "github.com/hashicorp/go-plugin"
)

// printed is where os.Stdout and os.Stderr pointed before go-plugin.
type printed struct{ stdout, stderr *os.File }

// takeOutput lets the handshake through to out, and only that. go-plugin prints it to os.Stdout, where the author's
// goroutines may be printing at the same moment; their lines go to standard error. Without out nothing is done.
func takeOutput(out *os.File) (printed, error) {
	own := printed{stdout: os.Stdout, stderr: os.Stderr}
	if out == nil {
		return printed{}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return own, fmt.Errorf("making a pipe for the handshake: %w", err)
	}
	go relay(r, out, own.stderr)
	os.Stdout = w
	return own, nil
}

// restore makes os.Stdout and os.Stderr what they were: both end up on standard error. go-plugin has put streams in their
// place which block when the host is slow, and which lose the last lines before an exit. It does so after the handshake
// and before the first call.
func (o printed) restore() {
	if o.stdout != nil {
		os.Stdout, os.Stderr = o.stdout, o.stderr
	}
}

// relay sends the handshake to out, and every other line to rest.
func relay(r io.Reader, out, rest io.Writer) {
	line := regexp.MustCompile(fmt.Sprintf(`%d\|[0-9]+\|unix\|[^|]*\|grpc\|.*\n$`, goplugin.CoreProtocolVersion))
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		// A line longer than the buffer comes in parts, none of which is the handshake.
		text, err := in.ReadSlice('\n')
		if at := line.FindIndex(text); at != nil {
			_, _ = rest.Write(text[:at[0]])
			_, _ = out.Write(text[at[0]:])
			break
		}
		_, _ = rest.Write(text)
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
	_, _ = io.Copy(rest, in)
}
