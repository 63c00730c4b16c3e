"""Read a report of fio in JSON or normal output. Terse output is refused."""

import re

from fss_exporter.errors import UsageError
from fss_exporter.fio.json_report import read_json_report
from fss_exporter.fio.normal_output import is_normal_output, read_normal_output
from fss_exporter.model.benchmark import Job

_TERSE = re.compile(r"^(?:\d;)?(?:terse;)?[2-5];fio-\d|^[2-5];[^;]*;\d+;\d+;\d+;", re.MULTILINE)


def read_report(source: str, text: str) -> tuple[Job, ...]:
    """Return the jobs of a report: output of fio with `--output-format=json`, `json+` or `normal`. Messages name the source.

    Raises:
        UsageError: the text is no report, cut off, of another fio, or without any figures.
    """
    if '"fio version"' not in text:
        if is_normal_output(text):
            return read_normal_output(source, text)
        if _TERSE.search(text):
            raise UsageError(
                f"{source}: terse output is not read, because its fields have no names and differ between versions of"
                " fio. Run fio with --output-format=json"
            )
    return read_json_report(source, text)
