"""Colours of lines, by name: a mount target or client has one colour in every graph.

Grafana has no such colours: its palettes go by the order or the height of lines, or hold the colours of verdicts. Here the colour of a name is the
parity of its characters in three sets, which regular expressions can tell. Names that count up have different colours.
"""

from collections.abc import Sequence

# Eight colours that people tell apart who see no red, green or blue, none of them that of a verdict. A test computes it.
COLOURS = ("#6a47f5", "#c2a329", "#b80aa7", "#3dd6d6", "#6f7949", "#f76ef7", "#589387", "#afc69f")

# Characters whose number in a name is even or odd. Neighbours in the digits from 0 to 7 and in the alphabet differ in one set or
# more.
_SETS = ("13579bdfhjlnprtvxz", "2367cdghklopstwx", "4-7e-hm-pu-x")


def pattern(at: int) -> str:
    """A regular expression, with its slashes, of the names that have the colour at this index."""
    parities = "".join(
        f"(?{'!' if at >> bit & 1 else '='}(?:[^{members}]|[{members}][^{members}]*[{members}])*$)"
        for bit, members in enumerate(_SETS)
    )
    return f"/^{parities}/i"


def by_name(legends: Sequence[str]) -> list[tuple[str, str]]:
    """Matchers of the lines with these legends, and their colours. A legend without labels is a name."""
    if any("{{" in legend for legend in legends):
        return [(pattern(at), colour) for at, colour in enumerate(COLOURS)]
    return list(zip(legends, COLOURS, strict=False))
