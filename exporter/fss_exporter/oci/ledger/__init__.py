# SPDX-License-Identifier: Apache-2.0
"""What is counted, and the file that keeps it over a restart."""
