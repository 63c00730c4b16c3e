"""Seconds of an address by verdict, from records of the kernel."""

from collections.abc import Callable, Iterable, Mapping

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import OPTIONS, mountinfo, mountstats

from fss_exporter.model.client_state import NO_WAIT, Verdict, Wait
from fss_exporter.model.state import State
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.address_states import AddressStates
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mount_services import Claim, Services
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.unanswered import MEMORY_OF_LAST_TRY_SECONDS
from fss_exporter.samples import Samples
from fss_exporter.served_states import states_of_addresses

ADDRESS = "10.0.0.3"


def judged(records: Iterable[str], stated: Mapping[str, float] | None = None) -> dict[str, float]:
    """Seconds by verdict after the records of one mount, one record a second. Verdicts without time are left out."""
    accounts = Accounts(states=AddressStates(stated))
    mounts = parse_mountinfo(mountinfo())
    for second, record in enumerate(records):
        accounts.apply(join(parse_mountstats(record), mounts), float(second))
    return {verdict: seconds for verdict, seconds in accounts.addresses[ADDRESS].seconds.items() if seconds}


def busy(second: int, *, errors: int = 0) -> str:
    """Fifty GETATTRs a second, of 2 ms each, of which some fail."""
    done = 50 * second
    text = mountstats({"GETATTR": done}, age=1000 + second, sends=done, revalidations=done)
    before, name, after = text.partition(" GETATTR: ")
    numbers, _, rest = after.partition("\n")
    return f"{before}{name}{numbers.rpartition(' ')[0]} {errors * second}\n{rest}"


def transfers(second: int, *, reads: float, writes: float, failed: bool = True) -> str:
    """READs that succeed and WRITEs that fail, so many a second."""
    text = mountstats({"READ": int(reads * second), "WRITE": int(writes * second)}, age=1000 + second)
    before, name, after = text.partition(" WRITE: ")
    numbers, _, rest = after.partition("\n")
    return f"{before}{name}{numbers.rpartition(' ')[0]} {int(writes * second) if failed else 0}\n{rest}"


def hanging(second: int) -> str:
    """A request was sent in the second after a reply, and no reply ever came."""
    sent, replied = min(second, 2), min(second, 1)
    return mountstats({}, age=1000 + second, xprt=(f"tcp 800 1 1 0 3 {sent} {replied} 0 0 0 2 0 0",))


def waiting_before(second: int) -> str:
    """A request waits since before the first look. After 20 s another one is sent."""
    sent = 100 if second < 20 else 101
    return mountstats({}, age=1000 + second, xprt=(f"tcp 800 1 1 0 3 {sent} 95 0 0 0 2 0 0",))


