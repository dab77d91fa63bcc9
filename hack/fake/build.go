// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"darkshift.io/infrared/sdk/fake/httpcloud"
	"darkshift.io/infrared/sdk/fake/module"
	"darkshift.io/infrared/sdk/provider"
	"darkshift.io/infrared/sdk/tofu"
)

// Build runs the module by OpenTofu. What it adds is the cloud's own word: whether the credentials are good before anything is
// begun, where the cluster is once it is built, and what is left of it once it is destroyed.
func (f fake) Build(ctx context.Context, req provider.BuildRequest, r provider.Reporter) (provider.BuildResult, error) {
	if err := checkCluster(req.Cluster); err != nil {
		return provider.BuildResult{}, err
	}
	if req.Cluster.Template != templateName {
		return provider.BuildResult{}, provider.Invalidf("cluster.template", "%q is none of this provider's: use %s", req.Cluster.Template, templateName)
	}
	c, err := open(ctx, req.Credentials)
	if err != nil {
		return provider.BuildResult{}, err
	}
	path, err := toolPath(req.Folder)
	if err != nil {
		return provider.BuildResult{}, err
	}
	env := map[string]string{"PATH": path}
	maps.Copy(env, f.env)
	req.Labels = labels(req.Cluster)
	req.Variables = withRegion(req)
	result, err := tofu.Build(ctx, tofu.Options{
		Schema: schema(), Module: module.FS(), Env: env, Log: os.Stderr,
		Resource: func(t tofu.Thing) (provider.Resource, bool) { return built(req, c.account, t) },
		// A terraform_data has an ID of OpenTofu's own. Imported under the cloud's, it is still known where its input is lost.
		ImportID: func(t tofu.Thing) string { return importID(req.Cluster, t) },
		Replace:  func(t tofu.Thing) string { return c.replace(ctx, req, t) },
		Binary:   f.tofu, LocalState: f.localState,
	}, req, r)
	return c.complete(ctx, req, r, result, err)
}

// toolPath is a PATH in which this program is called fake, whatever its file's name: the module calls it so.
func toolPath(folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		return "", provider.Invalidf("folder", "must be an absolute path")
	}
	program, err := os.Executable()
	bin := filepath.Join(folder, "bin")
	if err == nil {
		err = os.MkdirAll(bin, 0o700)
	}
	link := filepath.Join(bin, "fake")
	if err == nil {
		_ = os.Remove(link)
		err = os.Symlink(program, link)
	}
	if err != nil {
		return "", fmt.Errorf("putting the module's program in place: %w", err)
	}
	return bin + string(filepath.ListSeparator) + os.Getenv("PATH"), nil
}

// withRegion takes the cluster's region where the variables name none.
func withRegion(req provider.BuildRequest) map[string]json.RawMessage {
	variables := maps.Clone(req.Variables)
	if _, given := variables["region"]; !given && req.Cluster.Region != "" {
		if variables == nil {
			variables = map[string]json.RawMessage{}
		}
		variables["region"] = fmt.Appendf(nil, "%q", req.Cluster.Region)
	}
	return variables
}

// built is what one of the module's resources is in the cloud. Of a resource that was only just made, OpenTofu tells no more than its
// address, so that alone has to be enough.
func built(req provider.BuildRequest, account string, t tofu.Thing) (provider.Resource, bool) {
	kind := map[string]string{
		"terraform_data.network": httpcloud.KindNetwork, "terraform_data.cluster": httpcloud.KindCluster,
		"terraform_data.node_group": httpcloud.KindNodeGroup,
	}[t.Address]
	if kind == "" {
		return provider.Resource{}, false
	}
	input, _ := t.Attributes["input"].(map[string]any)
	region, known := input["region"].(string)
	if !known {
		region = wanted(req, "region", defaultRegion)
	}
	name := stem(req.Cluster)
	return provider.Resource{Kind: kind, ID: kind + "/" + name, Name: name, Location: region, Account: account, ConsoleURL: console(kind + "/" + name)}, true
}

