from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="npuify[studio] is not installed")
pytest.importorskip("uvicorn", reason="npuify[studio] is not installed")

from .served import Served, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("state")) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_stays_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """A server holds few projects at a time, and one serves the tests of a module."""
    yield
    if "served" in request.fixturenames:
        server: Served = request.getfixturevalue("served")
        for name, _, _ in server.state.list():
            server.state.close(name)
