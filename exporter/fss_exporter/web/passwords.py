"""Basic authentication against bcrypt hashes. Neither the time of an answer nor the load reveals or breaks anything."""

import base64
import binascii
import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping

import bcrypt

from fss_exporter.web.one_at_a_time import OneAtATime

_REMEMBERED = 100
_BCRYPT_BYTES = 72
_COST = slice(4, 6)


class Results:
    """Remembered results of checks, good and bad apart, so that guesses cannot push out a good result."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bool, OrderedDict[bytes, None]] = {True: OrderedDict(), False: OrderedDict()}
        self._lock = threading.Lock()

    def proof(self, user: str, stored: bytes, password: bytes) -> bytes:
        """Return the keyed hash that stands for a password. A user with a new hash has another proof."""
        parts = (user.encode(), stored, password)
        secret = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hashlib.blake2b(secret, key=self._key, digest_size=32).digest()

    def recall(self, proof: bytes) -> bool | None:
        """Return a remembered result, or None."""
        with self._lock:
            for known, remembered in self._remembered.items():
                if proof in remembered:
                    remembered.move_to_end(proof)
                    return known
        return None

    def remember(self, proof: bytes, *, known: bool) -> None:
        """Remember a result in place of the longest unused result of the same kind."""
        with self._lock:
            remembered = self._remembered[known]
            remembered[proof] = None
            if len(remembered) > _REMEMBERED:
                remembered.popitem(last=False)


class Passwords:
    """Check users and passwords.

    Hashing is slow by design. One password is hashed at a time, and results are remembered. Each check costs as much as the most
    expensive hash of the file, for existing and for unknown users.
    `users` are bcrypt hashes by user. The results of earlier checks stay true for other users and other hashes.
    """

    def __init__(self, users: Mapping[str, str], results: Results | None = None) -> None:
        self._users = {name: stored.encode() for name, stored in users.items()}
        self._cost = max((int(stored[_COST]) for stored in users.values()), default=10)
        self._results = results or Results()
        self._one_at_a_time = OneAtATime(None)  # a scraper waits behind any number of guessers

    def check(self, authorization: str) -> bool:
        """Whether an Authorization header names a user and their password.

        Raises:
            TooLong: too many passwords wait for their check.
        """
        given = _credentials(authorization)
        if given is None:
            return False
        user, password = given
        proof = self._results.proof(user, self._users.get(user, b""), password)
        known = self._results.recall(proof)
        if known is not None:
            return known
        with self._one_at_a_time.turn():
            known = self._hash(user, password[:_BCRYPT_BYTES])
        self._results.remember(proof, known=known)
        return known

    def _hash(self, user: str, password: bytes) -> bool:
        """Compare, then hash until the work is 2^cost for every user: 2^n + (2^n + 2^(n+1) + ...) up to 2^cost."""
        stored = self._users.get(user)
        if stored is None:
            _hash_for_nothing(password, self._cost)
            return False
        matches = bcrypt.checkpw(password, stored)
        for cost in range(int(stored[_COST]), self._cost):
            _hash_for_nothing(password, cost)
        return matches


def _hash_for_nothing(password: bytes, cost: int) -> None:
    bcrypt.checkpw(password, f"$2b${cost:02}${'.' * 53}".encode())


def _credentials(authorization: str) -> tuple[str, bytes] | None:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (user.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None
