"""Where the projects of a fleet are examined: on this machine, or on those of a dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from npuify.fleet.model import Outcome, Task


class Engine(NamedTuple):
    """Attributes:
    jobs: processes on this machine; 0 means one a core.
    address: of a dask scheduler, ``tcp://host:8786``; empty where this machine does it.
    """

    jobs: int = 0
    address: str = ""


def outcomes(tasks: Sequence[Task], engine: Engine) -> Generator[tuple[Task, Outcome], None, None]:
    """What becomes of each task, each once, in the order in which they are done.

    Raises:
        NpuifyError: dask is not installed, or its scheduler cannot be reached any more.
    """
    if engine.address:
        from npuify.fleet.workers.cluster import outcomes as of_cluster

        return of_cluster(tasks, engine.address)
    from npuify.fleet.workers.local import outcomes as of_machine

    return of_machine(tasks, engine.jobs)
