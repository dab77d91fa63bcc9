# Copyright 2026 The Infrared Authors.
# SPDX-License-Identifier: Apache-2.0

output "cluster_id" {
  value = local.ids.cluster
  # Whoever reads it may use the cluster.
  depends_on = [terraform_data.put_cluster]
}

output "control_plane" {
  value = var.control_plane
}

output "region" {
  value = var.region
}

# The variables as they arrived.
output "received" {
  value = {
    name       = var.name
    node_count = var.node_count
    spot       = var.spot
    cidrs      = var.cidrs
    tags       = var.tags
    note       = var.note
  }
}
