// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/core/api/v1alpha1"
	"darkshift.io/infrared/core/build/run"
	"darkshift.io/infrared/core/owned"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

// compose is what a run is to do, checked as far as that can be done before it begins; a stop says what is wrong.
func (b *Builder) compose(ctx context.Context, c *v1alpha1.Cluster, w *world, id identity) (*run.Order, Found, *stop, error) {
	found, stands, err := b.find(ctx, c)
	if err != nil || stands != nil {
		return nil, found, stands, err
	}
	var order *run.Order
	if id.Action == v1alpha1.ActionDestroy {
		order, err = b.undo(ctx, c, w, found)
	} else {
		order, err = b.fromSpec(c, found)
	}
	var wrong *provider.Error
	if errors.As(err, &wrong) && wrong.Kind == provider.Invalid {
		return nil, found, failed(v1alpha1.ReasonInvalidSpec, "%s: %s", inSpec(wrong.Field), wrong.Message), nil
	}
	if stands := broken(err); stands != nil {
		return nil, found, stands, nil
	}
	if err != nil {
		return nil, found, nil, err
	}
	order.Action = provider.Action(id.Action)
	order.Labels = owned.Labels(c)
	order.Plugin, order.PluginSHA256, order.Template = found.Binary, found.SHA256, found.Template.Name
	order.Digest, order.DigestExpires, order.Approved, order.Guarded = "", time.Time{}, "", nil
	if id.Action != v1alpha1.ActionDestroy {
		order.Approved = id.Approved
		// The template's list is of the template's own module. In another one everything is guarded.
		if provision(c).Source == "" {
			order.Guarded = found.Template.Guarded
		}
	}
	order.Image = cmp.Or(order.Image, b.TofuImage)
	// A ledger that is lost knows of nothing that runs made.
	order.Interrupted = w.interrupted(c) || c.Status.Built != nil && w.ledger.Applied == nil
	return order, found, nil, nil
}

