"""What OCI says: inventory, Monitoring and the poller's own account.

Every sample is of the newest complete minute the last poll found; polls run in the background, once a minute unless
configured otherwise, and `fss_oci_datapoint_age_seconds` says how old that minute is. Rates stay rates (gauges); what OCI counts
per minute, and what adds up, is a counter that takes every minute exactly once.
"""

from fss_exporter.catalogue.file_systems import FILE_SYSTEMS
from fss_exporter.catalogue.inventory import INVENTORY
from fss_exporter.catalogue.metric import Metric
from fss_exporter.catalogue.mount_targets import MOUNT_TARGETS
from fss_exporter.catalogue.other_services import OTHER_SERVICES
from fss_exporter.catalogue.poller import POLLER

CLOUD: tuple[Metric, ...] = (*INVENTORY, *MOUNT_TARGETS, *FILE_SYSTEMS, *OTHER_SERVICES, *POLLER)
