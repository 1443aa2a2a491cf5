from dataclasses import dataclass


@dataclass
class Build:
    name: str
    is_cuda: bool


BUILDS = [Build("cu121", True), Build("cpu", False)]


def pick(build: Build):
    return [b for b in BUILDS if b.is_cuda], build.is_cuda
