"""docs/left-out.md from the table of what can be left out: `make metrics`."""

from pathlib import Path

from fss_toolbox.doctor.findings import texts
from fss_toolbox.doctor.left_out import rows

PAGE = Path(__file__).parent.parent / "docs" / "left-out.md"


def page() -> str:
    """Return the page."""
    lines = [
        "# What can be left out",
        "",
        "For maintainers, and operators who miss a series. Each limit, filter, refusal and optional permission of the poller that can leave",
        "something out has a metric, a word of `fss-exporter doctor` and an alert. `make metrics` writes this page from",
        "[left_out.toml](../toolbox/fss_toolbox/doctor/left_out.toml), and a test plays each row until it bites.",
        "",
        "| what is left out | metric | doctor says | alert |",
        "|---|---|---|---|",
    ]
    for row in rows():
        check, case = row.doctor.split(".")
        where = "".join(f'{name}="{value}"' for name, value in row.where.items())
        selected = f"{{{where}}}" if where else ""
        lines.append(
            f"| {row.limit} | `{row.metric}{selected}`, {row.bites} | {texts()[check][case]['message']} |"
            f" [{row.alert}](runbook.md#{row.alert.lower()}) |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
