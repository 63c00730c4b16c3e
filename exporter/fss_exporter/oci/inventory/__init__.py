# SPDX-License-Identifier: Apache-2.0
"""The resources of a region: listed, selected, looked up."""
