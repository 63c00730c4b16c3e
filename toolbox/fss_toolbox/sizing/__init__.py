# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of `plan`, `fio` and `iostat`: what a load fits into, what it costs and when it is full."""
