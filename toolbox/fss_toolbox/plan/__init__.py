# SPDX-License-Identifier: Apache-2.0
"""Planning: the needs of a stated or recorded workload, on a mount target or on another storage service."""
