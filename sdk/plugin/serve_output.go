// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	goplugin "github.com/hashicorp/go-plugin"
)

// printed is where os.Stdout and os.Stderr pointed before go-plugin.
type printed struct{ stdout, stderr *os.File }

// takeOutput lets the handshake through to out, and only that, with the plugin's certificate put in. go-plugin prints it to
// os.Stdout, where the author's goroutines may be printing at the same moment; their lines go to standard error. Without out
// nothing is done.
func takeOutput(out *os.File, certificate string) (printed, error) {
	own := printed{stdout: os.Stdout, stderr: os.Stderr}
	if out == nil {
		return printed{}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return own, fmt.Errorf("making a pipe for the handshake: %w", err)
	}
	go relay(r, out, own.stderr, certificate)
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

// relay sends the handshake to out, and every other line to rest. The handshake's sixth field is for the certificate; go-plugin
// fills it only with one of its own.
func relay(r io.Reader, out, rest io.Writer, certificate string) {
	line := regexp.MustCompile(fmt.Sprintf(`(%d\|[0-9]+\|unix\|[^|]*\|grpc\|)([^|]*)(\|.*)?\n$`, goplugin.CoreProtocolVersion))
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		// A line longer than the buffer comes in parts, none of which is the handshake.
		text, err := in.ReadSlice('\n')
		if at := line.FindSubmatchIndex(text); at != nil {
			_, _ = rest.Write(text[:at[0]])
			begin, end := text[at[2]:at[3]], text[at[4]:]
			if at[4] == at[5] {
				begin = append(slices.Clone(begin), certificate...)
			}
			// One write: whoever reads may take what there is.
			_, _ = out.Write(slices.Concat(begin, end))
			break
		}
		_, _ = rest.Write(text)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
	_, _ = io.Copy(rest, in)
}
