# SPDX-License-Identifier: Apache-2.0
"""Reports of fio, from text to records and a verdict."""
