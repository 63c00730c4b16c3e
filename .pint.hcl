# `make lint-rules`: pint without a server. Each exception has its reason.
parser {
  relaxed = []
}

checks {
  disabled = [
    # Client rules run in many small groups so that each stays short with 10,000 clients; a series from another group is at most
    # one evaluation older, and all are means over five minutes.
    "rule/dependency",
  ]
}
