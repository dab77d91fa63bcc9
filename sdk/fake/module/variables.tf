# Copyright 2026 The Infrared Authors.
# SPDX-License-Identifier: Apache-2.0

variable "name" {
  type = string
}

variable "region" {
  type    = string
  default = "fake-1"
}

variable "node_count" {
  type    = number
  default = 2
}

variable "spot" {
  type    = bool
  default = false
}

variable "cidrs" {
  type    = list(string)
  default = []
}

variable "tags" {
  type    = map(string)
  default = {}
}

variable "note" {
  type    = string
  default = ""
}

# The name of the control plane that the cluster is backed by.
variable "control_plane" {
  type    = string
  default = "edge"
}

# Infrared's labels, without which nothing would be found again.
variable "labels" {
  type = map(string)
}

# For tests: KiB of text that can't be compressed in the state.
variable "filler" {
  type    = number
  default = 0
}

# For tests: how long the cloud takes to answer when something is made, such as 5s.
variable "delay" {
  type    = string
  default = ""
}

# For tests: why the cloud makes no node group: quota, denied, unavailable or invalid.
variable "fail" {
  type    = string
  default = ""
}
