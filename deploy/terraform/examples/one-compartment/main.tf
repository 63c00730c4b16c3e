# A topic that mails to the storage team, the alarms for the mount targets of one compartment, and the policies of a poller on one
# instance. First write the alarms into the folder `alarms`, and again after mount targets came, went or grew:
#
#   fss-exporter alarms render --compartment COMPARTMENT_OCID --from-inventory --output terraform --out alarms
#   cp ../../versions.tf alarms
#   terraform init && terraform apply -var tenancy_ocid=... -var compartment_ocid=... -var instance_ocid=... -var region=...

variable "tenancy_ocid" { type = string }
variable "compartment_ocid" { type = string }
variable "instance_ocid" { type = string }
variable "region" { type = string }

provider "oci" {
  region = var.region
}

module "fss_exporter" {
  source = "../.."

  tenancy_ocid           = var.tenancy_ocid
  compartment_ocid       = var.compartment_ocid
  topic_emails           = ["storage-oncall@example.com"]
  exporter_matching_rule = "instance.id = '${var.instance_ocid}'"
}

module "alarms" {
  source = "./alarms"

  topic_ocid = module.fss_exporter.topic_ocid
}