def soft(second: int, *, tries: int) -> str:
    """A soft mount: each try of 3 seconds ends with a timeout, and its program pauses for 30 seconds between two tries."""
    ended = min(tries, (second + 29) // 33)
    sent = min(tries, (second + 32) // 33)
    text = mountstats(
        {}, age=1000 + second, options=OPTIONS.replace("hard", "soft"), xprt=(f"tcp 800 1 1 0 3 {sent} 0 0 0 0 2 0 0",)
    )
    return text.replace(" GETATTR: 0 0 0 ", f" GETATTR: {ended} {ended} {ended} ")


def test_an_address_begins_with_every_verdict_at_zero() -> None:
    accounts = Accounts()
    accounts.apply(join(parse_mountstats(mountstats({})), parse_mountinfo(mountinfo())), 0.0)
    assert accounts.addresses[ADDRESS].seconds == dict.fromkeys(
        ("fine", "slow", "failing", "hanging", "idle", "unknown"), 0.0
    )


def test_work_within_the_objective_is_fine() -> None:
    assert judged(map(busy, range(61))) == {"fine": 60.0}


def test_no_work_is_idle() -> None:
    assert judged(mountstats({}, age=1000 + second) for second in range(61)) == {"idle": 60.0}


def test_round_trips_beyond_a_stated_objective_are_slow() -> None:
    assert judged(map(busy, range(61)), {"metadata_read": 0.002}) == {"slow": 60.0}


def test_round_trips_are_told_as_a_multiple_of_their_objective_while_there_are_enough_requests() -> None:
    accounts = Accounts(states=AddressStates({"metadata_read": 0.004}))
    mounts, told = parse_mountinfo(mountinfo()), []
    for second in range(31):
        accounts.apply(join(parse_mountstats(busy(min(second, 10))), mounts), float(second))
        told.append(accounts.states.latencies())

    assert told[15] == {(ADDRESS, "metadata_read"): pytest.approx(0.5)}
    assert not told[5]
    assert not told[30]


def test_failing_requests_on_file_handles_are_failing() -> None:
    assert judged(busy(second, errors=5) for second in range(61)) == {"failing": 60.0}


def test_a_client_whose_every_write_fails_is_failing_among_many_good_reads_and_with_hardly_a_write() -> None:
    for reads, writes in ((1200, 5), (0, 0.5), (1200, 0.3)):
        seconds = judged(transfers(second, reads=reads, writes=writes) for second in range(121))
        assert seconds["failing"] >= 110.0, (reads, writes)
    assert judged(transfers(second, reads=1200, writes=5, failed=False) for second in range(61)) == {"fine": 60.0}


def test_owners_that_a_program_may_not_set_are_no_failures_of_the_mount() -> None:
    records = (
        busy(second).replace(" SETATTR: 0 0 0 0 0 0 0 0 0", f" SETATTR: {9 * second} 0 0 0 0 0 0 0 {9 * second}")
        for second in range(61)
    )
    assert judged(records) == {"fine": 60.0}


def test_a_hang_is_hanging_from_its_start() -> None:
    assert judged(map(hanging, range(61))) == {"hanging": 60.0}


def test_time_in_which_a_request_may_wait_since_before_the_first_look_is_unknown_until_a_sign() -> None:
    assert judged(map(waiting_before, range(61))) == {"unknown": 20.0, "hanging": 40.0}
    assert states_of(map(waiting_before, range(26))) == [
        *(("not known", float(second)) for second in range(25)),
        ("hanging", 5.0),
    ]


def test_a_reply_ends_what_is_not_known_at_once() -> None:
    replied = mountstats({"GETATTR": 1}, age=1005, xprt=("tcp 800 1 1 0 3 101 96 0 0 0 2 0 0",))
    seen = states_of([*map(waiting_before, range(5)), *[replied] * 6])
    assert seen == [*(("not known", float(second)) for second in range(5)), ("fine", 0.0)]


def test_a_soft_mount_that_pauses_between_its_tries_hangs_all_the_time() -> None:
    assert judged(soft(second, tries=100) for second in range(2401)) == {"hanging": 2400.0}


def test_an_address_is_idle_again_ten_minutes_after_the_last_try_of_a_soft_mount() -> None:
    seconds = judged(soft(second, tries=1) for second in range(1201))
    assert abs(seconds["hanging"] - MEMORY_OF_LAST_TRY_SECONDS) <= 20
    assert seconds["hanging"] + seconds["idle"] == 1200.0


def states_of(records: Iterable[str]) -> list[tuple[str, float]]:
    """The state of the address after each record, one record a second, with its seconds. A tick without a state is left out."""
    accounts = Accounts()
    mounts = parse_mountinfo(mountinfo())
    seen = []
    for second, record in enumerate(records):
        accounts.apply(join(parse_mountstats(record), mounts), float(second))
        if state := accounts.states.now.get(ADDRESS):
            seen.append((state.judgement.state.word, second - state.since))
    return seen


def test_a_hang_is_the_state_of_the_tick_that_finds_it_and_began_with_the_request() -> None:
    seen = states_of(map(hanging, range(61)))
    assert seen[0] == ("hanging", 5.0)
    assert seen[-1] == ("hanging", 59.0)


def test_a_state_lasts_since_its_first_look() -> None:
    assert states_of(map(busy, range(61)))[-1] == ("fine", 50.0)


def test_an_unmounted_address_has_no_state() -> None:
    accounts = Accounts()
    for second in range(21):
        accounts.apply(join(parse_mountstats(busy(second)), parse_mountinfo(mountinfo())), float(second))
    accounts.apply(join(parse_mountstats(""), parse_mountinfo("")), 21.0)
    assert not accounts.states.now


def test_time_without_a_mount_has_no_verdict() -> None:
    accounts = Accounts()
    nothing = join(parse_mountstats(""), parse_mountinfo(""))
    for second in range(61):
        there = join(parse_mountstats(busy(second)), parse_mountinfo(mountinfo()))
        accounts.apply(there if second <= 20 else nothing, float(second))
    assert sum(accounts.addresses[ADDRESS].seconds.values()) == 20.0


def looked(at: Iterable[float], record: Callable[[int], str] = busy) -> Accounts:
    """Accounts of one mount after looks at these seconds."""
    accounts, mounts = Accounts(), parse_mountinfo(mountinfo())
    for second in at:
        accounts.apply(join(parse_mountstats(record(int(second))), mounts), float(second))
    return accounts


@pytest.mark.parametrize(("record", "verdict"), [(busy, "fine"), (lambda age: mountstats({}, age=1000 + age), "idle")])
def test_an_hour_that_nobody_watched_has_no_verdict_and_the_state_after_it_is_new(
    record: Callable[[int], str], verdict: Verdict
) -> None:
    accounts = looked([*range(21), *range(3620, 3641)], record)
    seconds = accounts.addresses[ADDRESS].seconds
    assert (seconds[verdict], sum(seconds.values())) == (40.0, 40.0)
    assert accounts.states.shown()[ADDRESS].seconds == 10.0


def test_failures_in_an_hour_that_nobody_watched_are_not_of_the_last_ten_seconds() -> None:
    def failed(second: int) -> str:
        return busy(second, errors=5 if 20 < second <= 3620 else 0)

    seconds = looked([*range(21), 3620], failed).addresses[ADDRESS].seconds
    assert seconds["failing"] == 0.0


def test_ticks_of_a_busy_host_that_come_late_are_watched() -> None:
    seconds = looked(range(0, 601, 20)).addresses[ADDRESS].seconds
    assert seconds["fine"] == 600.0


def after_an_hour(end: int, replies: int) -> Accounts:
    """A request is sent in an hour that nobody watched, after some replies, and another one 20 seconds after the hour."""

    def sent(second: int) -> str:
        sends, receives = (1, 1) if second < 3620 else (replies + 1 + (second >= 3640), replies)
        return mountstats({}, age=1000 + second, xprt=(f"tcp 800 1 1 0 3 {sends} {receives} 0 0 0 2 0 0",))

    return looked([*range(21), *range(3620, end + 1)], sent)


def test_a_request_in_an_hour_that_nobody_watched_waits_for_as_long_as_it_was_seen() -> None:
    for end, wait in ((3620, NO_WAIT), (3630, Wait(10, may_be_longer=True))):
        assert after_an_hour(end, replies=1).unanswered.waits()[ADDRESS] == wait


def test_after_replies_in_an_hour_that_nobody_watched_a_wait_is_not_known_until_a_sign() -> None:
    for end, wait in ((3630, Wait(None)), (3650, Wait(10, may_be_longer=True))):
        assert after_an_hour(end, replies=500).unanswered.waits()[ADDRESS] == wait
    assert after_an_hour(3630, replies=500).addresses[ADDRESS].seconds["unknown"] == 10.0


def test_a_hang_goes_on_through_a_time_that_nobody_watched() -> None:
    accounts = looked([*range(21), *range(3620, 3625)], hanging)
    assert accounts.unanswered.waits()[ADDRESS] == Wait(3623)
    assert accounts.states.shown()[ADDRESS].seconds == 3623.0


def test_a_mount_whose_counters_cannot_be_read_is_unknown_and_not_idle() -> None:
    accounts, mounts = Accounts(), parse_mountinfo(mountinfo())
    for second in range(61):
        text = busy(second) if second <= 20 else ""
        accounts.apply(join(parse_mountstats(text), mounts), float(second))
    seconds = accounts.addresses[ADDRESS].seconds
    assert (seconds["fine"], seconds["unknown"], seconds["idle"]) == (20.0, 40.0, 0.0)


@pytest.mark.parametrize(("ends", "after"), [(False, Wait(50)), (True, NO_WAIT)])
def test_a_hang_goes_on_through_a_reading_in_which_its_record_is_damaged_unless_a_reply_came(
    ends: bool, after: Wait
) -> None:
    """The record of second 40 is damaged. In the other case the reply comes in that second."""
    accounts, mounts = Accounts(), parse_mountinfo(mountinfo())
    for second in range(52):
        record = mountstats({}, age=1000 + second, xprt=("tcp 800 1 1 0 3 2 2 0 0 0 2 0 0",))
        text = record if ends and second > 40 else hanging(second)
        accounts.apply(join(parse_mountstats("" if second == 40 else text), mounts), float(second))
        assert second != 40 or ADDRESS not in accounts.unanswered.waits()
    assert accounts.unanswered.waits()[ADDRESS] == after


class Hung:
    """A kernel whose only request gets no reply."""

    def __init__(self, record: Callable[[int], str] = hanging) -> None:
        self.second, self._record = -1, record

    def __call__(self) -> Reading:
        self.second += 1
        return join(parse_mountstats(self._record(self.second)), parse_mountinfo(mountinfo()))

    def clock(self) -> float:
        """Return the second of the last reading."""
        return float(self.second)


def test_a_hanging_address_stands_on_the_page_of_metrics_with_its_age_and_why() -> None:
    kernel = Hung()
    ticker = Ticker(kernel, 1.0, kernel.clock)
    for _ in range(31):
        ticker.loop.run_once()
    states = states_of_addresses(Samples(collected(NfsCollector(ticker))))
    now = states[ADDRESS]

    assert now.state is State.HANGING
    assert now.seconds == 29.0
    assert [reason.text for reason in now.reasons] == ["no reply for 29 s"]


def test_an_address_that_may_hang_stands_on_the_page_of_metrics_without_a_figure_of_its_wait() -> None:
    for ticks, state, text in (
        (12, State.NOT_KNOWN, "no reply since the start"),
        (40, State.HANGING, "no reply for 19 s or more"),
    ):
        kernel = Hung(waiting_before)
        ticker = Ticker(kernel, 1.0, kernel.clock)
        for _ in range(ticks):
            ticker.loop.run_once()
        samples = Samples(NfsCollector(ticker).collect())
        now = states_of_addresses(samples)[ADDRESS]

        assert (now.state, [reason.text for reason in now.reasons]) == (state, [text])
        assert bool(samples.by("fss_client_unanswered_seconds")) is (state is State.HANGING)


def working(per_second: int, *, seconds: int = 61, burst: int = 0) -> list[str]:
    """GETATTRs a second, and a burst in one of the last seconds."""
    done = [per_second * second + burst * (second > seconds - 10) for second in range(seconds)]
    return [
        mountstats({"GETATTR": count}, age=1000 + second, sends=count, revalidations=count)
        for second, count in enumerate(done)
    ]


def accounts_of(records: Iterable[str], services: Services) -> Accounts:
    accounts = Accounts()
    mounts = parse_mountinfo(mountinfo())
    for second, record in enumerate(records):
        accounts.apply(join(parse_mountstats(record), mounts, services=services), float(second))
    return accounts


# A volume of 100 GB with lower cost: 200 IOPS and 24 MB/s. Operations other than READ and WRITE cost it nothing.
SMALL = Claim("block-volume", "vpu-0", 100e9)
STANDARD = Claim("oci-fss", "standard")  # 50,000 IOPS, and 1 GB/s in each direction


@pytest.mark.parametrize(
    ("share", "ratio", "state"),
    [
        (0.88, 0.8, State.NEAR),
        (0.8, 0.8, State.NEAR),
        (0.799, 0.8, State.FINE),
        (0.75, 0.7, State.NEAR),
        (0.0, 0.8, State.FINE),
    ],
)
def test_a_host_whose_own_load_is_at_the_share_of_a_stated_ceiling_is_near_and_below_it_says_nothing_of_ceilings(
    share: float, ratio: float, state: State
) -> None:
    accounts = accounts_of(working(round(50_000 * share)), Services([STANDARD], ratio))
    now = accounts.states.shown()[ADDRESS]

    assert now.state is state
    assert [reason.text for reason in now.reasons] == (
        [f"IOPS at about {share:.0%} of the ceiling".replace("%", " %")] if state is State.NEAR else []
    )
    assert accounts.addresses[ADDRESS].seconds["fine" if share else "idle"] == 60.0, "near hurts nobody"


def test_a_ceiling_that_nobody_states_is_near_nothing() -> None:
    for services in (Services(), Services([Claim("oci-fss")])):
        assert accounts_of(working(60_000), services).states.shown()[ADDRESS].state is State.FINE


def test_the_work_before_an_unmount_brings_no_ceiling_near_after_the_next_mount() -> None:
    accounts, services = accounts_of(working(20_000), Services([STANDARD])), Services([STANDARD])
    for second in range(61, 80):
        accounts.apply(join(parse_mountstats(""), parse_mountinfo("")), float(second))
    for age in range(1, 6):
        again = parse_mountstats(mountstats({"GETATTR": age}, age=age, sends=age, revalidations=age))
        accounts.apply(join(again, parse_mountinfo(mountinfo()), services=services), 79.0 + age)

    assert accounts.states.shown()[ADDRESS].state is State.FINE


def test_a_mount_that_is_found_late_brings_no_ceiling_near_with_its_work_since_its_birth() -> None:
    accounts, services = Accounts(), Services([STANDARD])
    for second in range(11):
        accounts.apply(join(parse_mountstats(""), parse_mountinfo("")), float(second))
    for age in range(50, 62):
        done = 10_000 * age
        record = parse_mountstats(mountstats({"GETATTR": done}, age=age, sends=done, revalidations=done))
        reading = join(record, parse_mountinfo(mountinfo()), services=services)
        found = tuple(superblock._replace(unread_s=60.0) for superblock in reading.superblocks)
        accounts.apply(reading._replace(superblocks=found), age - 39.0)

    assert accounts.addresses[ADDRESS].io_operations == 610_000
    assert accounts.states.shown()[ADDRESS].state is State.FINE


def test_a_host_is_near_in_the_minute_of_a_second_at_95_percent_of_the_iops_as_in_the_rules() -> None:
    burst, less = (accounts_of(working(1000, burst=iops - 1000), Services([STANDARD])) for iops in (48_000, 47_000))

    (reason,) = burst.states.shown()[ADDRESS].reasons
    assert reason.text == "IOPS of the busiest second at about 96 % of the ceiling"
    assert less.states.shown()[ADDRESS].state is State.FINE


@pytest.mark.parametrize("kind", ["read", "write"])
def test_bandwidth_of_a_host_is_near_in_its_direction_and_in_both_together(kind: str) -> None:
    for claim, bytes_each_second, name in (
        (STANDARD, 900_000_000, f"{kind} bandwidth"),
        (SMALL, 21_600_000, "bandwidth"),
    ):
        records = [
            mountstats(
                {kind.upper(): 100 * second},
                age=1000 + second,
                sends=100 * second,
                read_bytes=bytes_each_second * second if kind == "read" else 0,
                written_bytes=bytes_each_second * second if kind == "write" else 0,
            )
            for second in range(61)
        ]
        (reason,) = accounts_of(records, Services([claim])).states.shown()[ADDRESS].reasons
        assert reason.text == f"{name} at least 90 % of the ceiling"


def test_a_host_that_is_slow_and_near_is_slow() -> None:
    accounts = Accounts(states=AddressStates({"metadata_read": 0.002}))
    mounts, services = parse_mountinfo(mountinfo()), Services([STANDARD])
    for second, record in enumerate(working(45_000)):
        accounts.apply(join(parse_mountstats(record), mounts, services=services), float(second))

    assert accounts.states.shown()[ADDRESS].state is State.SLOW


def test_a_view_of_the_page_tells_near_with_the_words_of_the_agent() -> None:
    records, services = [*working(44_000)], Services([STANDARD])
    accounts, last = accounts_of(records, services), parse_mountstats(records[-1])
    ticker = Ticker(
        lambda: join(last, parse_mountinfo(mountinfo()), services=services), 1.0, lambda: 61.0, accounts=accounts
    )
    ticker.tick()
    told = states_of_addresses(Samples(collected(NfsCollector(ticker))))[ADDRESS]
    own = accounts.states.shown()[ADDRESS]

    assert (told.state, told.runbook) == (State.NEAR, "fssaddressutilisationhigh") == (own.state, own.runbook)
    assert [reason.text for reason in told.reasons] == [reason.text for reason in own.reasons]
