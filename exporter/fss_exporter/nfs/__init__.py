# SPDX-License-Identifier: Apache-2.0
"""The client: the kernel's NFS counters from text to records to ticks to metric families."""
