"""What the state and the rules make of the scrapes of the trial with late replies."""

import json
from collections.abc import Mapping
from pathlib import Path

from lab.kernels.report import Trial
from tests.exposition_text import families_of
from tests.rules.runner import judged
from tests.rules.site import Scrapes

_SCRAPE_S = 15
_TARGET = 'instance="guest:10949",job="fss-agent"'
_FIRING = 'ALERTS{alertstate="firing"}'


def late_replies(folder: Path) -> list[Trial]:
    """Return what the trial showed: the agent is fine before the delay, then slow by late requests alone, and one alert names them."""
    place = folder / "late"
    if not place.exists():
        return []
    delayed_s = float(json.loads((place / "delayed.json").read_text()))
    bodies = {float(path.stem): path.read_text() for path in sorted(place.glob("*.prom"))}
    well = [body for at, body in bodies.items() if at < delayed_s]
    late = list(bodies.values())[len(well) + 2 :]  # two looks later
    states = [
        {value for body in part for value in _values(body, "fss_client_address_state").values()}
        for part in (well, late)
    ]
    subjects = {
        dict(labels)["subject"] for body in late for labels in _values(body, "fss_client_address_state_evidence_ratio")
    }
    means = [1000 * _mean(part[0], part[-1]) for part in (well, late)]
    share = _share(late[0], late[-1])
    scrapes = Scrapes(_SCRAPE_S, 0)
    for body in bodies.values():
        scrapes.add(body, [_TARGET])
        scrapes.end()
    last = (len(bodies) - 1) * _SCRAPE_S / 60
    said = judged(scrapes, [_FIRING], [("FssClientTailSlow", last)])
    alerts = {
        name
        for samples in said.samples.values()
        for sample in samples
        for name in [sample.split('alertname="')[1].split('"')[0]]
    }
    text = said.texts["FssClientTailSlow", last]
    holds = (
        states[0] == {0.0} and 3.0 in states[1] and subjects == {"late requests"} and alerts == {"FssClientTailSlow"}
    )
    shown = (
        f"states {states}, evidence {sorted(subjects)}, mean of READs {means[0]:.2f} and then {means[1]:.2f} ms, "
        f"{share:.2%} late, alerts {sorted(alerts)}: {text}"
    )
    return [Trial("late replies", shown, holds and "read requests of client guest:10949" in text)]


def _values(body: str, name: str) -> Mapping[frozenset[tuple[str, str]], float]:
    return {
        frozenset(sample.labels.items()): sample.value
        for family in families_of(body)
        for sample in family.samples
        if sample.name == name
    }


def _growth(first: str, last: str, name: str, **labels: str) -> float:
    before, after = (
        sum(value for key, value in _values(body, name).items() if labels.items() <= set(key)) for body in (first, last)
    )
    return after - before


def _mean(first: str, last: str) -> float:
    of_class = {"class": "read"}
    requests = _growth(first, last, "fss_client_requests_total", **of_class)
    return _growth(first, last, "fss_client_rtt_seconds_total", **of_class) / requests


def _share(first: str, last: str) -> float:
    name = "fss_client_judged_requests_total"
    return _growth(first, last, name, verdict="bad") / _growth(first, last, name)
