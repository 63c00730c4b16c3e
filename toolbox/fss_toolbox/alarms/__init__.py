# SPDX-License-Identifier: Apache-2.0
"""OCI alarms: the pack as files, the wanted alarms, the existing alarms, and the steps between them."""
