"""Whether a project is one that npuify can speak of: on torch, on another framework, or on nothing that a GPU runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.knowledge.third_party.dependencies import dependency
from npuify.language import phrase
from npuify.project.kinds import kind_of_path

if TYPE_CHECKING:
    from npuify.model import Finding, ScanResult, Survey

_OTHER: Final = {
    "tensorflow": "tensorflow-gpu",
    "keras": "tensorflow-gpu",
    "jax": "jax",
    "flax": "jax",
    "paddle": "paddlepaddle-gpu",
    "mxnet": "mxnet",
}
"""Frameworks beside torch by import name, each with the package whose row says what becomes of it."""
_TOLD: Final = ("jax", "flax")
"""Frameworks of which rules tell where they are used; nothing is edited."""
_WITH_RULES: Final = frozenset(("tensorflow", "keras", "paddle"))
_WITH_ANY: Final = frozenset(
    "ray horovod onnxruntime triton nvidia.dali numba.cuda cupy pycuda pynvml nvtx tensorrt faiss".split()
)
"""Packages that do not show on which framework a project stands."""
_ASIDE: Final = frozenset(("ci", "doc", "docs", "tutorials", "test", "tests", "unit_tests"))
_DEVICE_CODES: Final = ("NPU1", "NPU2", "NPU3", "NPU5", "NPU7")
"""Codes of findings that a program without a device has not."""
_OF_ANY_TRAINING: Final = ("NPU217",)
"""Those of them that it has all the same."""
_CHOOSE_DEVICES: Final = frozenset(
    "accelerate colossalai composer deepspeed diffusers fairseq lightning mmengine pytorch_lightning ray sglang "
    "torch_npu torchtitan torchtune transformers trl vllm".split()
)
"""Packages that put a model on a device, or give a setting for it, without the program's naming one."""


_FOR_DATA = frozenset(("NPU961",))
"""Rules that tell of another framework where it prepares data."""


class Foreign(NamedTuple):
    """The framework, other than torch, on which a project stands."""

    name: str
    why: str
    """What is known of it on Ascend."""
    advice: str
    files: int
    """Files that import it."""
    first: str
    """``file:line`` of the first import."""
    has_form: bool
    """Whether it has a form for Ascend at all."""
    has_rules: bool
    """Whether there are rules for its programs."""


def foreign(scan: ScanResult) -> Foreign | None:
    """The framework on which most of the project stands; None where that is torch, or nothing."""
    others = [one for one in scan.survey.frameworks if one.name in _OTHER]
    torch = [one.files for one in scan.survey.frameworks if one.name not in _OTHER and one.name not in _WITH_ANY]
    main = max(others, key=lambda one: one.files, default=None)
    # Beside torch, files in which it only prepares data do not make the project its own.
    if main is None or main.files - (_only_data(main.name, scan) if torch else 0) <= max(torch, default=0):
        return None
    row = dependency(_OTHER[main.name], scan.release.torch_npu)
    known = row.message if row else phrase("Nothing is known about {name} on Ascend.", name=main.name)
    has_rules = main.name in _WITH_RULES
    return Foreign(
        main.name,
        known
        if has_rules or main.name in _TOLD
        else phrase("{known} npuify has no rules for programs of {name}.", known=known, name=main.name),
        row.advice if row else "",
        main.files,
        main.first,
        row is not None and row.status != "none",
        has_rules,
    )


def is_for_tensorflow(scan: ScanResult) -> bool:
    """Whether TensorFlow's adapter is what the project moves to, and not torch_npu."""
    main = foreign(scan)
    return bool(scan.tensorflow) and main is not None and main.name in ("tensorflow", "keras")


def _only_data(framework: str, scan: ScanResult) -> int:
    """How many files use a framework for data only, as far as a finding says so: JAX's are told of in each file."""
    return len({one.file for one in scan.findings if one.subject == framework and one.code in _FOR_DATA})


def has_nothing_to_move(scan: ScanResult) -> bool:
    """Whether nothing in the project was found that a GPU or an NPU would run."""
    survey: Survey = scan.survey
    return not (
        scan.narrowed or scan.findings or scan.errors or survey.frameworks or survey.kernels or survey.operators
    )


_ENVIRONMENTS: Final = frozenset(("requirements", "docker", "lock", "cmake"))
"""Kinds of files."""
_BUILDS: Final = frozenset(("setup.py", "setup.cfg", "pyproject.toml", "pipfile"))
_OF_ENVIRONMENTS: Final = ("NPU60", "NPU61", "NPU720", "NPU721", "NPU723", "NPU920", "NPU931", "NPU932", "NPU933")
"""Codes of rules that speak of requirements and images, also in scripts and workflows."""


def is_aside(file: str, survey: Survey) -> bool:
    """Whether the program runs without a file.

    That is so of tests, documentation, what sets up continuous integration and editors, and notebooks where there are
    programs.
    """
    *folders, name = file.lower().split("/")
    if not _ASIDE.isdisjoint(folders) or any(folder.startswith(".") for folder in folders):
        return True
    notebooks = (".ipynb",)
    if name.endswith(notebooks):
        return any(not one.file.endswith(notebooks) for one in survey.entry_points)
    return name.startswith((".gitlab-ci", "azure-pipelines"))


def is_environment(finding: Finding) -> bool:
    """Whether a finding says what is installed, or in which image: no line of a program waits for it."""
    name = finding.file.lower().rpartition("/")[2]
    if kind_of_path(finding.file) in _ENVIRONMENTS or name in _BUILDS:
        return True
    return finding.code.startswith(_OF_ENVIRONMENTS) and not name.endswith((".py", ".ipynb"))


def names_no_device(scan: ScanResult) -> bool:
    """Whether a project that imports torch names no GPU or NPU, and none of its frameworks chooses a device for it."""
    survey: Survey = scan.survey
    names = {one.name for one in survey.frameworks}
    if "torch" not in names or names & _CHOOSE_DEVICES or any(one.cuda_only for one in survey.frameworks):
        return False
    if scan.narrowed:
        # What names one may be among what is left out.
        return False
    named = any(one.code.startswith(_DEVICE_CODES) and one.code not in _OF_ANY_TRAINING for one in scan.findings)
    return not (named or scan.errors or survey.kernels or survey.operators)
