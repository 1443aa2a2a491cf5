"""What a container with NPUs needs, and the rules for recipes and manifests that ask for GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.frameworks.variables import TENSORFLOW
from npuify.knowledge.tensorflow.lines import choose_adapter, newest_python
from npuify.knowledge.tensorflow.tables import adapters
from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.environment.serving_images import judge_serving_image
from npuify.rules.text_file import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.text_file import Replacement, TextFile

DEVICES = "--device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc"
"""Device files that every container with NPUs needs beside /dev/davinciN, as docker's options."""
MOUNTS = (
    "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/dcmi:/usr/local/dcmi:ro "
    "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro -v /etc/ascend_install.info:/etc/ascend_install.info:ro"
)
"""The driver of the host, as docker's options."""
CONTAINER_NEEDS = (
    "a container with NPUs needs /dev/davinciN for each, /dev/davinci_manager, /dev/devmm_svm, /dev/hisi_hdc, and "
    "from the host /usr/local/Ascend/driver, /usr/local/dcmi, /usr/local/bin/npu-smi and /etc/ascend_install.info; "
    "with the Ascend Docker Runtime, --runtime=ascend and ASCEND_VISIBLE_DEVICES=0-7 replace all of them"
)
NVIDIA_RUNTIME = "the container runtime nvidia is for NVIDIA GPUs; the one for NPUs is called ascend"
ASCEND_RUNTIME = "it must be installed on the host, and takes the devices from ASCEND_VISIBLE_DEVICES"
NVIDIA_PLACE = re.compile(
    r"/dev/nvidia[\w*-]*|/usr/(?:local/|lib/|lib64/)(?:[\w-]+/)?nvidia\b[\w.-]*|/usr/local/cuda[\w.-]*|/(?:run|proc/driver)/nvidia\b"
    r"|/[\w./-]*/lib(?:cuda\.so|nvidia-)[\w.-]*"
)
"""Device files of NVIDIA's, and folders of a host with its driver or CUDA in them, which containers are given."""
_SOURCE = "vllm-ascend installation guide; Ascend mind-cluster documentation, Ascend Docker Runtime"


@listed(
    "NPU720",
    "cuda-base-image",
    Safety.MANUAL,
    evidence=Evidence.DOCUMENTED,
    source="Ascend/cann-container-image, naming of tags: <CANN>-<chip>-<system>-<Python>",
)
def IMAGE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802 - the decorator makes it a rule
    """An image built for CUDA; images for NPUs contain CANN and depend on the chip.

    The chip is unknown here, so nothing is edited: ``910b`` stands for Atlas A2, ``a3`` for A3, ``310p`` for 310P.
    """
    raise NotImplementedError


