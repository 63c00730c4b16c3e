import asyncio
import base64
import threading

import bcrypt
import pytest

from fss_exporter.web.connections import client_of
from fss_exporter.web.costly import ClientGone, TooManyWait
from fss_exporter.web.passwords import Passwords, Results
from fss_exporter.web.turns import WAITING, FairTurns

PASSWORD = "correct horse"
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


class Hashing:
    """bcrypt, watched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stored: list[bytes] = []
        self.at_work = 0
        self.most_at_work = 0
        self.go = threading.Event()
        self.go.set()
        self._checkpw = bcrypt.checkpw
        monkeypatch.setattr(bcrypt, "checkpw", self.checkpw)

    def checkpw(self, password: bytes, stored: bytes) -> bool:
        self.stored.append(stored)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        assert self.go.wait(120)
        self.at_work -= 1
        return self._checkpw(password, stored)


@pytest.fixture
def hashing(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    return Hashing(monkeypatch)


async def verdict(checker: Passwords, header: str, client: str) -> str:
    try:
        return "known" if await checker.check(header, client) else "unknown"
    except TooManyWait:
        return "busy"


def check(checker: Passwords, *headers: str) -> list[str]:
    async def run() -> list[str]:
        return [await verdict(checker, header, "::1") for header in headers]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(basic("me", PASSWORD), "known", id="right"),
        pytest.param(basic("me", PASSWORD).replace("Basic", "bAsIc  "), "known", id="scheme in other case"),
        pytest.param(basic("me", "wrong"), "unknown", id="wrong password"),
        pytest.param(basic("me", ""), "unknown", id="no password"),
        pytest.param(basic("you", PASSWORD), "unknown", id="another user"),
        pytest.param(basic("", ""), "unknown", id="nobody"),
        pytest.param("", "unknown", id="no header"),
        pytest.param("Bearer abc", "unknown", id="another scheme"),
        pytest.param("Basic !!!", "unknown", id="not base64"),
        pytest.param("Basic bWU=", "unknown", id="no colon"),
        pytest.param("Basic é", "unknown", id="not ASCII"),
        pytest.param(f"Basic {base64.b64encode(bytes([255, 58, 255])).decode()}", "unknown", id="not UTF-8"),
        pytest.param(basic("me", PASSWORD + "\0"), "unknown", id="nul at the end"),
        pytest.param(basic("me", "x" * 4000), "unknown", id="longer than bcrypt takes"),
    ],
)
def test_only_a_user_with_their_password_is_known(header: str, expected: str) -> None:
    assert check(Passwords({"me": HASH}), header) == [expected]


def test_passwords_longer_than_bcrypt_takes_are_compared_up_to_there_as_elsewhere() -> None:
    long = "x" * 72
    stored = bcrypt.hashpw(long.encode(), bcrypt.gensalt(4)).decode()

    assert check(Passwords({"me": stored}), basic("me", long + "more")) == ["known"]


def test_every_check_costs_the_most_expensive_hash_of_the_file(hashing: Hashing) -> None:
    users = {f"cost{cost}": bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost)).decode() for cost in (4, 5, 7)}
    checker = Passwords(users)

    for user in (*users, "stranger"):
        for password in (PASSWORD, "wrong"):
            hashing.stored.clear()
            check(checker, basic(user, password))
            assert sum(2 ** int(stored[4:6]) for stored in hashing.stored) == 2**7


def test_the_hash_of_a_stranger_is_worked_through_like_any_other() -> None:
    # bcrypt refuses a malformed hash at once, which would give the missing user away.
    assert check(Passwords({"me": HASH}), basic("stranger", PASSWORD)) == ["unknown"]


def test_results_are_remembered_good_and_bad(hashing: Hashing) -> None:
    check(Passwords({"me": HASH}), *[basic("me", PASSWORD), basic("me", "wrong"), basic("you", PASSWORD)] * 5)

    assert len(hashing.stored) == 3


def test_guessing_does_not_push_out_those_who_are_known(hashing: Hashing) -> None:
    checker = Passwords({"me": HASH})

    check(checker, basic("me", PASSWORD), *(basic("me", f"guess {number}") for number in range(150)))
    hashed = len(hashing.stored)
    check(checker, basic("me", PASSWORD))

    assert len(hashing.stored) == hashed
    assert max(map(len, checker._results._remembered.values())) == 100


def test_a_change_of_other_users_costs_a_known_user_no_further_check(hashing: Hashing) -> None:
    results = Results()
    first = Passwords({"me": HASH, "you": HASH}, results)
    check(first, basic("me", PASSWORD), basic("you", PASSWORD))
    hashing.stored.clear()
    other = bcrypt.hashpw(b"other", bcrypt.gensalt(4)).decode()

    second = Passwords({"me": HASH, "you": other, "new": HASH}, results)

    assert check(second, basic("me", PASSWORD)) == ["known"]
    assert not hashing.stored
    assert check(second, basic("you", PASSWORD), basic("you", "other")) == ["unknown", "known"]
    assert check(Passwords({"you": HASH}, results), basic("me", PASSWORD)) == ["unknown"]


def test_user_and_password_are_not_confused_with_another_split_of_the_same_letters() -> None:
    checker = Passwords({"a": bcrypt.hashpw(b"bc", bcrypt.gensalt(4)).decode()})

    assert check(checker, basic("a", "bc"), basic("ab", "c")) == ["known", "unknown"]


def verdicts_of(hashing: Hashing, guesses: list[str], scraper: str) -> tuple[list[str], str]:
    """Verdicts of guesses from these addresses, which are all there first, and of a right password from `scraper`."""
    hashing.go.clear()

    async def run() -> tuple[list[str], str]:
        checker = Passwords({"me": HASH})
        tasks = [
            asyncio.create_task(verdict(checker, basic("me", f"guess {number}"), address))
            for number, address in enumerate(guesses)
        ]
        while not hashing.stored:
            await asyncio.sleep(0.001)
        right = asyncio.create_task(verdict(checker, basic("me", PASSWORD), scraper))
        await asyncio.sleep(0)
        hashing.go.set()
        return await asyncio.gather(*tasks), await right

    return asyncio.run(run())


def test_one_password_is_hashed_at_a_time_and_few_wait(hashing: Hashing) -> None:
    guesses, right = verdicts_of(hashing, ["::1"] * 60, "::1")

    assert hashing.most_at_work == 1
    assert guesses.count("unknown") == WAITING
    assert guesses[1 : 60 - WAITING + 1] == ["busy"] * (60 - WAITING)
    assert right == "known"


def test_a_scraper_that_shares_its_address_with_guessers_waits_for_one_guess(hashing: Hashing) -> None:
    order = order_of_answers(hashing, ["10.0.0.1"] * 40, "10.0.0.1")

    assert len(order) == 41
    assert "10.0.0.1 known" in order[:3]


def test_guessers_that_connect_again_after_each_answer_delay_a_scraper_by_two_guesses() -> None:
    order: list[str] = []

    async def run() -> None:
        turns = FairTurns()

        async def work(name: str) -> None:
            await turns.acquire("10.0.0.1", lambda: False)
            order.append(name)
            await asyncio.sleep(0)
            turns.release()

        async def guess(number: int) -> None:
            while "scraper" not in order and len(order) < 1000:
                await work(f"guesser {number}")

        async def scrape() -> None:
            while len(order) < 100:
                await asyncio.sleep(0)
            order.clear()
            await work("scraper")

        await asyncio.gather(scrape(), *(guess(number) for number in range(40)))

    asyncio.run(run())
    assert order.index("scraper") <= 2


def test_no_password_is_hashed_for_a_client_that_has_left() -> None:
    order: list[str] = []

    async def run() -> list[BaseException | None]:
        turns = FairTurns()

        async def work(name: str, *, is_gone: bool) -> None:
            await turns.acquire("10.0.0.1", lambda: is_gone)
            order.append(name)
            await asyncio.sleep(0)
            turns.release()

        names = (("at work", False), ("scraper", False), *((f"gone {number}", True) for number in range(2 * WAITING)))
        return await asyncio.gather(*(work(name, is_gone=gone) for name, gone in names), return_exceptions=True)

    results = asyncio.run(run())
    assert order == ["at work", "scraper"]
    assert [type(result) for result in results[2:]] == [ClientGone] * (2 * WAITING)


def test_guesses_from_another_address_make_room_for_a_scraper(hashing: Hashing) -> None:
    guesses, right = verdicts_of(hashing, ["10.0.0.1"] * (1 + WAITING), "10.0.0.2")

    assert right == "known"
    assert guesses[1] == "busy"
    assert guesses.count("busy") == 1


def test_the_addresses_of_one_ipv6_network_count_as_one_client(hashing: Hashing) -> None:
    guessers = [client_of(f"2001:db8::{number:x}") for number in range(1 + WAITING)]

    guesses, right = verdicts_of(hashing, guessers, client_of("2001:db8:0:1::1"))

    assert right == "known"
    assert guesses.count("busy") == 1


def test_clients_that_all_wait_once_are_not_displaced(hashing: Hashing) -> None:
    guesses, right = verdicts_of(hashing, [f"10.0.0.{number}" for number in range(1 + WAITING)], "10.0.1.1")

    assert guesses == ["unknown"] * (1 + WAITING)
    assert right == "busy"


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_a_client_is_an_ipv4_address_or_an_ipv6_network(address: str, client: str) -> None:
    assert client_of(address) == client


def order_of_answers(hashing: Hashing, guessers: list[str], scraper: str) -> list[str]:
    """Clients and verdicts in the order of the answers: guesses that are there first, and a right password."""
    hashing.go.clear()
    order: list[str] = []

    async def run() -> None:
        checker = Passwords({"me": HASH})

        async def ask(client: str, password: str) -> None:
            order.append(f"{client} {await verdict(checker, basic('me', password), client)}")

        guesses = [asyncio.create_task(ask(client, f"{number}")) for number, client in enumerate(guessers)]
        while not hashing.stored:
            await asyncio.sleep(0.001)
        right = asyncio.create_task(ask(scraper, PASSWORD))
        await asyncio.sleep(0)
        hashing.go.set()
        await asyncio.gather(right, *guesses)

    asyncio.run(run())
    return order


def test_a_scraper_waits_for_one_guess_of_each_other_client_at_most(hashing: Hashing) -> None:
    assert "scraper known" in order_of_answers(hashing, ["guesser0", "guesser1"] * 10, "scraper")[:4]


def test_connections_that_have_guessed_wrong_wait_for_all_others_of_their_address() -> None:
    order: list[str] = []

    async def run() -> None:
        turns = FairTurns()

        async def work(name: str, *, has_guessed: bool) -> None:
            await turns.acquire("10.0.0.1", lambda: False, has_guessed=has_guessed)
            order.append(name)
            await asyncio.sleep(0)
            turns.release()

        names = (("at work", False), ("guesser", True), ("scraper", False), ("other guesser", True))
        await asyncio.gather(*(work(name, has_guessed=guessed) for name, guessed in names))

    asyncio.run(run())
    assert order == ["at work", "scraper", "guesser", "other guesser"]


def test_no_password_is_kept_in_memory() -> None:
    checker = Passwords({"me": HASH})
    check(checker, basic("me", PASSWORD))

    assert PASSWORD.encode() not in b"".join(checker._results._remembered[True])
