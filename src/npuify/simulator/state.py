"""The simulated machine of this process: set once by :mod:`npuify.simulator.runtime`, asked by all behind torch_npu."""

from __future__ import annotations

from typing import Any

from npuify.simulator.settings import Settings

settings: Settings = Settings()
release: str = ""
"""The torch_npu release that is simulated."""
table: dict[str, Any] = {}
"""Its generated table."""
device: Any = None
"""The engine: :class:`npuify.simulator.device.engine.Native`."""
soc: dict[str, Any] = {}
"""The row of ``data/socs.json`` for the simulated chip."""


def started() -> bool:
    """Whether this process has the device."""
    return device is not None
