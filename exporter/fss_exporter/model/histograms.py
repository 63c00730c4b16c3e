# SPDX-License-Identifier: Apache-2.0
"""Compute quantiles from a histogram of durations."""

from collections.abc import Mapping

# Requests by the upper edge of their class in seconds. A class does not contain the requests of the classes below.
CallsByEdge = Mapping[float, float]


def quantile_edge(calls: CallsByEdge, quantile: float) -> float | None:
    """Return the smallest edge that at least a share (0 to 1) of the requests does not exceed. None without requests.

    The true quantile lies at or below the edge, and above the edge below. Nothing is interpolated.
    """
    wanted = quantile * sum(calls.values())
    counted = 0.0
    for edge in sorted(edge for edge, count in calls.items() if count > 0):
        counted += calls[edge]
        if counted >= wanted:
            return edge
    return None


def in_classes(at_most: Mapping[float, float]) -> CallsByEdge:
    """Return the requests of each class of a cumulative histogram, which has the requests up to an edge by the edge."""
    below, classes = 0.0, {}
    for edge, count in sorted(at_most.items()):
        classes[edge], below = max(0.0, count - below), max(below, count)
    return classes
