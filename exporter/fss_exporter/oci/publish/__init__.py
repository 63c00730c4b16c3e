# SPDX-License-Identifier: Apache-2.0
"""Metrics that the poller sends to OCI Monitoring."""
