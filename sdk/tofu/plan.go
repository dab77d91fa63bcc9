// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package tofu

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"

	"darkshift.io/infrared/sdk/provider"
)

// plan is a plan in the file folder.plan.
type plan struct {
	changes []provider.Change
	digest  string
	any     bool // there is something to apply, be it an output only
}

// makePlan plans into the file, and reports what it would do.
func (r *run) makePlan(ctx context.Context, s state) (plan, error) {
	options := []tfexec.PlanOption{tfexec.Out(r.folder.plan), tfexec.VarFile(r.folder.variables)}
	if r.req.Action == provider.ActionDestroy {
		options = append(options, tfexec.Destroy(true))
	} else {
		for _, address := range slices.Sorted(maps.Keys(r.replaced(s))) {
			options = append(options, tfexec.Replace(address))
		}
	}
	err := r.command(ctx, call{
		step: "planning", dir: r.dir, data: r.folder.data, show: true,
		do: func(ctx context.Context, tf *tfexec.Terraform) error {
			_, err := tf.Plan(ctx, options...)
			return err
		},
	})
	if err != nil {
		return plan{}, err
	}
	return r.readPlan(ctx, s)
}

// replaced are the addresses of things that the plugin wants to be made anew, each with why.
func (r *run) replaced(s state) map[string]string {
	all := map[string]string{}
	if r.o.Replace == nil {
		return all
	}
	for _, thing := range s.things() {
		if why := r.o.Replace(thing); why != "" {
			all[thing.Address] = why
		}
	}
	return all
}

// readPlan reads the plan in the file.
func (r *run) readPlan(ctx context.Context, s state) (plan, error) {
	var shown *tfjson.Plan
	err := r.command(ctx, call{
		step: "reading the plan", dir: r.dir, data: r.folder.data,
		do: func(ctx context.Context, tf *tfexec.Terraform) (err error) {
			shown, err = tf.ShowPlanFile(ctx, r.folder.plan, tfexec.JSONNumber(true))
			return err
		},
	})
	if err != nil {
		return plan{}, err
	}
	if err := r.checkDeclared(shown); err != nil {
		return plan{}, err
	}
	p := plan{changes: changesOf(shown, r.replaced(s))}
	p.any = len(p.changes) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(shown.OutputChanges)), func(c *tfjson.Change) bool { return !c.Actions.NoOp() })
	if p.digest, err = r.digest(s, shown); err != nil {
		return plan{}, err
	}
	r.tell(p)
	return p, nil
}

// checkDeclared refuses a variable that the module does not have. OpenTofu only warns, and goes on without a value that may
// have been to close an API.
func (r *run) checkDeclared(shown *tfjson.Plan) error {
	if shown.Config == nil || shown.Config.RootModule == nil {
		return nil
	}
	declared := shown.Config.RootModule.Variables
	for _, name := range slices.Sorted(maps.Keys(r.variables)) {
		if declared[name] == nil {
			return unknownInput(name, slices.Sorted(maps.Keys(declared)))
		}
	}
	return nil
}

// tell reports what a plan would do.
func (r *run) tell(p plan) {
	counts := map[provider.Operation]int{}
	for _, change := range p.changes {
		counts[change.Operation]++
		text := fmt.Sprintf("%s: to be %s", change.Address, participle(change.Operation))
		if change.Why != "" {
			text += " (" + change.Why + ")"
		}
		r.report(provider.Event{Kind: provider.EventPlanned, Address: change.Address, Operation: change.Operation, Message: text})
	}
	var parts []string
	for _, operation := range order() {
		if counts[operation] > 0 {
			parts = append(parts, fmt.Sprintf("%d to be %s", counts[operation], participle(operation)))
		}
	}
	switch {
	case len(parts) > 0:
		r.say(provider.EventMessage, "plan: "+strings.Join(parts, ", "))
	case p.any:
		r.say(provider.EventMessage, "plan: only outputs change")
	default:
		r.say(provider.EventMessage, "plan: no changes")
	}
}

// order is that of changes: what destroys something comes first.
func order() []provider.Operation {
	return []provider.Operation{
		provider.OperationReplace, provider.OperationDelete, provider.OperationUpdate, provider.OperationCreate, provider.OperationRead,
	}
}

func participle(o provider.Operation) string {
	switch o {
	case provider.OperationCreate:
		return "created"
	case provider.OperationRead:
		return "read"
	case provider.OperationUpdate:
		return "updated"
	case provider.OperationReplace:
		return "replaced"
	case provider.OperationDelete:
		return "deleted"
	}
	return "changed"
}

// changesOf are the changes of a plan: destructive ones first, then by address.
// Asked says why of those that the plugin wants to be replaced.
func changesOf(shown *tfjson.Plan, asked map[string]string) []provider.Change {
	var changes []provider.Change
	for _, c := range shown.ResourceChanges {
		if c.Change == nil {
			continue
		}
		change := provider.Change{Address: c.Address, Type: c.Type, Why: reason(c)}
		if why := asked[c.Address]; why != "" && c.Change.Actions.Replace() {
			change.Why = why
		}
		switch a := c.Change.Actions; {
		case a.NoOp():
			continue
		case a.Replace():
			change.Operation = provider.OperationReplace
		case a.Delete():
			change.Operation = provider.OperationDelete
		case a.Create():
			change.Operation = provider.OperationCreate
		case a.Read():
			change.Operation = provider.OperationRead
		case a.Update():
			change.Operation = provider.OperationUpdate
		default:
			// Forgetting leaves the thing where it is, with nobody to look after it: as grave as a deletion.
			change.Operation, change.Why = provider.OperationDelete, "only forgotten: it stays where it is, and nobody manages it any more"
		}
		if c.DeposedKey != "" {
			change.Address += " (deposed " + c.DeposedKey + ")"
		}
		changes = append(changes, change)
	}
	slices.SortStableFunc(changes, func(a, b provider.Change) int {
		return cmp.Or(
			-cmp.Compare(rank(a.Operation.Destructive()), rank(b.Operation.Destructive())),
			cmp.Compare(a.Address, b.Address),
		)
	})
	return changes
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// reason is why something is replaced.
func reason(c *tfjson.ResourceChange) string {
	if !c.Change.Actions.Replace() {
		return ""
	}
	var names []string
	for _, path := range c.Change.ReplacePaths {
		steps, _ := path.([]any)
		var name strings.Builder
		for i, step := range steps {
			if text, ok := step.(string); ok && i > 0 {
				name.WriteString("." + text)
			} else if ok {
				name.WriteString(text)
			} else {
				fmt.Fprintf(&name, "[%v]", step)
			}
		}
		names = append(names, name.String())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) > 0:
		return "because of " + strings.Join(names, ", ")
	case c.ActionReason == "replace_because_tainted":
		return provider.WhyUnfinished
	case c.ActionReason == "replace_by_triggers":
		return "because something that it goes with is replaced"
	}
	return ""
}
