# SPDX-License-Identifier: Apache-2.0
"""HTTP: metrics, status page, health, TLS and users."""
