from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from .driver import Browser, programs

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser without a window. ``NPUIFY_BROWSER=1`` makes it an error that there is none."""
    found = programs()
    must = os.environ.get("NPUIFY_BROWSER", "") not in ("", "0")
    if found is None:
        assert not must, "NPUIFY_BROWSER is set, and Chromium or its chromedriver is not on the PATH"
        pytest.skip("needs Chromium (or Chrome) and its chromedriver on the PATH")
    try:
        made = Browser(*found, tmp_path_factory.mktemp("profile"))
    except OSError as error:
        if must:
            raise
        pytest.skip(f"the browser does not start: {error}")
    yield made
    made.close()