// replace is why a thing can't be changed in place. What was imported has no input, and the cloud is asked.
func (c cloud) replace(ctx context.Context, req provider.BuildRequest, t tofu.Thing) string {
	resource, ok := built(req, c.account, t)
	if !ok {
		return ""
	}
	input, _ := t.Attributes["input"].(map[string]any)
	region, known := input["region"].(string)
	properties, _ := input["properties"].(map[string]any)
	title, _ := properties["title"].(string)
	if !known {
		there, err := c.client.Get(ctx, resource.ID, "")
		if err != nil {
			return ""
		}
		region, title = there.Region, there.Properties["title"]
	}
	var why []string
	if title != wanted(req, "name", req.Cluster.Name) {
		why = append(why, "name")
	}
	if region != wanted(req, "region", defaultRegion) {
		why = append(why, "region")
	}
	if len(why) == 0 {
		return ""
	}
	return "because of " + strings.Join(why, ", ")
}

// wanted is a variable that is a text.
func wanted(req provider.BuildRequest, name, otherwise string) string {
	var text string
	if json.Unmarshal(req.Variables[name], &text) != nil {
		return otherwise
	}
	return text
}

// importID is the ID that a thing is imported by: the cloud's.
func importID(of provider.Cluster, t tofu.Thing) string {
	if resource, ok := built(provider.BuildRequest{Cluster: of}, "", t); ok {
		return resource.ID
	}
	return t.ID
}

// lookTime is how long the look after a build may take.
const lookTime = 30 * time.Second

// complete adds to a result what only the cloud knows. It is asked also where ctx has ended.
func (c cloud) complete(ctx context.Context, req provider.BuildRequest, r provider.Reporter, result provider.BuildResult, failed error) (provider.BuildResult, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	result.LeftBehind = slices.DeleteFunc(result.LeftBehind, func(left provider.Resource) bool {
		_, err := c.client.Get(ctx, left.ID, left.Location)
		return errors.Is(err, httpcloud.CodeNotFound)
	})
	switch {
	case failed != nil:
		return result, failed
	case req.Action == provider.ActionApply:
		return result, c.addOutputs(ctx, req.Cluster, &result)
	case req.Action == provider.ActionDestroy:
		return result, c.addLeftBehind(ctx, req.Cluster, r, &result)
	}
	return result, nil
}

// addOutputs says where the cluster is, which no resource of the module could read back.
func (c cloud) addOutputs(ctx context.Context, of provider.Cluster, result *provider.BuildResult) error {
	t, err := c.client.Get(ctx, clusterID(of), "")
	if err != nil {
		return verdict(ctx, fmt.Errorf("asking where the cluster is: %w", err))
	}
	if result.Outputs == nil {
		result.Outputs = map[string]json.RawMessage{}
	}
	for name, text := range map[string]string{"endpoint": t.Endpoint, "ca": t.CA} {
		value, err := json.Marshal(text)
		if err != nil {
			return fmt.Errorf("writing the output %s: %w", name, err)
		}
		result.Outputs[name] = value
	}
	return nil
}

// addLeftBehind lists what a destroy did not take: things with our label that are in no state. It lists them and deletes none of
// them: what no run of this module made may hold somebody's data, and a person decides.
func (c cloud) addLeftBehind(ctx context.Context, of provider.Cluster, r provider.Reporter, result *provider.BuildResult) error {
	things, notLooked, err := c.of(ctx, of)
	if err != nil {
		return err
	}
	for _, part := range notLooked {
		r.Report(provider.Event{Kind: provider.EventWarning, Time: time.Now(), Message: fmt.Sprintf(
			"things of the kind %s in %s may be left behind: %s", part.What, part.Where, part.Why)})
	}
	known := map[string]bool{}
	for _, resource := range slices.Concat(result.Resources, result.LeftBehind) {
		known[resource.ID] = true
	}
	for _, t := range things {
		if !known[t.ID] && t.Kind != httpcloud.KindSnapshot {
			result.LeftBehind = append(result.LeftBehind, c.resource(t, of))
		}
	}
	slices.SortFunc(result.LeftBehind, compareResources)
	return nil
}

// stem is what the names of the cluster's things are, as the module computes it.
func stem(of provider.Cluster) string {
	return of.Name + "-u" + of.Incarnation[:min(8, len(of.Incarnation))]
}

func clusterID(of provider.Cluster) string { return httpcloud.KindCluster + "/" + stem(of) }

func console(id string) string {
	return "https://console.fake.example/" + strings.ReplaceAll(id, "/", "/things/")
}
