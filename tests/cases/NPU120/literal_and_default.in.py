from typing import Literal


class Settings:
    kind: Literal["cuda", "cpu"] = "cuda"


def run(kind: Literal["cuda", "cpu"] = "cuda"):
    return kind
