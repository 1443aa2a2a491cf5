from typing import Literal


class Settings:
    kind: Literal["npu", "cpu"] = "npu"


def run(kind: Literal["npu", "cpu"] = "npu"):
    return kind
