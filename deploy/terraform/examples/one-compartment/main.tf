# Alarms for the mount targets of one compartment, mailed to the storage team, and the policies of a poller on one instance.
#
#   terraform init && terraform apply -var tenancy_ocid=... -var compartment_ocid=... -var instance_ocid=... -var region=...

variable "tenancy_ocid" { type = string }
variable "compartment_ocid" { type = string }
variable "instance_ocid" { type = string }
variable "region" { type = string }

provider "oci" {
  region = var.region
}

module "mount_target_alarms" {
  source = "../.."

  tenancy_ocid           = var.tenancy_ocid
  compartment_ocid       = var.compartment_ocid
  topic_emails           = ["storage-oncall@example.com"]
  exporter_matching_rule = "instance.id = '${var.instance_ocid}'"
}

output "alarm_ocids" {
  value = module.mount_target_alarms.alarm_ocids
}
