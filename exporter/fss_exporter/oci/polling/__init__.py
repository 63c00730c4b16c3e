# SPDX-License-Identifier: Apache-2.0
"""The life of the poller: loops, leases, snapshots."""
