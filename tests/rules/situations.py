"""Ten situations, and what each place says of them: status page, `top`, `iostat`, `doctor`, the fleet dashboard and the alerts.

The product runs as in the incidents. The places read the pages of its exporters and the state that the rules record.
`make alerts-tried` writes the table into docs/alerts-tried.md.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from tests.clock import NOON
from tests.exposition_text import families_of
from tests.rules.faults import Answer, Failing, Fault, Hang, PollerDown, Published, Slow, Work
from tests.rules.notifications import notifications
from tests.rules.runner import judged, labels_of
from tests.rules.site import Scrapes, Site, scrape_into

from fss_exporter.client_scrape import Scraped, scrape_of
from fss_exporter.model.state import State
from fss_exporter.samples import Samples
from fss_exporter.web.status.html import render
from fss_exporter.web.status.overview import TimedScrape, status_page
from fss_toolbox.ceilings import judge
from fss_toolbox.doctor.state_checks import check_states
from fss_toolbox.iostat.page_reports import report_between
from fss_toolbox.iostat.report_output import document
from fss_toolbox.iostat.traffic_report import ReportOrder
from fss_toolbox.top.page_source import PageSource
from fss_toolbox.top.picture import shown_target
from fss_toolbox.top.top_table import targets_table
from fss_toolbox.top.top_view import View

_INSTANCES = {"poller": 'instance="poller-0:', "client": 'instance="host-0:'}
_JUDGE = judge("standard", None)
_STATE = "max(mount_target:fss_state:max) or max(address:fss_state:max)"
_FIRING = 'ALERTS{alertstate="firing"}'
_BY_OCI = "no trouble seen by OCI"  # a poller asks no client
_WORDS = "|".join((_BY_OCI, *(state.word for state in State)))
_USUAL = Site(minutes=20)
NOBODY = "no answer"


@dataclass(frozen=True)
class Said:
    """The words.

    Attributes:
        poller: of status page, `top` and `doctor` about the poller.
        client: of status page, `top`, `iostat` and `doctor` about the first client.
        fleet: of the fleet dashboard and `top --prometheus`.
        messages: pages and tickets until then.
    """

    poller: str
    client: str
    fleet: str
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Situation:
    """What happens, and what each place says in the last minute of the site."""

    name: str
    faults: tuple[Fault, ...]
    said: Said
    site: Site = _USUAL

    def __str__(self) -> str:
        return self.name


SITUATIONS = (
    Situation("nothing is wrong", (), Said(_BY_OCI, "fine", "fine")),
    Situation(
        "one client of ten hangs", (Hang(hosts=1),), Said(_BY_OCI, "hanging", "fine", ("ticket FssClientStalled",))
    ),
    Situation("a mount target hangs", (Hang(),), Said(_BY_OCI, "hanging", "hanging", ("page FssMountTargetDown",))),
    Situation(
        "a fifth of the requests fail",
        (Failing(share=0.2),),
        Said("failing", "failing", "failing", ("page FssMountTargetFailing",)),
    ),
    Situation(
        "requests take 60 ms", (Slow(milliseconds=60),), Said("slow", "slow", "slow", ("page FssMountTargetSlow",))
    ),
    Situation(
        "96 % of the IOPS ceiling",
        (Work(times=9.6, side="oci"),),
        Said("near", "fine", "near", ("ticket FssMountTargetIopsHigh",)),
    ),
    Situation(
        "95 % of the read bandwidth",
        (Published(metric="MountTargetReadThroughput", value=0.95e9),),
        Said("near", "fine", "near", ("ticket FssMountTargetReadBandwidthHigh",)),
    ),
    Situation("the poller is gone", (PollerDown(),), Said(NOBODY, "fine", "not known", ("page FssOciPollerDown",))),
    Situation(
        "OCI refuses the credentials, and agents cover everything",
        (Work(-30, times=4.4, side="clients"), Answer(fault="401:")),
        Said("not known", "fine", "not known", ("ticket FssOciCredentialsRefused",)),
        Site(minutes=30),
    ),
    Situation(
        "OCI tells nothing, and there are no agents",
        (Answer(fault="503:SummarizeMetricsData"),),
        Said("not known", NOBODY, "not known", ("page FssMonitoringBlind",)),
        Site(hosts=0, minutes=30),
    ),
)


def seen(situation: Situation, scrapes: Scrapes, promtool: str | None = None) -> Said:
    """Ask every place about what was scraped. Places that should say one word and do not are all named."""
    said = judged(scrapes, [_FIRING, _STATE], promtool=promtool)
    (state,) = said.samples[_STATE, float(situation.site.minutes)]
    fleet = State(int(float(state.split()[-1]))).word
    firing = {minute: labels_of(samples) for (asked, minute), samples in said.samples.items() if asked == _FIRING}
    messages = (f"{sent.kind} {alert}" for sent in notifications(firing) for alert in sent.alerts)
    return Said(
        _one(_places("poller", scrapes)), _one(_places("client", scrapes)), fleet, tuple(dict.fromkeys(messages))
    )


def table() -> str:
    """The table of the page."""
    rows = (
        f"| {situation} | {said.poller} | {said.client} | {said.fleet} | {', '.join(said.messages) or 'none'} |"
        for situation in SITUATIONS
        for said in (situation.said,)
    )
    return "\n".join(
        (
            "| situation | poller: page, `top`, `doctor` | client: page, `top`, `iostat`, `doctor` | fleet dashboard, `top --prometheus` | messages |",
            "|---|---|---|---|---|",
            *rows,
        )
    )


def _one(words: Mapping[str, str]) -> str:
    """The one word, or what each place says."""
    return next(iter(words.values())) if len(set(words.values())) == 1 else str(dict(words))


def page_of_client(name: str) -> str:
    """The status page of the first client in a situation, as HTML."""
    (situation,) = (situation for situation in SITUATIONS if situation.name == name)
    scrapes = Scrapes(situation.site.scraped, situation.site.before, NOON)
    scrape_into(scrapes, situation.site, situation.faults)
    page = status_page_of("client", scrapes)
    assert page is not None
    return page


def status_page_of(who: Literal["poller", "client"], scrapes: Scrapes) -> str | None:
    """The last status page of the poller or of the first client, as HTML. None if nobody answers."""
    before, now = _last_answers(who, scrapes)
    end = scrapes.begin + (scrapes.taken - 1) * scrapes.interval_s
    return None if before is None or now is None else _html(before, now, scrapes.interval_s, end)


def _last_answers(who: str, scrapes: Scrapes) -> tuple[str | None, str | None]:
    answers = (last_two for target, last_two in scrapes.bodies.items() if target.startswith(_INSTANCES[who]))
    return next(answers, (None, None))


def _places(who: str, scrapes: Scrapes) -> Mapping[str, str]:
    before, now = _last_answers(who, scrapes)
    if before is None or now is None:
        return {"page": NOBODY}
    places: dict[str, Callable[[str, str, float], str]] = {"page": _page, "top": _top, "doctor": _doctor}
    if who == "client":
        places["iostat"] = _iostat
    return {place: word(before, now, scrapes.interval_s) for place, word in places.items()}


def _of_one_subject(words: Sequence[str]) -> str:
    """The word of the only mount target or address. A place that shows none or several is not understood."""
    return words[0] if len(set(words)) == 1 else f"words: {words}"


def _html(before: str, now: str, seconds: float, end: float) -> str:
    at = datetime.fromtimestamp(end, UTC)
    _, look = status_page(families_of(before), now=at, at=0.0, earlier=TimedScrape(-1.0, Scraped()))
    page, _ = status_page(families_of(now), now=at, at=seconds, earlier=look)
    return render(page)


def _page(before: str, now: str, seconds: float) -> str:
    return _of_one_subject(re.findall(rf">({_WORDS})</strong>", _html(before, now, seconds, NOON)))


def _top(before: str, now: str, seconds: float) -> str:
    texts, times = iter((before, now)), iter((0.0, seconds))
    source = PageSource(texts.__next__, "a page", _JUDGE, seconds, times.__next__)
    source.read()
    rows = targets_table(map(shown_target, source.read().targets), View(), 200).rows
    return _of_one_subject([row[1][1].text for row in rows])


def _doctor(_: str, now: str, __: float) -> str:
    findings = check_states(Samples(families_of(now)))
    return _of_one_subject([re.findall(_WORDS, finding.message)[0] for finding in findings])


def _iostat(before: str, now: str, seconds: float) -> str:
    old, new = (scrape_of(Samples(families_of(text))) for text in (before, now))
    report = document(report_between("a page", old, new, seconds), _JUDGE, ReportOrder("mount-target", "iops", None))
    return _of_one_subject([target["state"]["state"] for target in report["mount_targets"]])
