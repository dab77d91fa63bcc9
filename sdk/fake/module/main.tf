# Copyright 2026 The Infrared Authors.
# SPDX-License-Identifier: Apache-2.0

terraform {
  required_version = ">= 1.11"
}

locals {
  # Computed from the incarnation, so that a cluster of the same name made later shares nothing with this one.
  stem = "${var.labels["infrared-cluster"]}-u${substr(var.labels["infrared-cluster-uid"], 0, 8)}"
  ids = {
    network    = "network/${local.stem}"
    cluster    = "cluster/${local.stem}"
    node_group = "node-group/${local.stem}"
  }
  labels = merge(var.tags, var.labels)
}

resource "terraform_data" "network" {
  input = {
    id         = local.ids.network
    region     = var.region
    labels     = local.labels
    properties = { title = var.name, cidrs = join(",", var.cidrs), delay = var.delay }
  }

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["fake", "delete"]
    command     = try(self.input.id, self.id)
  }
}

resource "terraform_data" "put_network" {
  triggers_replace = [terraform_data.network.id, terraform_data.network.input]

  provisioner "local-exec" {
    interpreter = ["fake", "put"]
    command     = jsonencode(terraform_data.network.input)
  }
}

resource "terraform_data" "cluster" {
  input = {
    id     = local.ids.cluster
    region = var.region
    labels = local.labels
    properties = {
      title         = var.name
      note          = var.note
      network       = local.ids.network
      control_plane = var.control_plane
      delay         = var.delay
    }
  }
  depends_on = [terraform_data.put_network]

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["fake", "delete"]
    command     = try(self.input.id, self.id)
  }
}

resource "terraform_data" "put_cluster" {
  triggers_replace = [terraform_data.cluster.id, terraform_data.cluster.input]

  provisioner "local-exec" {
    interpreter = ["fake", "put"]
    command     = jsonencode(terraform_data.cluster.input)
  }
}

resource "terraform_data" "node_group" {
  input = {
    id     = local.ids.node_group
    region = var.region
    labels = local.labels
    properties = {
      title   = var.name
      cluster = local.ids.cluster
      count   = tostring(var.node_count)
      spot    = tostring(var.spot)
      delay   = var.delay
      fail    = var.fail
    }
  }
  depends_on = [terraform_data.put_cluster]

  provisioner "local-exec" {
    when        = destroy
    interpreter = ["fake", "delete"]
    command     = try(self.input.id, self.id)
  }
}

resource "terraform_data" "put_node_group" {
  triggers_replace = [terraform_data.node_group.id, terraform_data.node_group.input]

  provisioner "local-exec" {
    interpreter = ["fake", "put"]
    command     = jsonencode(terraform_data.node_group.input)
  }
}

# The state holds each text twice, as input and as output.
resource "terraform_data" "filler" {
  count = ceil(var.filler / 64)
  input = join("", [for i in range(372) : base64sha512("${count.index}/${i}")])
}
