# SPDX-License-Identifier: Apache-2.0
"""Find the processes behind the load of each mount target, with `hist` triggers that count by thread."""
