"""NVIDIA's devices that services of compose reserve."""

from __future__ import annotations

import pytest

from ...harness import findings

HEAD = """\
services:
  a:
    image: project
    deploy:
      resources:
        reservations:
          devices:
"""
BY_DRIVER = "            - driver: nvidia\n              count: 2\n              capabilities: [gpu]\n"
WITH_NUMBERS = '            - driver: nvidia\n              device_ids: ["0", "1"]\n              capabilities:\n                - gpu\n'
BY_CAPABILITY = "            - capabilities: [gpu, utility]\n              count: 1\n"
OTHERS = "            - driver: cdi\n              device_ids: [x]\n              capabilities: [gpu]\n"


@pytest.mark.parametrize(
    ("devices", "lines"),
    [
        (BY_DRIVER, [8]),
        (WITH_NUMBERS, [8]),
        (BY_CAPABILITY, [8]),
        (BY_DRIVER + BY_CAPABILITY, [8, 11]),
        (BY_CAPABILITY + BY_DRIVER, [8, 10]),
        ("            - capabilities: [tpu]\n", []),
    ],
)
def test_each_device_is_told_once(devices: str, lines: list[int]) -> None:
    found = findings(HEAD + devices, name="compose.yaml")
    assert [(one.code, one.start.line) for one in found] == [("NPU721", line) for line in lines]


def test_a_device_of_another_driver_is_not_nvidias() -> None:
    assert "NPU721" not in {one.code for one in findings(HEAD + OTHERS, name="compose.yaml")}
