// Copyright 2026 The Infrared Authors.
// SPDX-License-Identifier: Apache-2.0

// Package module is the fake provider's OpenTofu module: a network, a cluster and a node group in the cloud of
// sdk/fake/httpcloud. It needs no provider of OpenTofu's, so no registry: every resource is a terraform_data, whose provisioners
// call the program fake.
//
// Each thing in the cloud is two resources. The first, such as terraform_data.cluster, stands for the thing: it computes the ID by
// which the cloud knows it, and deletes it when it is destroyed. The second, terraform_data.put_cluster, makes the thing, and makes it
// anew whenever what it should be like has changed. They are two because of kills: the thing is in the state, and was reported as
// made, before the cloud is asked for it. A run that dies in between leaves it in the state, or in the ledger, by which it is imported
// under the same ID; and OpenTofu never calls the provisioner that deletes for a resource whose making it could not finish.
//
// An imported terraform_data knows nothing but its ID, so nothing may rely on more. Any triggers_replace would make the thing anew. So it is the plugin that
// asks for a replacement where the name or the region changes, which can't be changed in place.
package module

import (
	"embed"
	"io/fs"
)

//go:embed *.tf
var files embed.FS

// FS is the module, its files at the root.
func FS() fs.FS { return files }
