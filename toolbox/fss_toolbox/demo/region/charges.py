# SPDX-License-Identifier: Apache-2.0
"""What a real request costs a mount target of the demo: the white paper's table, or a table that a test keeps to itself.

Nothing here uses the cost model of the exporter, so that `calibrate` can be tried against costs that it does not know.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, Self

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from fss_exporter.errors import UsageError
from fss_toolbox.demo.region.api_operations import read_table
from fss_toolbox.demo.region.demo_tenancy import RequestMix, RequestRate

_BLOCK_BYTES = 32 * 1024


class RealRequests(NamedTuple):
    """Requests that a server or a packet capture counted."""

    operation: str  # NFSv3 procedure, `NLM` or `NFSACL`
    size: int  # bytes of each READ or WRITE, 0 for other operations
    calls: int


class _TransferCost(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    request: float
    block: float
    sizes: Mapping[int, float] = {}

    def of(self, size: int) -> float:
        """I/O operations of one request of so many bytes."""
        blocks = max(1, -(-size // _BLOCK_BYTES))
        return self.sizes.get(size, self.request + self.block * blocks)


_ROWS = TypeAdapter(dict[str, float | _TransferCost])


class ChargeTable:
    """I/O operations of each request. `changes` replace rows of the white paper's table."""

    def __init__(self, changes: Mapping[str, object] | None = None) -> None:
        rows = read_table(files(__package__).joinpath("charges.yml")) | dict(changes or {})
        self._rows = _ROWS.validate_python(rows)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return the table with the rows of a YAML file, as in `RENAME: 9`.

        Raises:
            UsageError: the file cannot be read, or a row is no cost.
        """
        try:
            return cls(yaml.safe_load(path.read_text()))
        except (OSError, yaml.YAMLError, ValidationError, TypeError, ValueError) as error:
            raise UsageError(f"{path}: no table of costs: {str(error).splitlines()[0]}") from error

    def cost(self, operation: str, size: int = 0) -> float:
        """I/O operations of one request. An operation outside the table costs nothing."""
        row = self._rows.get(operation, 0.0)
        return row.of(size) if isinstance(row, _TransferCost) else row

    def charged(self, requests: Iterable[RealRequests]) -> RequestMix:
        """Return the requests of one minute as rates with their costs."""
        return RequestMix(
            tuple(RequestRate(name, size, calls / 60, self.cost(name, size)) for name, size, calls in requests)
        )
