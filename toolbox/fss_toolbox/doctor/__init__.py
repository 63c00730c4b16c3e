# SPDX-License-Identifier: Apache-2.0
"""Checks of this client and this account: probes read facts, and pure checks turn facts into findings."""
