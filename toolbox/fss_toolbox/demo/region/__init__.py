# SPDX-License-Identifier: Apache-2.0
"""A loopback OCI region: HTTP, inventory, metrics, alarms and faults on demand."""

from fss_toolbox.demo.region.demo_account import DemoAccount as DemoAccount
from fss_toolbox.demo.region.demo_tenancy import Tenancy as Tenancy
from fss_toolbox.demo.region.loopback_region import Region as Region
from fss_toolbox.demo.region.monitoring_api import RegionLimits as RegionLimits
from fss_toolbox.demo.region.tenancies import large as large, small as small
