output "topic_ocid" {
  description = "The topic of all alarms."
  value       = local.topic_ocid
}

output "alarm_ocids" {
  description = "The alarms, by key of the pack."
  value       = { for key, alarm in oci_monitoring_alarm.pack : key => alarm.id }
}
