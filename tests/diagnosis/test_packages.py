"""Every package that the tables know as CUDA's, in every way in which a log shows it, with what launchers write."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import pytest

from npuify.knowledge.hand_written import packages
from npuify.knowledge.third_party.dependencies import dependencies

from .samples import diagnosed
from .test_noise import AFTER, BEFORE

if TYPE_CHECKING:
    from collections.abc import Callable

SITE: Final = "/opt/conda/lib/python3.10/site-packages"
HEAD: Final = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 12, in <module>\n    main()\n'
FOR_GPUS: Final = {"none", "fork", "replacement"}
OTHERWISE: Final = {"triton.language.extra.cuda", "pytorch3d", "numba.cuda", "tritonclient.utils.cuda_shared_memory"}
"""Answered in other ways: triton has causes of its own; PyTorch3D, and Numba and Triton's client beside their parts for CUDA, run
on the CPU."""
_A_LIBRARY: Final = re.compile(r"_cu(?:da|12)(?:_|$)")
"""Modules that are one compiled library, and no folder."""
ALSO_WORDS: Final = {"jax", "awq", "triton", "composer", "rapids", "cudnn"}
"""Their names, or a part of them, are words of other messages too."""


def _rows() -> dict[tuple[str, str], set[str]]:
    """Packages by pip's name and module, with what the tables say of them."""
    said: dict[str, set[str]] = defaultdict(set)
    rows = set()
    for module, fact in packages().items():
        for name in (module, *fact.package):
            said[name].add(fact.message)
        if module not in fact.names and fact.status in FOR_GPUS:
            rows.add((fact.package[0] if fact.package else module, module))
    for row in dependencies():
        for name in (row.name, *row.also):
            said[name].add(row.message)
        if row.status in FOR_GPUS:
            rows.add((row.name, row.name.replace("-", "_")))
    return {(pip, module): said[pip] | said[module] for pip, module in sorted(rows) if module not in OTHERWISE}


ROWS: Final = _rows()


def _frame(module: str, file: str = "__init__.py") -> str:
    return f'  File "{SITE}/{module}/{file}", line 7, in build\n    make()\n'


def _lazy_init(module: str, kind: str, text: str) -> str:
    init = f'  File "{SITE}/torch/cuda/__init__.py", line 293, in _lazy_init\n    raise {kind}("{text}")\n'
    return HEAD + _frame(module, "layers.py") + init + f"{kind}: {text}\n"


def _built(pip: str, why: str) -> str:
    return (
        f"  Building wheel for {pip} (setup.py): finished with status 'error'\n"
        "  error: subprocess-exited-with-error\n\n  × python setup.py bdist_wheel did not run successfully.\n"
        f"  │ exit code: 1\n  ╰─> [9 lines of output]\n      {why}\n      [end of output]\n\n"
        f"  ERROR: Failed building wheel for {pip}\n  Running setup.py clean for {pip}\nFailed to build {pip}\n"
        f"ERROR: Could not build wheels for {pip}, which is required to install pyproject.toml-based projects\n"
    )


def _metadata(pip: str, why: str, end: str) -> str:
    return (
        f"Collecting {pip}\n  Preparing metadata (setup.py): finished with status 'error'\n"
        '      Traceback (most recent call last):\n        File "<string>", line 2, in <module>\n'
        f'        File "/tmp/pip-install-k2x/{pip}_1f3ab9/setup.py", line 20, in <module>\n          import torch\n'
        f"      {why}\n      [end of output]\n\nerror: metadata-generation-failed\n\n"
        f"× Encountered error while generating package metadata.\n╰─> {end}\n"
    )


