# Least privilege, a policy for each task. The statements are those the exporter names when one is missing.

locals {
  exporter = var.exporter_matching_rule == null ? var.exporter_subject : "dynamic-group ${var.name}-exporter"

  storage = var.compartment_ocid == var.tenancy_ocid ? "tenancy" : "compartment id ${var.compartment_ocid}"
  network = var.network_compartment_ocid == null ? local.storage : "compartment id ${var.network_compartment_ocid}"
  alarms  = local.alarm_compartment_ocid == var.tenancy_ocid ? "tenancy" : "compartment id ${local.alarm_compartment_ocid}"
}

resource "oci_identity_dynamic_group" "exporter" {
  count = var.exporter_matching_rule == null ? 0 : 1

  compartment_id = var.tenancy_ocid
  name           = "${var.name}-exporter"
  description    = "Instances that run fss-exporter."
  matching_rule  = var.exporter_matching_rule
}

resource "oci_identity_policy" "poller" {
  count      = local.exporter == null ? 0 : 1
  depends_on = [oci_identity_dynamic_group.exporter]

  compartment_id = var.tenancy_ocid
  name           = "${var.name}-poller"
  description    = "What fss-exporter reads."
  statements = [
    "Allow ${local.exporter} to read metrics in ${local.storage} where target.metrics.namespace='oci_filestorage'",
    "Allow ${local.exporter} to inspect mount-targets in ${local.storage}",
    "Allow ${local.exporter} to inspect file-systems in ${local.storage}",
    "Allow ${local.exporter} to read export-sets in ${local.storage}",
    "Allow ${local.exporter} to inspect replications in ${local.storage}",
    "Allow ${local.exporter} to inspect outbound-connectors in ${local.storage}",
    "Allow ${local.exporter} to inspect private-ips in ${local.network}",
    "Allow ${local.exporter} to inspect ipv6s in ${local.network}",
    "Allow ${local.exporter} to inspect subnets in ${local.network}",
    "Allow ${local.exporter} to inspect compartments in ${local.storage}",
    "Allow ${local.exporter} to inspect limits in tenancy",
  ]
}

resource "oci_identity_policy" "other_services" {
  count      = local.exporter != null && length(var.other_services) > 0 ? 1 : 0
  depends_on = [oci_identity_dynamic_group.exporter]

  compartment_id = var.tenancy_ocid
  name           = "${var.name}-other-services"
  description    = "What fss-exporter reads of other storage services."
  statements = flatten([for service in sort(var.other_services) : {
    lustre = [
      "Allow ${local.exporter} to inspect lustre-file-system in ${local.storage}",
      "Allow ${local.exporter} to read metrics in ${local.storage} where target.metrics.namespace='oci_lustrefilesystem'",
    ]
    block-volume = [
      "Allow ${local.exporter} to inspect volumes in ${local.storage}",
      "Allow ${local.exporter} to read metrics in ${local.storage} where target.metrics.namespace='oci_blockstore'",
    ]
  }[service]])
}

resource "oci_identity_policy" "publisher" {
  count      = local.exporter != null && var.published ? 1 : 0
  depends_on = [oci_identity_dynamic_group.exporter]

  compartment_id = var.tenancy_ocid
  name           = "${var.name}-publisher"
  description    = "What fss-exporter serve --oci.publish writes: its own namespace."
  statements = [
    "Allow ${local.exporter} to use metrics in ${local.storage} where target.metrics.namespace='fss_exporter'",
  ]
}

resource "oci_identity_policy" "provisioner" {
  count = var.provisioner_subject == null ? 0 : 1

  compartment_id = var.tenancy_ocid
  name           = "${var.name}-provisioner"
  description    = "What fss-exporter alarms plan and apply need."
  statements = concat([
    "Allow ${var.provisioner_subject} to manage alarms in ${local.alarms}",
    "Allow ${var.provisioner_subject} to read metrics in ${local.storage}",
    "Allow ${var.provisioner_subject} to inspect mount-targets in ${local.storage}",
    "Allow ${var.provisioner_subject} to inspect replications in ${local.storage}",
    "Allow ${var.provisioner_subject} to use ons-topics in ${local.alarms}",
    "Allow ${var.provisioner_subject} to inspect compartments in ${local.storage}",
    ], [for service in sort(var.other_services) : {
      lustre       = "Allow ${var.provisioner_subject} to inspect lustre-file-system in ${local.storage}",
      block-volume = "Allow ${var.provisioner_subject} to inspect volumes in ${local.storage}",
  }[service]])
}
