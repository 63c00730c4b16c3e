"""docs/left-out.md from the table of what can be left out: `make metrics`."""

from pathlib import Path

from fss_toolbox.doctor.findings import texts
from fss_toolbox.doctor.left_out import LeftOut, rows

PAGE = Path(__file__).parents[2] / "docs" / "left-out.md"


def page() -> str:
    """Return the page."""
    lines = [
        "# What can be left out",
        "",
        "For maintainers, and operators who miss a series. Each limit, filter, refusal and optional permission that can leave",
        "something out has a metric and a word of `fss-exporter doctor`. It has an alert, or a reason for none. `make metrics` writes this page from",
        "[left_out.toml](../toolbox/fss_toolbox/doctor/left_out.toml), and a test plays each row until it bites.",
    ]
    for of in ("poller", "agent", "both"):
        lines += [
            "",
            f"## {of.capitalize()}",
            "",
            "| what is left out | metric | doctor says | alert |",
            "|---|---|---|---|",
        ]
        lines += [_line(row) for row in rows() if row.of == of]
    return "\n".join(lines) + "\n"


def _line(row: LeftOut) -> str:
    check, case = row.doctor.split(".")
    where = "".join(f'{name}="{value}"' for name, value in row.where.items())
    selected = f"{{{where}}}" if where else ""
    alert = f"[{row.alert}](runbook.md#{row.alert.lower()})" if row.alert else f"none: {row.no_alert}"
    return f"| {row.limit} | `{row.metric}{selected}`, {row.bites} | {texts()[check][case]['message']} | {alert} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
