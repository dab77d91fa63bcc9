// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubelet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"

	"darkshift.io/infrared/hack/node/internal/record"
)

// Pods finds a pod by name, and its folder.
type Pods interface {
	Pod(namespace, name string) (*corev1.Pod, record.Folder, error)
}

// pollEvery is how often a followed log is looked at for more.
const pollEvery = 100 * time.Millisecond

// logs gives what one start of a container printed: the latest, or with previous
// the one before.
func (s Server) logs(ctx context.Context, namespace, pod, container string, opts api.ContainerLogOpts) (io.ReadCloser, error) {
	_, folder, err := s.Pods.Pod(namespace, pod)
	if err != nil {
		return nil, errdefs.AsNotFound(err)
	}
	start, err := which(folder, container, opts.Previous)
	if err != nil {
		return nil, errdefs.AsNotFound(err)
	}
	file, err := os.Open(folder.Log(container, start))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errdefs.NotFound(fmt.Sprintf("container %q has printed nothing yet", container))
	}
	if err != nil {
		return nil, err
	}
	if err := skip(file, opts.Tail); err != nil {
		file.Close()
		return nil, err
	}
	r, w := io.Pipe()
	go func() {
		defer file.Close()
		c := copier{out: w, opts: opts, left: opts.LimitBytes, since: since(opts)}
		w.CloseWithError(c.copy(ctx, file, func() bool { return !opts.Follow || ended(folder, container, start) }))
	}()
	return r, nil
}

// which start of a container is meant.
func which(folder record.Folder, container string, previous bool) (int, error) {
	c, err := find(folder, container)
	if err != nil {
		return 0, err
	}
	start := int(c.RestartCount)
	// One that waits for its next start is both: the latest, and over.
	if previous && c.State.Waiting == nil {
		start--
	}
	if previous && (start < 0 || c.LastTerminationState.Terminated == nil) {
		return 0, fmt.Errorf("container %q was started once only: there is no previous log", container)
	}
	return start, nil
}

func find(folder record.Folder, container string) (corev1.ContainerStatus, error) {
	status, _, err := folder.Status()
	if err != nil {
		return corev1.ContainerStatus{}, err
	}
	for _, list := range [][]corev1.ContainerStatus{status.Pod.InitContainerStatuses, status.Pod.ContainerStatuses} {
		for _, c := range list {
			if c.Name == container {
				return c, nil
			}
		}
	}
	return corev1.ContainerStatus{}, fmt.Errorf("container %q was not started yet", lastSegment(container))
}

// ended says that a start of a container will print no more.
func ended(folder record.Folder, container string, start int) bool {
	c, err := find(folder, container)
	return err != nil || int(c.RestartCount) > start || c.State.Terminated != nil ||
		c.State.Waiting != nil && c.LastTerminationState.Terminated != nil
}

func since(opts api.ContainerLogOpts) time.Time {
	if opts.SinceSeconds > 0 {
		return time.Now().Add(-time.Duration(opts.SinceSeconds) * time.Second)
	}
	return opts.SinceTime
}

// skip goes to where the last lines begin; 0 means all of them.
func skip(file *os.File, lines int) error {
	if lines <= 0 {
		return nil
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	offset := len(data)
	for n := 0; offset > 0; {
		before := bytes.LastIndexByte(data[:offset-1], '\n') + 1
		// Pieces of a long line count as one, and so do those of a last line without
		// an end.
		if _, _, whole, ok := parse(string(data[before:offset])); ok && (whole || offset == len(data)) {
			if n++; n > lines {
				break
			}
		}
		offset = before
	}
	_, err = file.Seek(int64(offset), io.SeekStart)
	return err
}

// copier turns lines of a log file into what the container printed.
type copier struct {
	out   io.Writer
	opts  api.ContainerLogOpts
	left  int // bytes that may still be written, where there is a limit
	since time.Time
	inner bool // the last line went on
}

// errEnough says that the limit is reached.
var errEnough = errors.New("the limit is reached")

// copy copies until the end of the file at which over says that nothing more will come.
func (c *copier) copy(ctx context.Context, file io.Reader, over func() bool) error {
	lines := bufio.NewReader(file)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	partial, last := "", false
	for {
		line, err := lines.ReadString('\n')
		partial += line
		if err == nil {
			if err := c.line(partial); err != nil {
				return unless(err, errEnough)
			}
			partial = ""
			continue
		}
		if !errors.Is(err, io.EOF) || last {
			return unless(err, io.EOF)
		}
		// Once more after the container has ended, as it may have printed between the
		// end of the file and our question.
		if last = over(); last {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (c *copier) line(line string) error {
	at, text, whole, ok := parse(line)
	if !ok {
		return nil
	}
	if !c.since.IsZero() && earlier(at, c.since) {
		return nil
	}
	if c.opts.Timestamps && !c.inner {
		text = at + " " + text
	}
	c.inner = !whole
	if c.opts.LimitBytes > 0 {
		text = text[:min(len(text), c.left)]
		c.left -= len(text)
	}
	if _, err := io.WriteString(c.out, text); err != nil {
		return err
	}
	if c.opts.LimitBytes > 0 && c.left == 0 {
		return errEnough
	}
	return nil
}

// earlier says whether a line was printed before a time. One whose time can't be
// read counts as earlier.
func earlier(at string, than time.Time) bool {
	t, err := time.Parse(time.RFC3339Nano, at)
	return err != nil || t.Before(than)
}

// parse takes a line of a log file apart. text ends with a line feed when the line
// is whole.
func parse(line string) (at, text string, whole, ok bool) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
	if len(fields) != 4 {
		return "", "", false, false
	}
	text = fields[3]
	if whole = fields[2] == "F"; whole {
		text += "\n"
	}
	return fields[0], text, whole, true
}
