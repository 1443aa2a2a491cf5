"""Files that ask a cluster or a cloud for GPUs: Ray's clusters, SkyPilot's tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Finding
    from npuify.rules.text_file import TextFile
    from npuify.source.settings import Document, Value

_OF_RAY: Final = frozenset(("available_node_types", "head_start_ray_commands", "worker_start_ray_commands"))
_OF_SKYPILOT: Final = frozenset(("run", "setup", "num_nodes", "workdir", "file_mounts"))
_IMAGE: Final = re.compile(r"rayproject/ray(?:-ml)?:\S*-(?:gpu|cu\d+)\S*")
_OPTION: Final = re.compile(r"--gpus\b|--runtime[= ]nvidia\b")
_NUM_GPUS: Final = re.compile(r"\bray start\b.*--num-gpus\b", re.DOTALL)


@listed(
    "NPU983",
    "gpus-of-a-cluster",
    Safety.MANUAL,
    Severity.ERROR,
    example_file="cluster.yaml",
    evidence=Evidence.DOCUMENTED,
    source="docs.ray.io: cluster files; Ray Core, Accelerator Support; docs.skypilot.co: GPUs and Accelerators",
)
def CLUSTER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """A file for a cluster or a cloud asks for GPUs: Ray counts NPUs as the resource NPU, clouds may have none.

    Ray finds the cards of a machine by itself; what a node type promises has to be the resource ``NPU``. SkyPilot's
    catalogues have no Ascend NPU.
    """
    raise NotImplementedError


def judge_cluster(document: Document, file: TextFile) -> None:
    """Report what a cluster file of Ray's, KubeRay's start parameters, or a task of SkyPilot's asks for."""
    top = {path[0] for path in (*(one.path for one in document.values), *(one.path for one in document.keys)) if path}
    of_ray = not top.isdisjoint(_OF_RAY)
    for value in document.values:
        if of_ray and value.path[-2:] == ("resources", "GPU"):
            _report(
                value,
                "GPU is Ray's resource for GPUs; NPUs are the resource NPU",
                "write NPU: 8, or leave it out on machines of your own: Ray finds the cards by itself",
                file,
            )
        elif of_ray and _IMAGE.fullmatch(value.text):
            _report(
                value,
                phrase("the image {image} is built for CUDA", image=value.text),
                "build an image on CANN's with pip install ray",
                file,
            )
        elif of_ray and "docker" in value.path and _OPTION.search(value.text):
            _report(
                value,
                phrase("{option} gives a container NVIDIA's GPUs", option=value.text),
                "give it the devices of NPUs and the driver's folders",
                file,
            )
        elif (of_ray and _NUM_GPUS.search(value.text)) or value.path[-2:] == ("rayStartParams", "num-gpus"):
            _report(
                value,
                "--num-gpus is for NVIDIA GPUs; in Ray, NPUs are the resource NPU",
                """leave it out: Ray finds the cards by itself; or --resources='{"NPU": 8}'""",
                file,
            )
        elif value.path[:2] == ("resources", "accelerators") and not top.isdisjoint(_OF_SKYPILOT):
            _report(
                value,
                "SkyPilot's catalogues of clouds have no Ascend NPU",
                "start the program on an Ascend machine, by a launcher of your own",
                file,
            )


def _report(value: Value, message: str, advice: str, file: TextFile) -> None:
    subject = ".".join(part for part in value.path if part != "#")
    file.report(CLUSTER, (value.start, value.end), message, subject=subject, advice=advice)
