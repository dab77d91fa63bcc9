// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// side is before a write reaches the server, or after the server has answered and before anybody learns so.
type side string

const (
	before side = "before"
	after  side = "after"
)

// point is where somebody may be killed.
type point struct {
	stream, write string
	side          side
}

// row is one kill.
type row struct {
	point
	victim, life string
	took         time.Duration
}

// killer sees every write, and kills at those that still need it.
type killer struct {
	world *world

	mu sync.Mutex
	// writes are those of each life, each once, in order.
	writes map[string][]point
	// mortal are the lives that may be killed in.
	mortal map[string]bool
	// known are the points of the life without a kill; extra those that only a life with kills has, where each is killed at once it is seen.
	known, extra map[point]bool
	// todo are the points at which nobody was killed yet, by victims of which each is to be killed there; nil: any one of them.
	todo     map[point]map[string]bool
	rows     []row
	problems []string
	kills    int

	// one kill at a time.
	one sync.Mutex
}

func newKiller() *killer {
	return &killer{
		writes: map[string][]point{}, mortal: map[string]bool{}, known: map[point]bool{}, extra: map[point]bool{}, todo: map[point]map[string]bool{},
	}
}

// watch is called with every request that changes something.
func (k *killer) watch(stream string, r *http.Request, body []byte) (pass bool, answered func() bool) {
	write, life, ok := writeOf(stream, r, body)
	if !ok {
		return true, nil
	}
	k.saw(life, point{stream: stream, write: write})
	if !k.at(life, point{stream, write, before}) {
		return false, nil
	}
	return true, func() bool { return k.at(life, point{stream, write, after}) }
}

func (k *killer) saw(life string, p point) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.writes[life], p) {
		k.writes[life] = append(k.writes[life], p)
	}
	if len(k.known) > 0 && k.mortal[life] && !k.known[p] && !k.extra[p] {
		k.extra[p] = true
		for _, s := range []side{before, after} {
			k.todo[point{p.stream, p.write, s}] = nil
		}
	}
}

// want has somebody killed at every write of a life, on both sides; each of them, where every is true.
func (k *killer) want(life string, every bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.writes[life] {
		k.known[p] = true
		for _, s := range []side{before, after} {
			p.side = s
			k.todo[p] = nil
			if every {
				k.todo[p] = map[string]bool{}
				for _, v := range victims() {
					k.todo[p][v] = true
				}
			}
		}
	}
}

func (k *killer) mayKill(life string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mortal[life] = true
}

// at kills somebody at a point, if that is still to be done, and says whether whoever sent the write lives.
func (k *killer) at(life string, p point) bool {
	if !k.due(life, p) {
		return true
	}
	k.one.Lock()
	defer k.one.Unlock()
	living := podProcesses(life)
	victim := k.choose(p, living)
	if victim == "" {
		return true
	}
	began := time.Now()
	k.kill(victim, living[victim])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows = append(k.rows, row{point: p, victim: victim, life: life, took: time.Since(began)})
	switch p.stream {
	case streamOperator:
		return victim != victimOperator
	default:
		return victim != victimBuild // all that is in the pod dies with its first process
	}
}

func (k *killer) due(life string, p point) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, due := k.todo[p]
	return due && k.mortal[life]
}

// choose picks one of those that live, and takes it off the list. "": it was done meanwhile.
func (k *killer) choose(p point, living map[string]int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	wanted, due := k.todo[p]
	if !due {
		return ""
	}
	var able []string
	for _, v := range victims() {
		alive := living[v] != 0 || v == victimOperator || v == victimNode
		if alive && (wanted == nil || wanted[v]) {
			able = append(able, v)
		}
	}
	best := k.rarest(p.stream, able)
	if p.stream == streamOperator && wanted == nil {
		// Whoever writes dies on one side of each write, somebody else on the other.
		if best = victimOperator; !p.sender() {
			best = k.rarest(p.stream, slices.DeleteFunc(able, func(v string) bool { return v == victimOperator }))
		}
	}
	if best != "" {
		delete(wanted, best)
		if len(wanted) == 0 {
			delete(k.todo, p)
		}
	}
	return best
}

// rarest is the one that was killed least at the writes of a stream. It needs the lock.
func (k *killer) rarest(stream string, of []string) string {
	killed := map[string]int{}
	for _, r := range k.rows {
		if r.stream == stream {
			killed[r.victim]++
		}
	}
	best := ""
	for _, v := range of {
		if best == "" || killed[v] < killed[best] {
			best = v
		}
	}
	return best
}

// sender says on which side of a write its sender is killed: on either side of half of them.
func (p point) sender() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.write))
	return (h.Sum32()&1 == 0) == (p.side == before)
}

func (k *killer) kill(victim string, pid int) {
	var err error
	switch victim {
	case victimOperator:
		err = k.world.operator.kill()
	case victimNode:
		err = k.world.node.kill()
	default:
		err = kill9(pid)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kills++
	if err != nil {
		k.problems = append(k.problems, err.Error())
	}
}

// count is how many were killed so far.
func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// left are the points of the life without a kill at which nobody was killed yet, sorted.
func (k *killer) left() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for p, wanted := range k.todo {
		if k.extra[point{stream: p.stream, write: p.write}] {
			continue
		}
		text := fmt.Sprintf("%s %s: %s", p.side, p.stream, p.write)
		if wanted != nil {
			text += " by killing " + strings.Join(slices.Sorted(maps.Keys(wanted)), ", ")
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// table is a line for each kill, and how often each victim died.
func (k *killer) table() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "N\tSTREAM\tWHEN\tWRITE\tKILLED\tLIFE")
	died := map[string]int{}
	for i, r := range k.rows {
		died[r.victim]++
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", i+1, r.stream, r.side, r.write, r.victim, lifeNumber(r.life))
	}
	_ = w.Flush()
	for _, v := range victims() {
		fmt.Fprintf(&out, "%s killed %d times\n", v, died[v])
	}
	return out.String()
}

// died is how often each victim was killed at a write.
func (k *killer) died() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	died := map[string]int{}
	for _, r := range k.rows {
		died[r.victim]++
	}
	return died
}

func lifeNumber(life string) string {
	_, number, _ := strings.Cut(life, "-")
	return number
}
