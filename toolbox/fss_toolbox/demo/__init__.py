# SPDX-License-Identifier: Apache-2.0
"""A loopback OCI region and recorded NFS clients, for `fss-exporter demo` and the tests."""
