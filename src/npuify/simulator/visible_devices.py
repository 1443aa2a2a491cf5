"""Which NPUs of a machine a process sees."""

from __future__ import annotations

import os
import re

VARIABLE = "ASCEND_RT_VISIBLE_DEVICES"


def visible_devices(value: str | None, count: int) -> tuple[int, ...]:
    """The devices that a value of ``ASCEND_RT_VISIBLE_DEVICES`` shows, as torch_npu and the runtime read it.

    What follows the first character that is neither a digit nor a comma does not count, nor does what follows a number
    that the machine does not have. Numbers that do not ascend show nothing.

    Source: torch_npu 2.13.0, torch_npu/npu/__init__.py, ``_parse_visible_devices`` and ``_device_count_ascend_hal``.

    Args:
        value: of the variable; None where it is not set, and all devices are seen.
        count: devices of the machine.
    """
    if value is None:
        return tuple(range(count))
    listed: list[int] = []
    for number in re.match(r"[0-9,]*", value)[0].split(","):  # type: ignore[index]
        if not number:
            break
        listed.append(int(number))
    for position, device in enumerate(listed):
        if position and device <= listed[position - 1]:
            return ()
        if device >= count:
            return tuple(listed[:position])
    return tuple(listed)


def visible_count(count: int) -> int:
    """How many of ``count`` devices the environment of this process shows."""
    return len(visible_devices(os.environ.get(VARIABLE), count))
