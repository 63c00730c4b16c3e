locals {
  alarm_compartment_ocid = coalesce(var.alarm_compartment_ocid, var.compartment_ocid)
}

resource "oci_ons_notification_topic" "alarms" {
  compartment_id = local.alarm_compartment_ocid
  name           = "${var.name}-mount-target-alarms"
  description    = "Alarms on File Storage mount targets."
}

resource "oci_ons_subscription" "email" {
  for_each = var.topic_emails

  compartment_id = local.alarm_compartment_ocid
  topic_id       = oci_ons_notification_topic.alarms.topic_id
  protocol       = "EMAIL"
  endpoint       = each.key
}
