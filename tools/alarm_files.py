"""Write mql/alarms and mql/other-services: the templates of mql/templates, filled in for published ceilings.

People paste these files, and the Terraform module reads them. `fss-exporter alarms` reads the templates.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from fss_exporter import RUNBOOK
from fss_exporter.model.limits import SHAPES, STANDARD
from fss_exporter.oci.iam import PUBLISHED_NAMESPACE as NAMESPACE
from fss_toolbox.alarms.desired import AlarmScope, Estate, Target, desired
from fss_toolbox.alarms.figures import CEILING_ALARMS
from fss_toolbox.alarms.pack import Alarm, load

MQL = Path(__file__).parents[1] / "mql"
SCOPE = AlarmScope("${ALARM_COMPARTMENT_OCID}", "${METRIC_COMPARTMENT_OCID}", ("${TOPIC_OCID}",), runbook=RUNBOOK)


def rendered() -> dict[Path, str]:
    """Text by file below mql/."""
    files = {}
    for folder in ("alarms", "other-services"):
        for alarm in _alarms(load(MQL / "templates" / folder)):
            text = json.dumps(alarm.body, indent=2, ensure_ascii=False) + "\n"
            files[Path(folder) / f"{alarm.name}.json"] = text
    return files


def _alarms(templates: tuple[Alarm, ...]) -> Iterator[Alarm]:
    yield from desired(templates, SCOPE, Estate())
    yield from (
        alarm for alarm in desired(templates, SCOPE, Estate(published=True)) if alarm.body["namespace"] == NAMESPACE
    )
    for shape in SHAPES.values():
        if shape is not STANDARD:
            yield from _of_shape(templates, shape.name)


def _of_shape(templates: tuple[Alarm, ...], shape: str) -> Iterator[Alarm]:
    """The alarms of a shape that name its mount targets: the OCIDs are for the reader to fill in, joined by `|`."""
    placeholder = f"${{{shape.upper().replace('-', '_')}_MOUNT_TARGET_OCIDS}}"
    other = Target("ocid1.other", STANDARD.name, STANDARD.limits)
    estate = Estate((Target(placeholder, shape, SHAPES[shape].limits), other))
    for alarm in desired(tuple(template for template in templates if template.key in CEILING_ALARMS), SCOPE, estate):
        if alarm.key.endswith(f"-{shape}"):
            text = json.dumps(alarm.body).replace(f'resourceId = \\"{placeholder}', f'resourceId =~ \\"{placeholder}')
            yield Alarm(alarm.key, json.loads(text))


def main() -> None:
    """Write the files, and remove those that no template makes."""
    files = rendered()
    for folder in ("alarms", "other-services"):
        (MQL / folder).mkdir(exist_ok=True)
        for path in (MQL / folder).glob("*.json"):
            if path.relative_to(MQL) not in files:
                path.unlink()
    for path, text in files.items():
        (MQL / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
