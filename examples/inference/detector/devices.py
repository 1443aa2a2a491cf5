"""Device strings from the command line: "cpu", "cuda", "cuda:1", "0", "0,1"."""

import os
from dataclasses import dataclass

import torch


@dataclass
class Backend:
    """One row of the table of builds that the release page shows. ``cuda`` is the toolkit's version, not a method."""

    name: str
    cuda: str
    is_cuda: bool


BUILDS = [Backend("cpu", "", False), Backend("cu118", "11.8", True), Backend("cu126", "12.6", True)]


def matching_build() -> Backend:
    for build in BUILDS:
        if build.is_cuda and build.cuda == torch.version.cuda:
            return build
    return BUILDS[0]


def select_devices(text: str) -> list:
    text = text.strip().lower().replace("cuda:", "")
    if text == "cpu" or not torch.cuda.is_available():
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        return [torch.device("cpu")]
    if text in ("", "cuda"):
        return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    devices = []
    for index in text.split(","):
        if int(index) >= torch.cuda.device_count():
            raise SystemExit(f"invalid CUDA device {index}: there are {torch.cuda.device_count()}")
        devices.append(torch.device(f"cuda:{index}"))
    return devices


def describe(device: torch.device) -> str:
    if device.type == "cpu":
        return "cpu"
    properties = torch.cuda.get_device_properties(device)
    free, total = torch.cuda.mem_get_info(device)
    return "%s %s, %d processors, %.1f of %.1f GiB free" % (
        device,
        properties.name,
        properties.multi_processor_count,
        free / 2**30,
        total / 2**30,
    )
