# SPDX-License-Identifier: Apache-2.0
"""The toolbox: the commands at the prompt beside the exporter, and the work behind them."""
