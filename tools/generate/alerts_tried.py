"""Write build/alerts-tried.csv, a row for each incident, and docs/alerts-tried.md, a page about what the alerts did.

With parts of names as arguments, run those incidents alone, and write no file.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.rules.incidents import INCIDENTS
from tests.rules.notifications import Notification
from tests.rules.pack import ROOT
from tests.rules.runner import Incident, Outcome, tried
from tests.rules.situations import table

TABLE = ROOT / "build" / "alerts-tried.csv"
PAGE = ROOT / "docs" / "alerts-tried.md"
HEAD = """# Alerts tried

For operators who want to know which alert comes, and how fast. `make alerts-tried` writes this page.

An incident is a fault at a made-up site: clients hang, requests are slow, or a poller dies. Each incident lists the messages the person on call wants, with
the latest minute of each. An incident holds if exactly these messages come in time.

The shipped agents, pollers and rules run in made-up surroundings:

- A clock turned by hand lets an hour pass in seconds.
- Agents read the counters of a constructed kernel. Pollers ask the demo region, whose data are one to two minutes old.
- promtool runs the rules. The routes and inhibitions of [alertmanager.md](alertmanager.md) make messages of the alerts.

"""

OUTSIDERS = """The authors of the rules wrote these incidents too. What a rule forgets, the incidents forget as well. So people who had not read the rules wrote further
incidents and ran them on the real agent and poller:

| incidents of others | at commit | right | rough | wrong |
|---|---|---|---|---|
| 25, written in November 2026 | 25bbedd2 | 16 | 5 | 4 |
| 57 of the round before, run again | 25bbedd2 | 49 | | |
| 25, written and run on 2026-11-30 | a7eaf889 | 12 | 10 | 3 |

Rough is a message that comes late, twice, or with a text that says more than is known. No outage was missed.
"""

PLACES = """## What each place says

The table has what each place says of a situation after 20 or 30 minutes. `make test-incidents` asks every place.

- A poller shows the state by OCI.
- An agent shows the state of its client. A client is near a ceiling only where the configuration states the ceiling and the load of this host alone is near.
- The fleet dashboard shows the worst of both, as recorded by the rules.

![The status page of a client: 10.96.0.0 hanging, no reply for 20 min, and a link that says what now](images/status-page-hanging.png)
"""

TEN_SECONDS = """On 2026-11-29 a person looked for ten seconds each at the fleet dashboard, the status page and `top --prometheus`, and wrote down these answers.
`make -C lab situation-pictures` draws the pictures. Each alert leads to its section of the runbook.

| situation | how close | who | since | what now |
|---|---|---|---|---|
| nothing is wrong | 10 % of IOPS | dashboard: host-0 | fine for 48 min | nothing |
| one client of ten hangs | 9 % of IOPS | host-0 | alert for 15 min, no reply for 20 min | FssClientStalled |
| a mount target hangs | 0 % of connections | host-0 and 9 other clients | 20 min | FssMountTargetDown, check network and OCI |
| a fifth of the requests fail | 20 % of requests, 10 % of IOPS | host-0 and 9 other clients | 18 min | FssMountTargetFailing, open its row Errors |
| requests take 60 ms | 600 % of the latency objective | file system fs-00000-0, host-0 and 9 other clients | 18 min | FssMountTargetSlow, open its row Latency |
| 96 % of the IOPS ceiling | 96 % of IOPS | not known, coverage is 2 % | 18 min | FssMountTargetIopsHigh, 2 mount targets needed |
| 95 % of the read bandwidth | 95 % of read bandwidth | not known, coverage is 22 % | 14 min | FssMountTargetReadBandwidthHigh, 2 mount targets needed |
| the poller is gone | last 10 %, 23 min old | poller-0 | 22 min without a poll | FssOciPollerDown |
| OCI refuses the credentials, and agents cover everything | last 10 %, 32 min old | the credentials in eu-frankfurt-1 | 26 min | FssOciCredentialsRefused |
| OCI tells nothing, and there are no agents | last 10 %, 32 min old | OCI answers 503 in eu-frankfurt-1 | 29 min | FssMonitoringBlind |
"""


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    minutes: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        for sent in outcome.sent:
            for alert in dict.fromkeys(sent.alerts):
                minutes[alert, sent.kind].append(sent.minute - _cause(outcome.incident, sent))
    quiet = sum(not outcome.sent for outcome in outcomes)
    wrong = [f"- {outcome.incident}: {outcome.wrong}" for outcome in outcomes if outcome.wrong]
    rows = [f"| {alert} | {kind} | {len(of)} | {_span(of)} |" for (alert, kind), of in sorted(minutes.items())]
    return "\n".join(
        [
            f"{HEAD}{len(outcomes)} incidents were tried, and {len(outcomes) - len(wrong)} hold. {quiet} of them brought no message.",
            "[tests/rules/incidents.py](../tests/rules/incidents.py) has the incidents, and build/alerts-tried.csv their messages.",
            "",
            "The table counts the incidents with a message of an alert, and has the minutes from the begin of the cause to the message.",
            "",
            "| alert | message | incidents | minutes |",
            "|---|---|---|---|",
            *rows,
            "",
            *([*wrong, ""] if wrong else []),
            OUTSIDERS,
            PLACES,
            table(),
            "",
            TEN_SECONDS,
        ]
    )


def _cause(incident: Incident, sent: Notification) -> float:
    """The minute in which the cause of a message begins."""
    return max(
        (wanted.since for wanted in incident.wanted if wanted.fits(sent) and wanted.since <= sent.minute), default=0.0
    )


def _span(minutes: Sequence[float]) -> str:
    """The fewest and the most minutes."""
    fewest, most = min(minutes), max(minutes)
    return f"{fewest:g}" if fewest == most else f"{fewest:g} to {most:g}"


def main(parts: Sequence[str]) -> None:
    """Run the incidents and write the files."""
    chosen: list[Incident] = [
        incident for incident in INCIDENTS if not parts or any(part in incident.name for part in parts)
    ]
    outcomes = []
    with ProcessPoolExecutor(cpu_count()) as pool:
        for outcome in pool.map(tried, chosen):
            print(
                f"{outcome.incident}: {outcome.got}" + (f"  WRONG: {outcome.wrong}" if outcome.wrong else ""),
                flush=True,
            )
            outcomes.append(outcome)
    if parts:
        return
    TABLE.parent.mkdir(exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("incident", "wanted", "messages", "wrong"))
        rows.writerows((outcome.incident.name, outcome.wanted, outcome.got, outcome.wrong) for outcome in outcomes)
    PAGE.write_text(summary(outcomes), encoding="utf-8")
    print(f"wrote {TABLE.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
