# The alarm pack as values: reads mql/alarms/*.json and names mount targets where shapes differ. No provider is needed
# here, so `terraform plan` shows the alarms without an account. Compartments and topic are left to the caller: they may
# not be known before apply, and which alarms there are must be.

terraform {
  required_version = ">= 1.5"
}

variable "mount_targets" {
  description = "OCIDs of the mount targets by shape, for example standard or hpmt-20."
  type        = map(list(string))
  default     = {}
}

variable "published" {
  description = "Whether the exporter publishes metrics, so that the alarms on them have something to look at."
  type        = bool
  default     = false
}

variable "name" {
  description = "First word of every alarm's name, and value of the tag that says whose alarm it is."
  type        = string
  default     = "fss"
}

variable "runbook_url" {
  description = "Base of the links to the runbook in the texts of the alarms."
  type        = string
  default     = "http://localhost:10949/runbook"
}

locals {
  folder = "${path.module}/../../../mql/alarms"

  # Every shape has an alarm about its read bandwidth.
  reads  = "fss-mount-target-read-"
  shapes = [for file in fileset(local.folder, "${local.reads}*.json") : trimsuffix(trimprefix(file, local.reads), ".json")]

  ocids   = { for shape in local.shapes : shape => sort(lookup(var.mount_targets, shape, [])) }
  some    = [for shape, ocids in local.ocids : shape if length(ocids) > 0]
  present = length(local.some) > 0 ? local.some : ["standard"] # nothing there yet: watch for what comes

  files = {
    for file in fileset(local.folder, "*.json") : trimprefix(trimsuffix(file, ".json"), "fss-") => jsondecode(
      replace(templatefile("${local.folder}/${file}", merge(
        { ALARM_COMPARTMENT_OCID = "", METRIC_COMPARTMENT_OCID = "", TOPIC_OCID = "" },
        { for shape, ocids in local.ocids : "${upper(replace(shape, "-", "_"))}_MOUNT_TARGET_OCIDS" => join("|", ocids) }
      )), "docs/runbook.md#", "${var.runbook_url}#")
    )
  }

  shape_of = {
    for key, alarm in local.files : key => coalesce(one([for shape in keys(local.ocids) : shape if endswith(key, "-${shape}")]), "any")
  }

  wanted = {
    for key, alarm in local.files : key => alarm if(
      contains(concat(local.present, ["any"]), local.shape_of[key]) &&
      # one incident is one alarm: those on published metrics watch the same ceilings, latency and success
      (var.published ? !startswith(key, "mount-target-iops") && !startswith(key, "mount-target-read") &&
        !startswith(key, "mount-target-write") &&
      !contains(["mount-target-connections", "mount-target-slow", "mount-target-failing"], key) : alarm.namespace != "fss_exporter")
    )
  }

  # Where there is more than one shape the standard alarms name their mount targets: MQL cannot select by shape.
  named    = length(local.present) > 1 ? [for key, shape in local.shape_of : key if shape == "standard"] : []
  selector = "]{resourceId =~ \"${join("|", local.ocids["standard"])}\"}.groupBy"
}

output "shapes" {
  description = "Every known shape."
  value       = local.shapes
}

output "alarms" {
  description = "Bodies of CreateAlarm, by key, without compartments and destinations."
  value = {
    for key, alarm in local.wanted : key => merge(alarm, {
      displayName = "${var.name}-${key}"
      query       = contains(local.named, key) ? replace(alarm.query, "].groupBy", local.selector) : alarm.query
      overrides = [
        for rule in try(alarm.overrides, []) :
        merge(rule, contains(local.named, key) ? { query = replace(rule.query, "].groupBy", local.selector) } : {})
      ]
      freeformTags = merge(alarm.freeformTags, { "fss-exporter-pack" = var.name })
    })
  }
  precondition {
    condition     = length(setsubtract(keys(var.mount_targets), local.shapes)) == 0
    error_message = "Unknown shape: there are ${join(", ", local.shapes)}."
  }
}
