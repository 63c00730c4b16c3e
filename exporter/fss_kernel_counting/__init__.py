# SPDX-License-Identifier: Apache-2.0
"""Kernel counting: sizes and durations of requests and the processes behind them, from tables that tracefs fills."""
