# SPDX-License-Identifier: Apache-2.0
"""Snapshots as families of metrics."""
