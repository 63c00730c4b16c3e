# SPDX-License-Identifier: Apache-2.0
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
from fss_exporter.web.web_config import bcrypt_cost

_REMEMBERED = 100

# Passwords that wait for their check. Each keeps a connection. The rest of the 256 is for clients whose password is known.
_MOST_WAITING = 224

_BCRYPT_BYTES = 72


class Passwords:
    """Check users and passwords.

    Hashing is slow by design. One password is hashed at a time, and results are remembered. Each check costs as much as the most
    expensive hash of the file, for existing and for unknown users.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        # Good and bad results apart, so that guesses cannot push out a good result.
        self._remembered: dict[bool, OrderedDict[bytes, None]] = {True: OrderedDict(), False: OrderedDict()}
        self._lock = threading.Lock()
        self._one_at_a_time = OneAtATime(_MOST_WAITING)

    def check(self, users: Mapping[str, str], authorization: str) -> bool:
        """Whether an Authorization header names a user and their password. `users` are bcrypt hashes by user.

        Raises:
            TooLong: too many passwords wait for their check.
        """
        given = _credentials(authorization)
        if given is None:
            return False
        user, password = given
        proof = self._proof(user, users.get(user, ""), password)
        is_right = self._recall(proof)
        if is_right is None:
            with self._one_at_a_time.turn():
                is_right = _matches(users, user, password[:_BCRYPT_BYTES])
            self._remember(proof, is_right=is_right)
        return is_right

    def _proof(self, user: str, stored: str, password: bytes) -> bytes:
        """Return the keyed hash that stands for a password. A user with a new hash has another proof."""
        parts = (user.encode(), stored.encode(), password)
        secret = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hashlib.blake2b(secret, key=self._key, digest_size=32).digest()

    def _recall(self, proof: bytes) -> bool | None:
        with self._lock:
            for is_right, remembered in self._remembered.items():
                if proof in remembered:
                    remembered.move_to_end(proof)
                    return is_right
        return None

    def _remember(self, proof: bytes, *, is_right: bool) -> None:
        """Remember a result in place of the longest unused result of the same kind."""
        with self._lock:
            remembered = self._remembered[is_right]
            remembered[proof] = None
            if len(remembered) > _REMEMBERED:
                remembered.popitem(last=False)


def _matches(users: Mapping[str, str], user: str, password: bytes) -> bool:
    """Compare, then hash until the work is 2^cost for every user: 2^n + (2^n + 2^(n+1) + ...) up to 2^cost."""
    most = max(map(bcrypt_cost, users.values()))
    stored = users.get(user)
    if stored is None:
        _hash_for_nothing(password, most)
        return False
    matches = bcrypt.checkpw(password, stored.encode())
    for cost in range(bcrypt_cost(stored), most):
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
