# SPDX-License-Identifier: Apache-2.0
"""What the NFS mounts of a client do: reports about this host, a page of metrics, and saved readings."""
