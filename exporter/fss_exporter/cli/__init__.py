# SPDX-License-Identifier: Apache-2.0
"""One file for each command. No other package builds and wires real parts."""