IMPORTS: Final[dict[str, Callable[[str, str], str]]] = {
    "not there": lambda pip, module: HEAD + f"ModuleNotFoundError: No module named '{module}'\n",
    "a part not there": lambda pip, module: HEAD + f"ModuleNotFoundError: No module named '{module}.ops'\n",
    "a folder of the name": lambda pip, module: (
        HEAD + f"ImportError: cannot import name 'forward' from '{module}' (unknown location)\n"
    ),
    "asked for by remote code": lambda pip, module: (
        HEAD + "ImportError: This modeling file requires the following packages that were not found in your "
        f"environment: {module}. Run `pip install {module}`\n"
    ),
}
"""What Python says of a module."""
INSTALLED: Final[dict[str, Callable[[str, str], str]]] = {
    "CUDA's library": lambda pip, module: (
        HEAD
        + _frame(module)
        + "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
    ),
    "symbol": lambda pip, module: (
        HEAD
        + f"ImportError: {SITE}/{module}_cuda.cpython-310-aarch64-linux-gnu.so: undefined symbol: _ZN2at4_ops4callE\n"
    ),
    "symbol of _C": lambda pip, module: (
        HEAD + f"ImportError: {SITE}/{module}/_C.abi3.so: undefined symbol: _ZNK5torch8autograd4Node4nameEv\n"
    ),
    "torch without CUDA": lambda pip, module: _lazy_init(
        module, "AssertionError", "Torch not compiled with CUDA enabled"
    ),
    "no driver": lambda pip, module: _lazy_init(module, "RuntimeError", "Found no NVIDIA driver on your system."),
    "no GPU": lambda pip, module: _lazy_init(module, "RuntimeError", "No CUDA GPUs are available"),
    "its own words": lambda pip, module: HEAD + _frame(module, "ops.py") + "RuntimeError: x must be a CUDA tensor\n",
    "its own check": lambda pip, module: HEAD + _frame(module, "ops.py") + "AssertionError\n",
    "its operator": lambda pip, module: (
        HEAD
        + _frame("torch", "_ops.py")
        + f"NotImplementedError: Could not run '{module}::forward' with arguments from the 'PrivateUse1' backend.\n"
    ),
    "its operator, as npu": lambda pip, module: (
        HEAD + f"NotImplementedError: Could not run '{module}::forward' with arguments from the 'npu' backend. "
        "This could be because the operator doesn't exist for this backend, or was omitted during the build.\n"
    ),
    "its operator unknown": lambda pip, module: (
        HEAD + f"AttributeError: '_OpNamespace' '{module}' object has no attribute 'forward'\n"
    ),
    "CUDA_HOME": lambda pip, module: (
        HEAD
        + _frame(module, "builder.py")
        + "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n"
    ),
}
"""What a package says that is installed, or what is said inside of it; for modules that are a folder of their own."""
PIP: Final[dict[str, Callable[[str, str], str]]] = {
    "CUDA_HOME": lambda pip, module: _built(pip, "OSError: CUDA_HOME environment variable is not set."),
    "nvcc": lambda pip, module: _built(pip, "error: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'"),
    "compiler": lambda pip, module: _built(pip, "error: command '/usr/bin/gcc' failed with exit code 1"),
    "name of its setup": lambda pip, module: _metadata(
        pip, "NameError: name 'bare_metal_version' is not defined", "See above for output."
    ),
    "torch while built": lambda pip, module: _metadata(pip, "ModuleNotFoundError: No module named 'torch'", pip),
    "uv": lambda pip, module: (
        f"  × Failed to build `{pip}==1.2.0`\n  ├─▶ The build backend returned an error\n"
        "  ╰─▶ Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)\n\n      [stderr]\n"
        "      RuntimeError: nvcc was not found. Are you sure your environment has nvcc available?\n"
    ),
    "no version": lambda pip, module: (
        f"ERROR: Could not find a version that satisfies the requirement {pip}>=1.2 (from versions: none)\n"
        f"ERROR: No matching distribution found for {pip}>=1.2\n"
    ),
    "another platform": lambda pip, module: (
        f"ERROR: {pip.replace('-', '_')}-1.2.0+cu121-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.\n"
    ),
    "conda": lambda pip, module: (
        "PackagesNotFoundError: The following packages are not available from current channels:\n\n"
        f"  - {pip}=1.2\n\nCurrent channels:\n"
    ),
    "metadata": lambda pip, module: (
        HEAD + f"importlib.metadata.PackageNotFoundError: No package metadata was found for {pip}\n"
    ),
    "distribution": lambda pip, module: (
        HEAD
        + f"pkg_resources.DistributionNotFound: The '{pip}>=1.0' distribution was not found and is required by the application\n"
    ),
}
"""What installers say."""
MESSAGES: Final[dict[str, Callable[[str, str], str]]] = {
    "install it": lambda pip, module: (
        HEAD + f"ImportError: Please install {pip} to use this model: `pip install {pip}`\n"
    ),
    "not installed": lambda pip, module: HEAD + f"ImportError: {pip} is not installed.\n",
    "asks for CUDA": lambda pip, module: (
        HEAD + f"ValueError: Using `{pip}` requires a CUDA device, but none was found.\n"
    ),
    "asked for": lambda pip, module: HEAD + f"AssertionError: {pip} is required but not found; install it with pip\n",
    "not available": lambda pip, module: (
        HEAD + f"RuntimeError: {pip} is not available, please check your installation\n"
    ),
    "not supported": lambda pip, module: (
        HEAD + f"ValueError: attention backend '{module}' is not supported on this device\n"
    ),
}
"""What the program, or another package, says of it."""


