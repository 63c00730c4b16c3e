"""The alarms of the demo region, checked as OCI checks them and limited in number."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tests.region import alarm_rules
from tests.region.alarm_rules import Alarm

from fss_toolbox.demo.region import alarms_api, monitoring_api
from fss_toolbox.demo.region.alarms_api import StoredAlarm
from fss_toolbox.demo.region.refusal import Refusal


@dataclass(frozen=True, slots=True)
class RegionLimits(monitoring_api.RegionLimits):
    """Limits of a region."""

    alarms: int = 50  # of a tenancy in a region; 50 is commonly quoted, no document states it


class AlarmsApi(alarms_api.AlarmsApi):
    """The alarms of a region, checked and limited in number."""

    def check(self, alarm: Alarm) -> None:
        alarm_rules.check_alarm(alarm, self.monitoring.activity.tenancy)
        super().check(alarm)

    def add(self, body: dict[str, Any]) -> StoredAlarm:
        assert isinstance(self.monitoring.limits, RegionLimits)
        most = self.monitoring.limits.alarms
        if sum(stored.is_active for stored in self.alarms.values()) >= most:
            raise Refusal(
                HTTPStatus.BAD_REQUEST, "LimitExceeded", f"The tenancy may have {most} alarms in this region."
            )
        return super().add(body)
