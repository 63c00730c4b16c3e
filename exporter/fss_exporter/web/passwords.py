"""Basic authentication against bcrypt hashes, so that neither time nor load tells or breaks anything."""

import base64
import binascii
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from enum import Enum

import bcrypt

from fss_exporter.web.turns import Busy, Turns
from fss_exporter.web.work import in_thread

_REMEMBERED = 100
_WAITING = 8
_BCRYPT_BYTES = 72
_COST = slice(4, 6)
_TAIL_OF_A_HASH = "$" + "." * 53


class Verdict(Enum):
    """What became of an Authorization header."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    BUSY = "busy"


class Passwords:
    """Checks users and passwords.

    Hashing is slow by design, so one password is hashed at a time, few may wait for it, and results are remembered, the
    good ones apart from the bad ones so that guessing cannot push them out. A user that does not exist costs the same hash as one
    that does.

    Args:
        users: bcrypt hash by user.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {name: stored.encode() for name, stored in users.items()}
        cost = max((stored[_COST] for stored in users.values()), default="10")
        self._nobody = f"$2b${cost}{_TAIL_OF_A_HASH}".encode()
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bool, OrderedDict[bytes, None]] = {True: OrderedDict(), False: OrderedDict()}
        self._turns = Turns(at_once=1, waiting=_WAITING)

    async def check(self, authorization: str) -> Verdict:
        """Whether an Authorization header names a user and their password."""
        given = _credentials(authorization)
        if given is None:
            return Verdict.UNKNOWN
        user, password = given
        proof = hashlib.blake2b(
            len(user).to_bytes(4, "big") + user.encode() + password, key=self._key, digest_size=32
        ).digest()
        known = self._recall(proof)
        if known is None:
            try:
                known = await self._hash(user, password)
            except Busy:
                return Verdict.BUSY
            self._remember(proof, known=known)
        return Verdict.KNOWN if known else Verdict.UNKNOWN

    async def _hash(self, user: str, password: bytes) -> bool:
        async with self._turns.turn():
            stored = self._users.get(user, self._nobody)
            # Longer passwords end here in every bcrypt, though this library would rather refuse them.
            fits = await in_thread(lambda: bcrypt.checkpw(password[:_BCRYPT_BYTES], stored))
            return fits and user in self._users

    def _recall(self, proof: bytes) -> bool | None:
        for known, remembered in self._remembered.items():
            if proof in remembered:
                remembered.move_to_end(proof)
                return known
        return None

    def _remember(self, proof: bytes, *, known: bool) -> None:
        remembered = self._remembered[known]
        remembered[proof] = None
        if len(remembered) > _REMEMBERED:
            remembered.popitem(last=False)


def _credentials(authorization: str) -> tuple[str, bytes] | None:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (user.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None
