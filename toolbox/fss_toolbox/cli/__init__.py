# SPDX-License-Identifier: Apache-2.0
"""Commands of the toolbox, with their flags and wiring, a file for each command."""
