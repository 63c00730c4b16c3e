variable "tenancy_ocid" {
  description = "OCID of the tenancy, which has the dynamic group and the policies."
  type        = string
}

variable "compartment_ocid" {
  description = "Compartment of the mount targets."
  type        = string
}

variable "network_compartment_ocid" {
  description = "Compartment of the subnets and private IPs. Null means the compartment of the mount targets."
  type        = string
  default     = null
}

variable "alarm_compartment_ocid" {
  description = "Compartment of alarms and topic. Null means the compartment of the mount targets."
  type        = string
  default     = null
}

variable "topic_emails" {
  description = "Mail addresses to subscribe to the topic. Each address has to confirm by mail."
  type        = set(string)
  default     = []
}

variable "name" {
  description = "First word of every name."
  type        = string
  default     = "fss"
}

variable "published" {
  description = "Whether the exporter runs with --oci.publish. Adds the permission to post."
  type        = bool
  default     = false
}

variable "other_services" {
  description = "Other storage services that exporter and alarms may watch: lustre, block-volume."
  type        = set(string)
  default     = []

  validation {
    condition     = length(setsubtract(var.other_services, ["lustre", "block-volume"])) == 0
    error_message = "Unknown service: there are lustre and block-volume."
  }
}

variable "exporter_matching_rule" {
  description = "Rule that matches the instances of the exporter, e.g. \"instance.id = 'ocid1.instance...'\". Null means no dynamic group."
  type        = string
  default     = null
}

variable "exporter_subject" {
  description = "Subject of the policies of the exporter without a dynamic group, e.g. \"group Exporters\"."
  type        = string
  default     = null
}

variable "provisioner_subject" {
  description = "Subject who runs fss-exporter alarms, e.g. \"group Storage-Operators\". Null means no policy."
  type        = string
  default     = null
}
