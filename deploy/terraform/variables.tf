variable "tenancy_ocid" {
  description = "The tenancy: availability domains are asked of it, dynamic group and policies live in it."
  type        = string
}

variable "compartment_ocid" {
  description = "Compartment of the mount targets."
  type        = string
}

variable "network_compartment_ocid" {
  description = "Compartment of their subnets and private IPs; that of the mount targets where it is null."
  type        = string
  default     = null
}

variable "alarm_compartment_ocid" {
  description = "Compartment of alarms and topic; that of the mount targets where it is null."
  type        = string
  default     = null
}

variable "topic_ocid" {
  description = "An existing Notifications topic, in the region of the alarms; one is made where it is null."
  type        = string
  default     = null
}

variable "topic_emails" {
  description = "Addresses subscribed to the topic that is made. Each has to confirm by mail."
  type        = set(string)
  default     = []
}

variable "name" {
  description = "First word of every name."
  type        = string
  default     = "fss"
}

variable "published" {
  description = "Whether the exporter runs with --oci.publish: adds its alarms and its permission to post."
  type        = bool
  default     = false
}

variable "other_services" {
  description = "Other storage services the exporter may watch: lustre, block-volume."
  type        = set(string)
  default     = []

  validation {
    condition     = length(setsubtract(var.other_services, ["lustre", "block-volume"])) == 0
    error_message = "Unknown service: there are lustre and block-volume."
  }
}

variable "exporter_matching_rule" {
  description = "Which instances are the exporter, e.g. \"instance.id = 'ocid1.instance...'\"; no dynamic group where it is null."
  type        = string
  default     = null
}

variable "exporter_subject" {
  description = "Whom the policies of the exporter name where there is no dynamic group, e.g. \"group Exporters\"."
  type        = string
  default     = null
}

variable "provisioner_subject" {
  description = "Who runs fss-exporter alarms, e.g. \"group Storage-Operators\"; no policy where it is null."
  type        = string
  default     = null
}
