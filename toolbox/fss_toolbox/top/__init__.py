# SPDX-License-Identifier: Apache-2.0
"""The full-screen view of `fss-exporter top`: sources of figures, a pure table of what they show, and the screen."""
