"""NVIDIA's devices that services of compose reserve."""

from __future__ import annotations

import pytest

from ...harness import findings, output

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


NPUS = """\
    devices:
      - /dev/davinci0:/dev/davinci0
      - /dev/davinci1:/dev/davinci1
      - /dev/davinci_manager:/dev/davinci_manager
      - /dev/devmm_svm:/dev/devmm_svm
      - /dev/hisi_hdc:/dev/hisi_hdc
"""
DRIVER = """\
      - /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro
      - /usr/local/dcmi:/usr/local/dcmi:ro
      - /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro
      - /etc/ascend_install.info:/etc/ascend_install.info:ro
"""
SERVICE = "services:\n  a:\n    image: project\n"
BEHIND = "  b:\n    image: redis\n"


def _moved(text: str) -> str:
    return output(text, unsafe=True, name="compose.yaml")


@pytest.mark.parametrize("devices", [BY_DRIVER, WITH_NUMBERS])
def test_a_service_gets_npus_and_the_driver(devices: str) -> None:
    after = SERVICE + NPUS + "    volumes:\n" + DRIVER
    assert _moved(HEAD + devices) == after
    assert _moved(HEAD + devices + BEHIND) == after + BEHIND
    assert _moved(HEAD + devices + "\n  # the other one\n" + BEHIND) == after + "\n  # the other one\n" + BEHIND
    assert _moved(after) == after


def test_a_file_that_ends_in_the_line() -> None:
    after = SERVICE + NPUS + "    volumes:\n" + DRIVER
    assert _moved((HEAD + BY_DRIVER).rstrip("\n")) == after.rstrip("\n")
    with_volumes = HEAD.replace("services:\n", "").replace("    deploy", "    gpus: 2\n    volumes:\n      - x:/x")
    with_volumes = "services:\n" + with_volumes.partition("      resources")[0].rstrip(":\n")
    assert _moved(with_volumes) == SERVICE + NPUS + "    volumes:\n      - x:/x\n" + DRIVER.rstrip("\n")


def test_what_else_the_service_asks_for_stays() -> None:
    limits = "        limits:\n          memory: 4g\n"
    text = HEAD + BY_DRIVER + limits
    head = SERVICE + "    deploy:\n      resources:\n"
    moved = _moved(text)
    assert moved.startswith(head)
    assert "reservations" not in moved
    assert limits in moved


def test_volumes_and_devices_that_are_there_are_added_to() -> None:
    text = HEAD.replace(
        "    deploy", '    volumes:\n      - ./x:/x  # data\n    devices:\n      - "/dev/fuse"\n    deploy'
    )
    moved = _moved(text + BY_DRIVER)
    assert "      - ./x:/x  # data\n" + DRIVER in moved
    assert '      - "/dev/fuse"\n      - "/dev/davinci0:/dev/davinci0"\n' in moved
    assert "deploy" not in moved


def test_gpus_of_a_service() -> None:
    assert _moved(SERVICE + "    gpus: 2\n" + BEHIND) == SERVICE + NPUS + "    volumes:\n" + DRIVER + BEHIND
    assert _moved(SERVICE + "    gpus: all\n").count("/dev/davinci") == 2 * 9


def test_a_runtime_with_its_cards_needs_no_list() -> None:
    text = HEAD.replace(
        "    deploy", "    runtime: nvidia\n    environment:\n      - NVIDIA_VISIBLE_DEVICES=0,1\n    deploy"
    )
    assert _moved(text + BY_DRIVER) == (
        SERVICE + "    runtime: ascend\n    environment:\n      - ASCEND_VISIBLE_DEVICES=0,1\n"
    )
    without = HEAD.replace("    deploy", "    runtime: nvidia\n    deploy")
    assert "/dev/davinci1:" in _moved(without + BY_DRIVER)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + BY_DRIVER + OTHERS,
        HEAD + BY_DRIVER + BY_CAPABILITY,
        HEAD + BY_DRIVER.replace("2", "100"),
        HEAD + WITH_NUMBERS.replace('"0"', "GPU-1"),
        "services: {a: {image: project, gpus: all}}\n",
        SERVICE + "    gpus: all\n    volumes: [./x:/x]\n",
        SERVICE + "    gpus: all\n    volumes:\n      - type: bind\n        source: ./x\n        target: /x\n",
        "a:\n  gpus: all\n",
    ],
)
def test_what_cannot_be_told_is_left_to_a_person(text: str) -> None:
    assert _moved(text) == text
