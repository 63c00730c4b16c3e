# `make lint-rules`: pint without a server. Each exception has its reason.
parser {
  relaxed = []
}

checks {
  disabled = [
    # The rules are in files by subject. A series of another group is at most one evaluation older, and no ratio has sides from two groups.
    "rule/dependency",
  ]
}

# Constants are joined with `or`, and all differ in a label that label_replace gives, which pint does not follow.
rule {
  match {
    name = "shape_resource:fss_limit:max"
  }
  disable = ["promql/impossible"]
}

# An address without a mount target joins with a row that has no OCID. pint looks at this side of the `or` alone.
rule {
  match {
    name = "FssClient(Stalled|Errors|Retransmissions)|slo:fss_bad_minutes:count1m"
  }
  disable = ["promql/impossible"]
}

# These alerts read a record that is there only while there is a fault or a reason for a page. The record has the condition.
rule {
  match {
    name = "FssExporterDown|FssCoverageIncomplete|FssCollectorFailing|FssOciPollerDown|FssMountTarget(Failing|Slow)"
  }
  disable = ["alerts/comparison"]
}

# The series are there only while a mount target is down, or in a state. Clients of node_exporter name no network, and the alert keeps the label
# for those of agents.
rule {
  match {
    name = "FssMountTarget(Down|NotActive)|slo:fss_page:max"
  }
  disable = ["alerts/comparison", "promql/impossible"]
}
