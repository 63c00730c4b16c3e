# SPDX-License-Identifier: Apache-2.0
"""Calibration: measure the cost of each NFS request in a tenancy, and compare with the cost table."""
