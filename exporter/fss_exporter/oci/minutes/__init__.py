# SPDX-License-Identifier: Apache-2.0
"""Each minute of a mount target: judged, estimated, remembered."""
