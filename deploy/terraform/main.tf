locals {
  alarm_compartment_ocid = coalesce(var.alarm_compartment_ocid, var.compartment_ocid)
  topic_ocid             = var.topic_ocid == null ? oci_ons_notification_topic.alarms[0].topic_id : var.topic_ocid

  mount_targets = flatten([for listed in data.oci_file_storage_mount_targets.by_domain : listed.mount_targets])
  gbps          = { for target in local.mount_targets : target.id => coalesce(try(tonumber(target.observed_throughput), 0), 0) }
}

data "oci_identity_availability_domains" "all" {
  compartment_id = var.compartment_ocid
}

data "oci_file_storage_mount_targets" "by_domain" {
  for_each = toset(data.oci_identity_availability_domains.all.availability_domains[*].name)

  availability_domain = each.key
  compartment_id      = var.compartment_ocid
  state               = "ACTIVE"
}

module "pack" {
  source = "./pack"

  name        = var.name
  published   = var.published
  runbook_url = var.runbook_url
  # A shape that the pack does not know gets the standard alarms.
  mount_targets = {
    for ocid, gbps in local.gbps : contains(module.pack.shapes, "hpmt-${gbps}") ? "hpmt-${gbps}" : "standard" => ocid...
  }
}

resource "oci_ons_notification_topic" "alarms" {
  count = var.topic_ocid == null ? 1 : 0

  compartment_id = local.alarm_compartment_ocid
  name           = "${var.name}-mount-target-alarms"
  description    = "Alarms on File Storage mount targets."
}

resource "oci_ons_subscription" "email" {
  for_each = var.topic_ocid == null ? var.topic_emails : []

  compartment_id = local.alarm_compartment_ocid
  topic_id       = local.topic_ocid
  protocol       = "EMAIL"
  endpoint       = each.key
}

resource "oci_monitoring_alarm" "pack" {
  for_each = module.pack.alarms

  display_name                                  = each.value.displayName
  compartment_id                                = local.alarm_compartment_ocid
  metric_compartment_id                         = var.compartment_ocid
  metric_compartment_id_in_subtree              = false
  namespace                                     = each.value.namespace
  query                                         = each.value.query
  resolution                                    = each.value.resolution
  pending_duration                              = each.value.pendingDuration
  evaluation_slack_duration                     = each.value.evaluationSlackDuration
  severity                                      = each.value.severity
  body                                          = each.value.body
  notification_title                            = each.value.notificationTitle
  alarm_summary                                 = each.value.alarmSummary
  is_notifications_per_metric_dimension_enabled = each.value.isNotificationsPerMetricDimensionEnabled
  message_format                                = each.value.messageFormat
  repeat_notification_duration                  = each.value.repeatNotificationDuration
  destinations                                  = [local.topic_ocid]
  is_enabled                                    = each.value.isEnabled
  freeform_tags                                 = each.value.freeformTags

  dynamic "overrides" {
    for_each = each.value.overrides

    content {
      rule_name        = overrides.value.ruleName
      query            = overrides.value.query
      severity         = overrides.value.severity
      pending_duration = overrides.value.pendingDuration
      body             = overrides.value.body
    }
  }
}
