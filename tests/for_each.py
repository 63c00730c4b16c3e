"""One test over a table of cases that each take microseconds.

`pytest.mark.parametrize` costs some milliseconds for each case in each worker. It is right where a case takes longer than that.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each case, and fail with the errors of all cases that fail.

    Args:
        names: names of the arguments with a comma between, as in `pytest.mark.parametrize`.
        cases: a value, or a tuple of values if there are several names.
    """
    given, table = [name.strip() for name in names.split(",")], list(cases)
    assert table, f"no case of {names}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*positional: Any, **fixtures: Any) -> None:
            failures = []
            for case in table:
                values = dict(zip(given, case if len(given) > 1 else (case,), strict=True))
                try:
                    test(*positional, **fixtures, **values)
                except Exception as error:  # noqa: BLE001  # the other cases run as well
                    error.add_note(f"of the case {', '.join(map(str, values.values()))}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} cases fail", failures)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in given]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # what pytest asks for fixtures
        return run

    return decorate
