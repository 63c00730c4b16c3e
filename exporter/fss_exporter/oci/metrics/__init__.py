# SPDX-License-Identifier: Apache-2.0
"""Monitoring's answers: which minutes are asked for, and the newest point of each series."""
