# SPDX-License-Identifier: Apache-2.0
"""Costs of operations, ceilings and the share in use, as arithmetic on frozen records, without input and output."""
