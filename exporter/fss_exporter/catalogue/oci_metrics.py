"""Metrics of OCI: inventory, Monitoring and the poller itself.

Every sample belongs to the newest complete minute of the last poll. Polls run in the background, once a minute by default.
`fss_oci_datapoint_age_seconds` shows the age of the minute. A rate stays a rate (gauge). A number per minute becomes a
counter that adds every minute exactly once.
"""

from fss_exporter.catalogue.file_systems import FILE_SYSTEMS
from fss_exporter.catalogue.inventory import INVENTORY
from fss_exporter.catalogue.metric import Metric
from fss_exporter.catalogue.mount_targets import MOUNT_TARGETS
from fss_exporter.catalogue.other_services import OTHER_SERVICES
from fss_exporter.catalogue.poller import POLLER

CLOUD: tuple[Metric, ...] = (*INVENTORY, *MOUNT_TARGETS, *FILE_SYSTEMS, *OTHER_SERVICES, *POLLER)