@listed("NPU721", "gpus-asked-of-compose", Safety.REVIEW, example_file="compose.yaml", source=_SOURCE)
def COMPOSE(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A compose file or a job's container requests NVIDIA's runtime or GPUs.

    Before::

        services:
          train:
            image: project
            runtime: nvidia

    After::

        services:
          train:
            image: project
            runtime: ascend
    """
    raise NotImplementedError


@listed(
    "NPU722",
    "gpus-asked-of-cluster",
    Safety.REVIEW,
    example_file="job.yaml",
    source="Ascend mind-cluster samples, device plugin",
)
def CLUSTER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A Kubernetes manifest requests ``nvidia.com/gpu``; Ascend's device plugin provides ``huawei.com/Ascend910``.

    This is the resource name for the training cards from the first 910 to A3; it is ``huawei.com/Ascend310P`` for the
    310P, and ``huawei.com/npu`` for the 950. A cluster that shares NPUs with HAMi uses other names.

    Before::

        apiVersion: v1
        kind: Pod
        spec:
          containers:
            - name: train
              resources:
                limits:
                  nvidia.com/gpu: 8

    After::

        apiVersion: v1
        kind: Pod
        spec:
          containers:
            - name: train
              resources:
                limits:
                  huawei.com/Ascend910: 8
    """
    raise NotImplementedError


@listed(
    "NPU723",
    "gpu-runner",
    Safety.MANUAL,
    Severity.WARNING,
    evidence=Evidence.ASSUMED,
    source="runner labels are chosen by their owner",
)
def RUNNER(node: object, file: object) -> Iterator[Finding]:  # noqa: N802
    """A workflow runs on a GPU machine; one with NPUs has other labels, which its owner chooses."""
    raise NotImplementedError


def given_to_container(place: str) -> str:
    """What is wrong with a file or folder of the host that a container is given."""
    return phrase("the container is given {place} of the host, which belongs to NVIDIA", place=place)


_MADE_FOR_CUDA = re.compile(
    r"(?:docker\.io/)?(?:nvidia/(?:cuda|cudagl|pytorch)\b|nvcr\.io/nvidia/|pytorch/pytorch:|tensorflow/tensorflow:[\w.-]*gpu"
    r"|(?:[\w./-]+/)?[\w./-]*:[\w.-]*(?:cuda|cu1[0-3]\d|cudnn)[\w.-]*|[\w./-]*\bcuda\b[\w./-]*(?::|$))",
    re.IGNORECASE,
)
_FRAMEWORK = re.compile(r"pytorch|torch", re.IGNORECASE)


def _tensorflow_advice(image: str, file: TextFile) -> str:
    """What an image for TensorFlow becomes: the adapters' Python is older than that of CANN's images."""
    line = file.run.tensorflow_around(file.relative)
    adapter = next((one for one in adapters() if one.line == line), choose_adapter(None, _version_in(image)).adapter)
    if adapter is None:
        return phrase(
            "begin with {image} (910b: Atlas A2; a3 and 310p for others; check that the tag exists); say --tf-adapter "
            "for what is to be installed into it",
            image=_WITH_CANN,
        )
    wheel = f"{adapter.package}-{adapter.version}-py3-none-manylinux2014_$(arch).whl"
    return phrase(
        "FROM {image} (910b: Atlas A2; a3 and 310p for others; check that the tag exists); its Python is too new: "
        "install Python {python} into it, and with that RUN pip install {tensorflow} {wheel}, the wheel from the "
        "adapter's release page for this CANN",
        image=_WITH_CANN,
        python=newest_python(adapter),
        tensorflow=adapter.tensorflow,
        wheel=wheel,
    )


_WITH_CANN: Final = "quay.io/ascend/cann:9.0.0-910b-ubuntu22.04-py3.11"
"""An image with a CANN that there is a release of both adapters for (``releases`` of adapters.toml)."""


def _version_in(image: str) -> str | None:
    match = re.search(r":(\d+\.\d+)", image) if image.startswith("tensorflow/") else None
    return f"=={match[1]}.*" if match else None


def is_for_cuda(image: str) -> bool:
    """Whether an image's name says that it is made for CUDA."""
    if image.startswith(("/", "$", ".")) or re.search(r"\s|:[/$](?!\{)|=", image):
        # A folder, a search path, a variable: no image.
        return False
    if "/" not in image and ":" not in image:
        return False
    return "cpu" not in image.lower().rpartition("/")[2] and _MADE_FOR_CUDA.match(image) is not None


def judge_image(
    image: str, place: tuple[int, int], file: TextFile, command: Sequence[Replacement | None] | None = None
) -> None:
    """Report an image that is made for CUDA.

    Args:
        image: the image.
        place: where it stands.
        file: gets the finding.
        command: for an image that serves models; see :func:`judge_serving_image`.
    """
    if judge_serving_image(image, place, file, command) or not is_for_cuda(image):
        return
    is_of_tensorflow = file.framework == TENSORFLOW or "tensorflow" in image
    file.report(
        IMAGE,
        place,
        phrase("the image {image} is built for CUDA", image=image),
        subject=image.partition(":")[0],
        advice=_tensorflow_advice(image, file) if is_of_tensorflow else _torch_advice(image, file),
    )


def _torch_advice(image: str, file: TextFile) -> str:
    """What any other image becomes: one with the CANN of the release aimed at."""
    from npuify import knowledge

    info = next((row for row in knowledge.releases() if row.torch_npu == file.release.torch_npu), None)
    cann = info.cann.lower() if info is not None and info.cann else "CANN"
    python = next((one for one in ("3.11", "3.10") if info is not None and one in info.pythons), "3.10")
    also = (
        phrase(", with torch and torch-npu {torch_npu} installed into it", torch_npu=file.release.torch_npu)
        if _FRAMEWORK.search(image)
        else ""
    )
    return phrase(
        "use one with CANN, such as quay.io/ascend/cann:{cann}-910b-ubuntu22.04-py{python} "
        "(910b: Atlas A2; a3 and 310p for others; check that the tag exists){also}",
        cann=cann,
        python=python,
        also=also,
    )
