# SPDX-License-Identifier: Apache-2.0
"""READs and WRITEs by size, and their exact cost."""
