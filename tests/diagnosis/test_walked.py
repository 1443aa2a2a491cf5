"""The tables of frameworks, walked: each row in the logs that would show it has to be named by the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from npuify.diagnosis.known.tables import LAUNCHERS
from npuify.knowledge.frameworks.paddle import paddle_names
from npuify.knowledge.frameworks.stacks import stack_programs, stack_rows, stacks
from npuify.knowledge.frameworks.vllm import engine_arguments, vllm_sets
from npuify.knowledge.frameworks.vllm_internals import internals
from npuify.knowledge.hand_written import environment
from npuify.knowledge.release.versions import releases
from npuify.knowledge.third_party.members import members

from .samples import diagnosed

if TYPE_CHECKING:
    from npuify.diagnosis.model import Diagnosis

SITE: Final = "/e/lib/python3.11/site-packages"
HEAD: Final = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 40, in main\n    run()\n'


def raised(exception: str, file: str = "") -> Diagnosis:
    """The diagnosis of an exception that a file of an installed package raises; empty: the program itself."""
    frame = f'  File "{SITE}/{file}", line 7, in work\n    work()\n' if file else ""
    return diagnosed(f"{HEAD}{frame}{exception}\n")


@pytest.mark.parametrize(
    "form",
    [
        "ImportError: cannot import name '{name}' from '{module}' (/e/lib/python3.11/site-packages/x.py)",
        "AttributeError: module '{module}' has no attribute '{name}'",
    ],
)
def test_names_of_packages_for_cuda(form: str) -> None:
    wrong = []
    for name, row in members().items():
        module, _, last = name.rpartition(".")
        if any(name == one for one in row.modules):
            continue  # every name below it
        found = raised(form.format(name=last, module=module))
        if found.cause != "cuda-only-package" or found.why != row.message:
            wrong.append((name, found.cause, found.first and found.first.name))
    assert wrong == []


@pytest.mark.parametrize("form", ["No module named '{module}'", "No module named '{module}.below'"])
def test_modules_of_packages_for_cuda(form: str) -> None:
    wrong = []
    for module in sorted({module for row in members().values() for module in row.modules}):
        found = raised("ModuleNotFoundError: " + form.format(module=module))
        # A package that there is for the CPU as well may be there, in another release.
        fits = {"cuda-only-package", "missing-package", "version-mismatch"}
        if found.cause not in fits:
            wrong.append((module, found.cause))
    assert wrong == []


@pytest.mark.parametrize(
    "form",
    [
        "vllm serve: error: unrecognized arguments: {option}",
        "api_server.py: error: unrecognized arguments: --mine {option} 3",
        "vllm serve: error: argument {option}/-x: expected one argument",
    ],
)
def test_options_of_vllm(form: str) -> None:
    wrong = []
    for name, rows in engine_arguments().items():
        found = diagnosed(form.format(option=f"--{name.replace('_', '-')}") + "\n")
        if found.cause != "usage" or found.why != rows[0].message:
            wrong.append((name, found.cause, found.why))
    assert wrong == []


def test_values_of_options_of_vllm() -> None:
    wrong = []
    for name, rows in engine_arguments().items():
        for row in rows:
            for value in row.values:
                shown = value.replace("*", "")
                if not row.means(shown):
                    continue  # the pattern wants more in front or behind
                line = f"vllm serve: error: argument --{name.replace('_', '-')}: invalid choice: '{shown}' (choose from 'a', 'b')\n"
                found = diagnosed(line)
                first = next(one for one in rows if one.means(shown))
                if (found.cause, found.why) != ("usage", first.message):
                    wrong.append((name, value, found.why))
    assert wrong == []


def test_options_of_stacks() -> None:
    wrong, tried = [], 0
    for program in stack_programs():
        for row in stack_rows(program.stack):
            takes = "option" in row.spelled and program.stack != "verl"  # Hydra reads its overrides, not argparse
            for command in program.commands[:1] if takes else ():
                tried += 1
                called = command.split()[-1].rpartition(".")[2] + ".py" if command.startswith("-m") else command
                line = f"{called}: error: unrecognized arguments: --{row.names[0].replace('_', '-')} x\n"
                found = diagnosed(line)
                if found.cause != "usage" or found.first is None or not found.first.name.startswith("option-"):
                    wrong.append((program.stack, row.names[0], called, found.why))
    assert wrong == [] and tried >= 5


def test_names_inside_vllm() -> None:
    wrong = []
    for row in internals():
        for name in (row.name, *row.also):
            module, _, last = name.removesuffix("*").removesuffix(".").rpartition(".")
            texts = (
                [f"ModuleNotFoundError: No module named '{module}.{last}.part'"]
                if name.endswith(".*")
                else [
                    f"ImportError: cannot import name '{last}' from '{module}' ({SITE}/x.py)",
                    f"AttributeError: module '{module}' has no attribute '{last}'",
                ]
            )
            for text in texts:
                found = raised(text)
                missing = found.cause == "version-mismatch" and last in found.why  # a part of another release
                if found.why != row.message and not missing:
                    wrong.append((name, text[:40], found.cause, found.why))
    assert wrong == []


def test_names_of_paddle() -> None:
    wrong = []
    for name, row in paddle_names().items():
        if name.endswith("*"):
            continue
        module, _, last = name.rpartition(".")
        for text in (
            f"ValueError: The API {name} is not supported in CPU-only PaddlePaddle. Please reinstall PaddlePaddle with GPU support to call this API.",
            f"AttributeError: module '{module}' has no attribute '{last}'",
        ):
            found = raised(text)
            if (found.cause, found.why) != ("cuda-left", row.message):
                wrong.append((name, found.cause, found.why))
    assert wrong == []


@pytest.mark.parametrize(
    ("form", "cause"),
    [
        ("ERROR: No matching distribution found for torch-npu=={version}", "no-such-version"),
        ("ERROR: Could not find a version that satisfies the requirement torch-npu=={version} (from versions: 2.1.0)", "no-such-version"),
        ("torch-npu {version} requires torch=={torch}, but you have torch 2.99.0 which is incompatible.", "version-mismatch"),
        ("torch_npu {version} requires torch=={torch}, but you have torch 2.99.0+cpu which is incompatible.", "version-mismatch"),
    ],
)  # fmt: skip
def test_releases_of_torch_npu(form: str, cause: str) -> None:
    wrong = []
    for row in releases():
        found = diagnosed(form.format(version=row.torch_npu, torch=row.torch) + "\n")
        told = f"torch_npu {row.torch_npu} belongs to torch {row.torch}"
        if found.cause != cause or not found.why.startswith(told) or row.cann not in found.why:
            wrong.append((row.torch_npu, found.cause, found.why))
    assert wrong == []


@pytest.mark.parametrize(
    ("form", "causes"),
    [
        ("vllm-ascend {plugin} requires torch=={torch}, but you have torch 2.99.0 which is incompatible.", {"vllm-wheels-conflict"}),
        ("   vllm-ascend {plugin} depends on torch=={torch}", {"vllm-wheels-conflict"}),
        ("ERROR: No matching distribution found for vllm-ascend=={plugin}", {"no-such-version"}),
        ("ERROR: Cannot install vllm=={vllm} and vllm-ascend=={plugin} because these package versions have conflicting dependencies.", {"vllm-wheels-conflict"}),
    ],
)  # fmt: skip
def test_sets_of_vllm(form: str, causes: set[str]) -> None:
    wrong = []
    for row in vllm_sets():
        found = diagnosed(form.format(plugin=row.plugin, torch=row.torch, vllm=row.vllm[0]) + "\n")
        if found.cause not in causes or f"torch_npu {row.torch_npu}" not in found.why:
            wrong.append((row.plugin, found.cause, found.why))
    assert wrong == []


def test_variables() -> None:
    wrong = []
    for name, row in environment().items():
        demanded = raised(f"KeyError: '{name}'")
        told = "cuda-left" if row.action != "keep" else "usage"
        if name in _OTHERWISE:
            continue
        if LAUNCHERS.fullmatch(name):
            assert demanded.cause == "launched-alone" and demanded.why.startswith(name)
            continue
        if (demanded.cause, demanded.why) != (told, row.message):
            wrong.append((name, demanded.cause, demanded.why))
        refused = raised(f"RuntimeError: {name} should be 0 or 1.")
        if "_" in name and (refused.cause not in ("usage", "hccl-settings") or refused.why != row.message):
            wrong.append((name, refused.cause, refused.why))
    assert wrong == []


_OTHERWISE: Final = {"CUDA_HOME"}
"""Asked for by builders of CUDA's code, which is the answer then."""


def test_stacks_say_since_when_they_know_an_npu() -> None:
    wrong = []
    for row in {one.name: one for one in stacks().values()}.values():
        module = next(name for name in row.names if not name.startswith("-")).replace("-", "_")
        found = raised("ValueError: Unsupported device type: npu", f"{module}/device.py")
        if found.cause != "no-npu-branch" or row.name not in found.why or row.since not in found.why:
            wrong.append((row.name, module, found.cause, found.why))
    assert wrong == []
