output "topic_ocid" {
  description = "The topic of all alarms."
  value       = oci_ons_notification_topic.alarms.topic_id
}
