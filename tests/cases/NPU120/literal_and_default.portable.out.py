from typing import Literal

import compute_device


class Settings:
    kind: Literal["cuda", "npu", "cpu"] = compute_device.type


def run(kind: Literal["cuda", "npu", "cpu"] = compute_device.type):
    return kind