def _as_torchrun(log: str) -> str:
    return BEFORE + "".join(f"[rank3]: {line}\n" for line in log.splitlines()) + AFTER


def _as_ray(log: str) -> str:
    return BEFORE + "".join(f"(RayWorker pid=4711, ip=10.0.0.7) {line}\n" for line in log.splitlines()) + AFTER


def _as_vllm(log: str) -> str:
    return "".join(f"(Worker_TP1 pid=99) ERROR 03-02 10:11:12 [core.py:708] {line}\n" for line in log.splitlines())


FORMS: Final = (str, lambda log: BEFORE + log + AFTER, _as_torchrun, _as_ray, _as_vllm)


def _missed(
    way: Callable[[str, str], str], *, forms: bool, own_folder: bool = False, by_word: bool = False
) -> list[str]:
    """The packages that are not named, or without their way out; each in another form of log."""
    missed = []
    for number, ((pip, module), said) in enumerate(ROWS.items()):
        if (own_folder and ("." in module or _A_LIBRARY.search(module))) or (by_word and module in ALSO_WORDS):
            continue
        log = way(pip, module)
        found = diagnosed(FORMS[number % len(FORMS)](log) if forms else log)
        if found.cause != "cuda-only-package" or found.why not in said or not found.fix:
            missed.append(f"{module}: {found.cause}, {found.first.name if found.first is not None else ''}")
    return missed


@pytest.mark.parametrize("way", IMPORTS)
def test_a_module_that_cannot_be_imported(way: str) -> None:
    assert _missed(IMPORTS[way], forms=True) == []


@pytest.mark.parametrize("way", INSTALLED)
def test_a_package_that_is_installed_and_asks_for_cuda(way: str) -> None:
    assert _missed(INSTALLED[way], forms=True, own_folder=True) == []


@pytest.mark.parametrize("way", PIP)
def test_a_package_that_an_installer_cannot_give(way: str) -> None:
    assert _missed(PIP[way], forms=False) == []


@pytest.mark.parametrize("way", MESSAGES)
def test_a_package_that_a_message_names(way: str) -> None:
    assert _missed(MESSAGES[way], forms=True, own_folder=True, by_word=True) == []


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_one_package_in_every_form(form: int) -> None:
    for ways in (IMPORTS, INSTALLED, MESSAGES):
        for name, way in ways.items():
            assert diagnosed(FORMS[form](way("flash-attn", "flash_attn"))).cause == "cuda-only-package", name


def test_there_are_enough_packages_to_say_something() -> None:
    assert len(ROWS) >= 70


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12==12.1.3.1", "nvidia-nccl-cu12", "cuda-toolkit", "faiss-gpu-cu12"])
def test_families_of_cuda_wheels_are_known_by_how_their_names_begin(name: str) -> None:
    found = diagnosed(f"ERROR: No matching distribution found for {name}\n")
    assert found.cause == "cuda-only-package" and found.first is not None and found.first.name.startswith("package-")


@pytest.mark.parametrize("name", ["torch-npu==2.9.9", "transformers==9.9", "einops==99"])
def test_a_version_that_is_not_there_stays_one(name: str) -> None:
    assert diagnosed(f"ERROR: No matching distribution found for {name}\n").cause == "no-such-version"


@pytest.mark.parametrize("module", [module for _, module in ROWS if module.endswith("_cuda")])
def test_modules_that_are_one_compiled_file(module: str) -> None:
    found = diagnosed(
        f"{HEAD}ImportError: {SITE}/{module}.cpython-310-aarch64-linux-gnu.so: undefined symbol: _ZN2at4_ops\n"
    )
    assert found.cause == "cuda-only-package" and found.first is not None and found.first.name.startswith("package-")