// find finds the plugin and its template.
func (b *Builder) find(ctx context.Context, c *v1alpha1.Cluster) (Found, *stop, error) {
	module := c.Spec.Template.Module
	cloud, _, _ := strings.Cut(module, "/")
	found, err := b.Templates.Template(ctx, cloud, module)
	if err != nil {
		return found, nil, fmt.Errorf("looking for template %q: %w", module, err)
	}
	var s *stop
	switch {
	case found.Provider == "":
		s = failed(v1alpha1.ReasonProviderUnavailable, "spec.template.module: no Provider is for %q, so nothing can build %s. Install one: kubectl get providers shows those there are.", cloud, module)
	case !found.Healthy:
		s = failed(v1alpha1.ReasonProviderUnavailable, "Provider %s does not run, and the run waits for it: %s", found.Provider, found.Why)
	case found.Template == nil:
		var names []string
		for _, t := range found.Facts.Templates {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		has := "it has none"
		if len(names) > 0 {
			has = "it has " + strings.Join(names, ", ")
		}
		return found, failed(v1alpha1.ReasonInvalidSpec, "spec.template.module: Provider %s has no template %s: %s", found.Provider, module, has), nil
	}
	if s != nil {
		s.after = lookAgain
	}
	return found, s, nil
}

// fromSpec is what the Cluster asks for. What is wrong with it is Invalid, with the field.
func (b *Builder) fromSpec(c *v1alpha1.Cluster, found Found) (*run.Order, error) {
	p := provision(c)
	if err := allowedName(c.Name, found.Facts.Names); err != nil {
		return nil, err
	}
	if err := tofu.CheckVersion(c.Spec.Template.Version); err != nil {
		return nil, err
	}
	if c.Spec.Org != "" && p.Image != "" {
		return nil, provider.Invalidf("image", "an org's own cluster may not name the image that its runs use, for the image runs with the run's rights: leave image out")
	}
	source, err := b.source(c, p, found)
	if err != nil {
		return nil, err
	}
	values, err := variables(c, p, *found.Template)
	if err != nil {
		return nil, err
	}
	region := c.Spec.Region
	if region == "" {
		region = string(p.Variables[variableRegion])
	}
	return &run.Order{
		Cluster: provider.Cluster{
			Name: c.Name, Incarnation: c.Spec.Incarnation, Org: c.Spec.Org, Region: region, Template: c.Spec.Template.Module,
		},
		Version: c.Spec.Template.Version, Source: source, Variables: values, Image: p.Image,
	}, nil
}

// allowedName refuses a name that the cloud would refuse later, when half is built.
func allowedName(name string, rules []provider.NameRule) error {
	for _, rule := range rules {
		long := rule.MaxLength > 0 && len(name) > int(rule.MaxLength)
		shape, err := regexp.Compile(`^(?:` + rule.Pattern + `)$`)
		odd := rule.Pattern != "" && err == nil && !shape.MatchString(name)
		if long || odd {
			return provider.Invalidf("metadata.name", "can't be the name of %s: %s Make the Cluster anew under another name.", rule.What, sentence(rule.Why))
		}
	}
	return nil
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimRight(text, ". ") + "." }

// source is where the run gets its module from; "": it is the plugin's own.
func (b *Builder) source(c *v1alpha1.Cluster, p v1alpha1.Provision, found Found) (string, error) {
	version := c.Spec.Template.Version
	if p.Source != "" {
		source, err := tofu.ParseSource(p.Source)
		if err == nil && c.Spec.Org != "" && !b.orgMayUse(source) {
			err = provider.Invalidf("source", "%s/%s is not among the sources that an org's own cluster may use: leave source out, or ask the platform's people to allow it", source.Host, source.Path)
		}
		return p.Source, err
	}
	if b.ModulesURL != "" {
		address := strings.NewReplacer("{module}", c.Spec.Template.Module, "{version}", version).Replace(b.ModulesURL)
		source, err := tofu.ParseSource(address)
		if err != nil {
			return "", fmt.Errorf("reading the operator's address of the modules: %w", err)
		}
		return source.At(version).String(), nil
	}
	if version != found.Facts.Version {
		return "", provider.Invalidf("version", "is %s, but Provider %s has its templates at %s only: use that, or name a source", version, found.Provider, found.Facts.Version)
	}
	return "", nil
}

// orgMayUse says whether a module may be run for an org's own cluster.
func (b *Builder) orgMayUse(source tofu.Source) bool {
	allowed := slices.Clone(b.OrgSources)
	if modules, err := tofu.ParseSource(strings.NewReplacer("{module}", "x/x", "{version}", "v0").Replace(b.ModulesURL)); err == nil {
		allowed = append(allowed, tofu.Allowed{Host: modules.Host, Path: modules.Path})
	}
	return slices.ContainsFunc(allowed, func(a tofu.Allowed) bool {
		path := strings.Trim(a.Path, "/")
		inside := path == "" || source.Path == path || strings.HasPrefix(source.Path, path+"/")
		return strings.EqualFold(a.Host, source.Host) && inside
	})
}

// Inputs of a template that mean the same in every template.
const (
	variableName   = "name"
	variableRegion = "region"
	variableLabels = "labels"
)

// properties reads the names of a template's inputs.
func properties(schema json.RawMessage) (names map[string]bool, err error) {
	var read struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &read); err != nil {
		return nil, fmt.Errorf("reading the template's schema: %w", err)
	}
	names = map[string]bool{}
	for name := range read.Properties {
		names[name] = true
	}
	return names, nil
}

// variables are the template's inputs. The name is the Cluster's where none is given, and so is the region: else the cluster would be
// built at the template's default, and looked for elsewhere.
func variables(c *v1alpha1.Cluster, p v1alpha1.Provision, t provider.Template) (map[string]json.RawMessage, error) {
	has, err := properties(t.Variables)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for name, text := range p.Variables {
		texts[name] = string(text)
	}
	if given, found := texts[variableRegion]; found && c.Spec.Region != "" && given != c.Spec.Region {
		return nil, provider.Invalidf("variables."+variableRegion, "is %s, but spec.region is %s: a cluster is in one region", given, c.Spec.Region)
	}
	defaults := map[string]string{variableName: c.Name, variableRegion: c.Spec.Region}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, given := texts[name]; !given && has[name] && defaults[name] != "" {
			texts[name] = defaults[name]
		}
	}
	// The plugin puts our labels in. They stand there for the check, since a template may ask for them.
	_, given := texts[variableLabels]
	if !given && has[variableLabels] {
		ours, err := json.Marshal(owned.Labels(c))
		if err != nil {
			return nil, fmt.Errorf("writing the labels: %w", err)
		}
		texts[variableLabels] = string(ours)
	}
	values, err := tofu.Variables(t.Variables, texts)
	if !given {
		delete(values, variableLabels)
	}
	return values, err
}
