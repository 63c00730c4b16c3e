"""The colours of sources and classes: people tell them apart who see no red, green or blue."""

import itertools
import math
from collections.abc import Mapping, Sequence

import pytest
from tools.generate.dashboards.colours import CLASS_COLOURS, COLOURS, SIZE_COLOURS, SOURCE_COLOURS

# Green, orange, dark orange, red and dark red of Grafana.
_VERDICTS = ("#73bf69", "#ff9830", "#fa6400", "#f2495c", "#c4162a")

_Matrix = Sequence[Sequence[float]]

# Linear RGB as people see it. Source: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
# Vision Deficiency", 2009, severity 1.
_SEEN_BY: dict[str, _Matrix] = {
    "people": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "who see no red": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "who see no green": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "who see no blue": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}

_XYZ: _Matrix = ((0.4125, 0.3576, 0.1804), (0.2127, 0.7152, 0.0722), (0.0193, 0.1192, 0.9503))
_WHITE = (0.9505, 1.0, 1.0888)
_LEAST_DIFFERENCE = 20  # in CIELAB, in which 2.3 is just noticeable side by side


def _times(matrix: _Matrix, vector: Sequence[float]) -> list[float]:
    return [max(0.0, sum(a * b for a, b in zip(row, vector, strict=True))) for row in matrix]


def _lab(colour: str, seen: _Matrix) -> tuple[float, float, float]:
    """A colour in CIELAB, as somebody sees it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    shares = (value / white for value, white in zip(_times(_XYZ, _times(seen, linear)), _WHITE, strict=True))
    x, y, z = (share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116 for share in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("who", _SEEN_BY)
def test_people_tell_every_two_colours_apart(who: str) -> None:
    seen = {colour: _lab(colour, _SEEN_BY[who]) for colour in COLOURS}

    assert min(math.dist(seen[a], seen[b]) for a, b in itertools.combinations(COLOURS, 2)) > _LEAST_DIFFERENCE


def test_no_colour_is_taken_for_a_verdict() -> None:
    seen = _SEEN_BY["people"]

    assert min(math.dist(_lab(a, seen), _lab(b, seen)) for a in COLOURS for b in _VERDICTS) > _LEAST_DIFFERENCE


@pytest.mark.parametrize("colours", [CLASS_COLOURS, SIZE_COLOURS, SOURCE_COLOURS])
def test_no_two_sources_classes_or_sizes_share_a_colour(colours: Mapping[str, str]) -> None:
    assert len(set(colours.values())) == len(colours)
