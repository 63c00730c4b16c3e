# SPDX-License-Identifier: Apache-2.0
"""The flag of the commands that read the record of `doctor --record`."""

from dataclasses import dataclass
from pathlib import Path

from fss_exporter.cli.flags import EXISTING_FILE
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import flag
from fss_exporter.regular_files import read_bounded
from fss_exporter.settings import Settings
from fss_toolbox.doctor.account_facts import RegionFacts
from fss_toolbox.doctor.account_record import AccountRecord, read_record


@dataclass(frozen=True, kw_only=True)
class FactsFlags:
    """The flag of a record of the account."""

    facts: Path | None = flag("--facts", "What doctor --record wrote about the account.", type=EXISTING_FILE)

    def earlier_record(self) -> AccountRecord | None:
        """Return the record, None without the flag. UsageError for a file that is no record."""
        if self.facts is None:
            return None
        try:
            with self.facts.open("rb") as file:
                content = read_bounded(file)
        except OSError as error:
            raise UsageError(f"--facts={self.facts}: cannot be read: {error.strerror}") from error
        return read_record(f"--facts={self.facts}", content)

    def only_recorded_region(self, settings: Settings) -> RegionFacts | None:
        """Return the recorded facts of the configured region, or of the only recorded region. None without the flag.

        Raises:
            UsageError: the record lacks the configured region, or several regions are to choose from.
        """
        record = self.earlier_record()
        if record is None:
            return None
        regions = settings.oci.regions or tuple(facts.region for facts in record.regions)
        if len(regions) != 1:
            raise UsageError(f"--oci.region: say which of {', '.join(regions) or 'no regions'}")
        return record.region(regions[0])

    def recorded_region(self, region: str) -> RegionFacts | None:
        """Return the recorded facts of a region, None without the flag. UsageError if the record lacks the region."""
        record = self.earlier_record()
        return None if record is None else record.region(region)
