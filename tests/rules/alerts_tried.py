"""Write docs/alerts-tried.md: each incident with what is expected of the rules, what they do, and after how many minutes."""

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.rules import trial
from tests.rules.incidents import Incident
from tests.rules.notifications import Notification, notifications
from tests.rules.orders import Order, file_order
from tests.rules.pack import ROOT
from tests.rules.simulator import START
from tests.rules.table import INCIDENTS

PAGE = ROOT / "docs" / "alerts-tried.md"
HEAD = """# Alerts tried

For operators who want to know which incidents page, and when. `make alerts-tried` writes this page. Each row is an incident or a
non-incident of `tests/rules`.
promtool runs the rules over the minutes of the incident. The routes and the inhibition of [alertmanager.md](alertmanager.md) decide about
messages. The number after a message is minutes from the start of the incident, with data of OCI that are one minute old.
"No page" allows a ticket. A page is expected once.
"""


@dataclass(frozen=True)
class Verdict:
    """What came of an incident; `slack` is minutes that a message may be later than expected."""

    incident: Incident
    sent: tuple[Notification, ...]
    slack: int = 0
    critical: tuple[int, ...] = ()

    @property
    def wrong(self) -> str:
        """What is not as expected; empty if all is."""
        one, pages, tickets = self.incident, self._to("pager"), self._to("tickets")
        early = [note for note in self.sent if note.minute < START and one.kind != "false"]
        late = [
            note for note in self.sent if one.lasting is not None and note.minute > START + one.lasting + self.slack
        ]
        over = [
            m - START for m in self.critical if one.lasting is not None and m > START + one.lasting + 10 + self.slack
        ]
        return "; ".join(
            said
            for said, is_so in (
                (f"{early} before the start", bool(early)),
                (f"{late} after recovery", bool(late)),
                ("no page", one.page_by is not None and not pages),
                (f"{len(pages)} pages", len(pages) > (one.pages if one.page_by is not None else 0)),
                (f"{len(tickets)} tickets", one.tickets is not None and len(tickets) > one.tickets),
                (f"critical in minutes {over}", bool(over)),
                (
                    "late page",
                    bool(pages) and one.page_by is not None and pages[0].minute - START > one.page_by + self.slack,
                ),
                ("no ticket", one.ticket_by is not None and not tickets),
                (
                    "late ticket",
                    bool(tickets)
                    and one.ticket_by is not None
                    and tickets[0].minute - START > one.ticket_by + self.slack,
                ),
                (f"{self.sent}", one.quiet and bool(self.sent)),
            )
            if is_so
        )

    @property
    def got(self) -> str:
        """The messages in words."""
        words = {"pager": "page", "tickets": "ticket"}
        return (
            ", ".join(f"{words[note.receiver]} {_counted(note.alerts)} {note.minute - START}" for note in self.sent)
            or "quiet"
        )

    def _to(self, receiver: str) -> list[Notification]:
        return [note for note in self.sent if note.receiver == receiver]


def _counted(alerts: Sequence[str]) -> str:
    """Each name once, with a number in brackets where one message has several alerts of the name."""
    return "+".join(name if count == 1 else f"{name} ({count})" for name, count in Counter(alerts).items())


def tried(
    incident: Incident, promtool: str, order: Order = file_order, slack: int = 0, *, all_rules: bool = False
) -> Verdict:
    """Run one incident with the groups in an order; with `all_rules`, also rules that can have no result."""
    world = incident.build()
    groups = order(trial.groups_in_order())
    firing = trial.firing(world, promtool, groups, all_rules=all_rules)
    critical = tuple(m for m, alerts in firing.items() if any(("severity", "critical") in alert for alert in alerts))
    return Verdict(incident, tuple(notifications(firing)), slack, critical)


def row(verdicts: Sequence[Verdict]) -> str:
    """What each promtool got of an incident."""
    one = verdicts[0].incident
    held = "yes" if not any(verdict.wrong for verdict in verdicts) else "**no**"
    return f"{one.name} | {one.expected} | {' | '.join(verdict.got for verdict in verdicts)} | {held} |"


def kept() -> dict[str, str]:
    """By name of the incident: the rows that the page has."""
    lines = PAGE.read_text(encoding="utf-8").splitlines() if PAGE.exists() else []
    rows = [line.split(" | ", 1)[1] for line in lines if re.match(r"\| \d+ \|", line)]
    return {text.split(" | ", 1)[0]: text for text in rows}


def page(rows: Mapping[str, str], versions: Sequence[str]) -> str:
    """The document: one row for each incident that was tried, in the order of the table."""
    known = [rows[one.name] for one in INCIDENTS if one.name in rows]
    return "\n".join(
        [
            HEAD,
            f"| | incident | expected | {' | '.join(f'promtool {version}' for version in versions)} | |",
            "|---" * (len(versions) + 4) + "|",
            *(f"| {number} | {text}" for number, text in enumerate(known, 1)),
            "",
        ]
    )


def main(parts: Sequence[str]) -> None:
    """Run every incident through every promtool and write the page. With parts of names, run these alone and keep the other rows."""
    tools = dict(sorted(trial.promtools().items()))
    chosen = [one for one in INCIDENTS if not parts or any(part in one.name for part in parts)]
    with ThreadPoolExecutor(4) as pool:
        running = [[pool.submit(tried, one, path) for path in tools.values()] for one in chosen]
        tables = [[one.result() for one in verdicts] for verdicts in running]
    rows = kept() | {one.name: row(verdicts) for one, verdicts in zip(chosen, tables, strict=True)}
    PAGE.write_text(page(rows, list(tools)), encoding="utf-8")
    wrong = sorted({verdict.incident.name for verdicts in tables for verdict in verdicts if verdict.wrong})
    missing = [one.name for one in INCIDENTS if one.name not in rows]
    print(
        f"wrote {PAGE.relative_to(ROOT)}: {len(chosen)} incidents tried, {len(wrong)} not as expected", *wrong, sep="\n"
    )
    if missing:
        print(f"{len(missing)} incidents have no row yet. Name a part of each:", *missing, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
