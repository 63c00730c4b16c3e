import base64
import threading
from collections.abc import Mapping

import bcrypt
import pytest
from tests.processes import wait_for

from fss_exporter.web.one_at_a_time import TooLong
from fss_exporter.web.passwords import Passwords

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


USERS = {"me": HASH}


def verdict(checker: Passwords, header: str, users: Mapping[str, str]) -> str:
    return "known" if checker.check(users, header) else "unknown"


def check(checker: Passwords, *headers: str, users: Mapping[str, str] = USERS) -> list[str]:
    return [verdict(checker, header, users) for header in headers]


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
    assert check(Passwords(), header) == [expected]


def test_passwords_longer_than_bcrypt_takes_are_compared_up_to_there_as_elsewhere() -> None:
    long = "x" * 72
    stored = bcrypt.hashpw(long.encode(), bcrypt.gensalt(4)).decode()

    assert check(Passwords(), basic("me", long + "more"), users={"me": stored}) == ["known"]


def test_every_check_costs_the_most_expensive_hash_of_the_file_so_that_none_gives_away_who_is_missing(
    hashing: Hashing,
) -> None:
    users = {f"cost{cost}": bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(cost)).decode() for cost in (4, 5, 7)}
    checker = Passwords()

    for user in (*users, "stranger"):
        for password in (PASSWORD, "wrong"):
            hashing.stored.clear()
            check(checker, basic(user, password), users=users)
            assert sum(2 ** int(stored[4:6]) for stored in hashing.stored) == 2**7


def test_results_are_remembered_good_and_bad(hashing: Hashing) -> None:
    check(Passwords(), *[basic("me", PASSWORD), basic("me", "wrong"), basic("you", PASSWORD)] * 5)

    assert len(hashing.stored) == 3


def test_guessing_does_not_push_out_those_who_are_known(hashing: Hashing) -> None:
    checker = Passwords()

    check(checker, basic("me", PASSWORD), *(basic("me", f"guess {number}") for number in range(150)))
    hashed = len(hashing.stored)
    check(checker, basic("me", PASSWORD))

    assert len(hashing.stored) == hashed
    assert max(map(len, checker._remembered.values())) == 100


def test_a_change_of_other_users_costs_a_known_user_no_further_check(hashing: Hashing) -> None:
    checker = Passwords()
    check(checker, basic("me", PASSWORD), basic("you", PASSWORD), users={"me": HASH, "you": HASH})
    hashing.stored.clear()
    other = bcrypt.hashpw(b"other", bcrypt.gensalt(4)).decode()
    changed = {"me": HASH, "you": other, "new": HASH}

    assert check(checker, basic("me", PASSWORD), users=changed) == ["known"]
    assert not hashing.stored
    assert check(checker, basic("you", PASSWORD), basic("you", "other"), users=changed) == ["unknown", "known"]
    assert check(checker, basic("me", PASSWORD), users={"you": HASH}) == ["unknown"]


def test_user_and_password_are_not_confused_with_another_split_of_the_same_letters() -> None:
    users = {"a": bcrypt.hashpw(b"bc", bcrypt.gensalt(4)).decode()}

    assert check(Passwords(), basic("a", "bc"), basic("ab", "c"), users=users) == ["known", "unknown"]


def test_one_password_is_hashed_at_a_time_and_a_known_one_does_not_wait(hashing: Hashing) -> None:
    checker = Passwords()
    check(checker, basic("me", PASSWORD))
    hashing.stored.clear()
    hashing.go.clear()
    guessed: list[str] = []
    guessing = [
        threading.Thread(
            target=lambda number=number: guessed.append(verdict(checker, basic("me", f"guess {number}"), USERS))
        )
        for number in range(20)
    ]
    for thread in guessing:
        thread.start()
    wait_for(lambda: hashing.stored, "the first guess")

    assert check(checker, basic("me", PASSWORD)) == ["known"]

    hashing.go.set()
    for thread in guessing:
        thread.join()
    assert guessed == ["unknown"] * 20
    assert hashing.most_at_work == 1


def test_a_password_that_waits_too_long_for_its_check_is_refused(hashing: Hashing) -> None:
    checker = Passwords()
    hashing.go.clear()
    guess = threading.Thread(target=check, args=(checker, basic("me", "guess")))
    guess.start()
    wait_for(lambda: hashing.stored, "the first guess")

    with pytest.raises(TooLong), checker._one_at_a_time.turn(0.01):
        pytest.fail("two at a time")

    hashing.go.set()
    guess.join()


def test_no_password_is_kept_in_memory() -> None:
    checker = Passwords()
    check(checker, basic("me", PASSWORD))

    assert PASSWORD.encode() not in b"".join(checker._remembered[True])
