"""Write mql/alarms and mql/other-services: the templates of mql/templates, filled in for published ceilings.

People paste these files, and the Terraform module reads the JSON. `fss-exporter alarms` reads the templates. Beside the JSON of an
alarm its `.mql` has the queries alone, without the escapes of JSON.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from fss_exporter.model.limits import SHAPES, STANDARD
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as NAMESPACE
from fss_toolbox.alarms.desired import AlarmInputs, AlarmScope, Target, desired
from fss_toolbox.alarms.figures import CEILING_ALARMS, SERVICE_CEILING_ALARMS, spell
from fss_toolbox.alarms.pack import Alarm, load

MQL = Path(__file__).parents[2] / "mql"
_SELECTOR = re.compile(r'\{resourceId =~ "\$\{\w+\}"\}')  # of the mount targets that a reader fills in
SCOPE = AlarmScope("${ALARM_COMPARTMENT_OCID}", "${METRIC_COMPARTMENT_OCID}", ("${TOPIC_OCID}",), runbook="")


def rendered() -> dict[Path, str]:
    """Text by file below mql/."""
    files = {}
    for folder in ("alarms", "other-services"):
        for alarm in _alarms(load(MQL / "templates" / folder)):
            text = json.dumps(alarm.body, indent=2, ensure_ascii=False) + "\n"
            files[Path(folder) / f"{alarm.name}.json"] = text
            files[Path(folder) / f"{alarm.name}.mql"] = to_paste(alarm)
    return files


def to_paste(alarm: Alarm) -> str:
    """Return each rule's query for every mount target of a compartment, below a comment with what the query does not say."""
    lines = [f"# namespace {alarm.body['namespace']}. Paste one query, without the lines of comments"]
    lines += (f"# {line}" for line in _of_one_ceiling(alarm))
    for _, rule in alarm.rules():
        lines += [f"# {rule['severity']} after {rule['pendingDuration']}", _SELECTOR.sub("", str(rule["query"]))]
    return "\n".join(lines) + "\n"


def _of_one_ceiling(alarm: Alarm) -> Iterator[str]:
    """Yield whose ceiling the threshold is, where others have another one."""
    shape = next((name for name in SHAPES if alarm.key.endswith(f"-{name}")), None)
    service = SERVICE_CEILING_ALARMS.get(alarm.key)
    if shape is not None or service is not None:
        yield f"for the shape {shape}" if service is None else f"for a ceiling of {spell(service.kind, service.stated)}"
        yield 'where others have another ceiling, {resourceId = "OCID"} behind [5m] chooses one, {resourceId =~ "OCID|OCID"} several'


def _alarms(templates: tuple[Alarm, ...]) -> Iterator[Alarm]:
    yield from desired(templates, SCOPE, AlarmInputs())
    yield from (
        alarm
        for alarm in desired(templates, SCOPE, AlarmInputs(published=True))
        if alarm.body["namespace"] == NAMESPACE
    )
    for shape in SHAPES.values():
        if shape is not STANDARD:
            yield from _of_shape(templates, shape.name)


def _of_shape(templates: tuple[Alarm, ...], shape: str) -> Iterator[Alarm]:
    """The alarms of a shape that name its mount targets: the OCIDs are for the reader to fill in, joined by `|`."""
    placeholder = f"${{{shape.upper().replace('-', '_')}_MOUNT_TARGET_OCIDS}}"
    other = Target("ocid1.other", STANDARD.name, STANDARD.limits)
    inputs = AlarmInputs((Target(placeholder, shape, SHAPES[shape].limits), other))
    for alarm in desired(tuple(template for template in templates if template.key in CEILING_ALARMS), SCOPE, inputs):
        if alarm.key.endswith(f"-{shape}"):
            text = json.dumps(alarm.body).replace(f'resourceId = \\"{placeholder}', f'resourceId =~ \\"{placeholder}')
            yield Alarm(alarm.key, json.loads(text))


def main() -> None:
    """Write the files, and remove those that no template makes."""
    files = rendered()
    for folder in ("alarms", "other-services"):
        (MQL / folder).mkdir(exist_ok=True)
        for path in (MQL / folder).iterdir():
            if path.relative_to(MQL) not in files:
                path.unlink()
    for path, text in files.items():
        (MQL / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
