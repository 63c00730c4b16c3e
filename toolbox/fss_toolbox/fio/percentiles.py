# SPDX-License-Identifier: Apache-2.0
"""Percentiles of one direction of a job beside the mean of the same latencies, which both must describe one distribution."""

from collections.abc import Mapping
from typing import Final, NamedTuple

_TOLERANCE: Final = 1.05  # fio keeps a latency to within 2 %, and prints at least three digits


class Percentiles(NamedTuple):
    """Latencies in seconds by per cent, with what fio says of the same latencies."""

    seconds: Mapping[float, float]
    mean: float = 0.0  # seconds. 0 if not known
    largest: float = 0.0  # seconds. 0 if not known
    step: float = 0.0  # seconds of one digit of a percentile

    @property
    def known(self) -> Mapping[float, float]:
        """The percentiles, or none where they contradict the mean."""
        return {} if self.contradict else self.seconds

    @property
    def contradict(self) -> bool:
        """Whether no latencies have both these percentiles and this mean."""
        if not self.mean or not self.seconds:
            return False
        shares = sorted((min(percent, 100.0) / 100.0, seconds) for percent, seconds in self.seconds.items())
        # Between two percentiles each latency is at least the lower and at most the higher one.
        least = sum(
            seconds * (above - share)
            for (share, seconds), (above, _) in zip(shares, [*shares[1:], (1.0, 0.0)], strict=True)
        )
        most = sum(
            seconds * (share - below)
            for (below, _), (share, seconds) in zip([(0.0, 0.0), *shares], shares, strict=False)
        )
        most += self.largest * (1.0 - shares[-1][0])
        too_low = self.mean < least / _TOLERANCE - self.step
        return too_low or (self.largest > 0.0 and self.mean > most * _TOLERANCE + self.step)


def remarks(**ways: Percentiles) -> list[str]:
    """Return a remark for each direction whose percentiles are left out."""
    return [
        f"percentiles of {way} contradict their mean of {of.mean * 1e3:,.3g} ms, so they are left out"
        for way, of in ways.items()
        if of.contradict
    ]
