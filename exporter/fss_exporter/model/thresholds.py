# SPDX-License-Identifier: Apache-2.0
"""Thresholds of alerts.

Source of the 80 %: white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023. The paper wants a
notification when a mount target passes 80 % of the IOPS ceiling. The other thresholds are decisions of this project,
November 2026.
"""

from collections.abc import Mapping

WARNING_RATIO = 0.80  # Share of a ceiling (IOPS, bandwidth, connections) or of a latency objective for a warning. `warning_ratio` replaces it
CRITICAL_RATIO = 0.95  # Share of a ceiling for a critical alert
CEILING_LEVELS = (WARNING_RATIO, CRITICAL_RATIO, 0.98)  # Shares of a ceiling whose minutes are counted
LATENCY_CRITICAL_RATIO = 1.00  # Share of a latency objective for a critical alert: the objective itself

SUCCESS_WARNING_RATIO = 0.99  # Share of successful NFS requests of a mount target. Below the share a warning fires.
SUCCESS_CRITICAL_RATIO = 0.95  # Below the share a critical alert fires

# So many requests in a minute, of which none is good, fail however few they are. Decision of this project, November 2026.
LEAST_FAILED_REQUESTS = 3

# Share of requests that may take longer than a p99 objective, by the meaning of p99.
LATE_REQUESTS_SHARE = 0.01

# Requests hang after this long without any reply. A shorter pause can be a lost packet. Decision of this project, November 2026.
LEAST_WAIT_SECONDS = 5.0

# Share of the clients that ask, by state, from which on their state is the state of the mount target. States, pages and error budgets
# take the same shares. A program sees each request that fails, so a tenth of the clients is enough. A client that waits may be cut off
# alone, so it takes a fifth. A slow client may be far away or busy itself, so it takes three tenths. Decision of this project,
# November 2026.
CLIENTS_SHARES: Mapping[str, float] = {"hanging": 0.2, "failing": 0.1, "slow": 0.3}

# Fewer clients do not give a mount target their state, because a single host can be sick itself. Decision as above.
LEAST_CLIENTS = 2

# Age of a recovery point in replication intervals for a warning: one cycle was missed.
REPLICATION_WARNING_INTERVALS = 2

# Interval of a replication if the creator named none. Source: CreateReplicationDetails, File Storage API.
REPLICATION_DEFAULT_INTERVAL_SECONDS = 3600

# Seconds of the default latency objectives by kind and size bucket. The bucket of metadata is empty.
#
# Oracle publishes no latency objective. These are assumptions for one availability domain (November 2026), which
# `latency_objectives` in the configuration replaces.
DEFAULT_LATENCY_SECONDS: Mapping[tuple[str, str], float] = {
    ("read", "0B_to_8KiB"): 0.010,
    ("read", "8KiB_to_64KiB"): 0.015,
    ("read", "64KiB_to_1MiB"): 0.050,
    ("write", "0B_to_8KiB"): 0.010,
    ("write", "8KiB_to_64KiB"): 0.020,
    ("write", "64KiB_to_1MiB"): 0.080,
    ("metadata", ""): 0.010,
}

# Default share of good minutes of a mount target by SLO. `slo_objectives` in the configuration replaces it.
SLO_OBJECTIVES: Mapping[str, float] = {"availability": 0.995, "latency": 0.99}
