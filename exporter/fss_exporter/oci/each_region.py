"""The same work in every region at the same time: a slow region does not delay the others."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

_Region = TypeVar("_Region")


def each_region(regions: Sequence[_Region], work: Callable[[_Region], None]) -> None:
    """Do the work for each region, in a thread for each if there are several; returns when all are done.

    Raises:
        Exception: the first error; the work of the other regions has ended as well.
    """
    if len(regions) == 1:
        work(regions[0])
        return
    errors: list[BaseException] = []

    def guarded(region: _Region) -> None:
        try:
            work(region)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread of the caller
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(region,), daemon=True) for region in regions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
