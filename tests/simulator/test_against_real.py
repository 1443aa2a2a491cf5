"""The simulated torch_npu has the names of the real one, and no others.

What the real one has is in the shipped live tables, which were made by importing it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npuify.knowledge.release.imported import load_live
from npuify.knowledge.release.signatures import parse_parameters

if TYPE_CHECKING:
    from npuify.knowledge.release.imported import LiveFile

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent
PROBES = HERE.parents[1] / "tools" / "real_torch_npu" / "probes"
RELEASE = "2.13.0"
Surface = dict[str, dict[str, list[Any]]]


def simulate(*arguments: str) -> None:
    """Run a program of ours on the simulated NPU."""
    command = [sys.executable, "-m", "npuify", "simulate", "--torch-npu", RELEASE, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module", name="live")
def _live() -> LiveFile:
    if torch.__version__.partition("+")[0] != RELEASE:
        pytest.skip(f"compares with torch_npu {RELEASE}, which needs that torch; here is {torch.__version__}")
    live = load_live(RELEASE)
    assert live is not None
    return live


@pytest.fixture(scope="module", name="simulated")
def _simulated(live: LiveFile, tmp_path_factory: pytest.TempPathFactory) -> tuple[Surface, dict[str, str]]:
    """Module → name → kind and parameters, and the names that are said not to be simulated."""
    folder = tmp_path_factory.mktemp("surface")
    wanted = folder / "modules.json"
    wanted.write_text(json.dumps([name for name in live.names if name not in live.not_imported]))
    simulate(str(HERE / "surface.py"), str(wanted), str(folder / "found.json"))
    found = json.loads((folder / "found.json").read_text())
    return found["modules"], found["missing"]


@pytest.fixture(scope="module", name="patches")
def _patches(live: LiveFile, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What the simulated package changes in torch, asked in the same way as the real one."""
    output = tmp_path_factory.mktemp("patches") / "found.json"
    simulate(str(PROBES / "__main__.py"), "patches", str(output))
    found: dict[str, dict[str, str]] = json.loads(output.read_text())
    return found


def resolve(live: LiveFile, module: str, name: str) -> str:
    """The spec at the end of a chain of aliases."""
    for _ in range(10):
        spec = live.names[module][name]
        if not spec.startswith("="):
            return spec
        if spec[1:] in live.names:
            return "M"
        module, _, name = spec[1:].rpartition(".")
    raise AssertionError(f"{module}.{name} is an alias without end")


def public(live: LiveFile, module: str) -> set[str]:
    """What belongs to a module's face: its ``__all__``, operators and submodules; without ``__all__`` all it defines."""
    names = live.names[module]
    exported = set(live.exported.get(module, ())) & set(names)
    own = {n for n, spec in names.items() if not n.startswith("_") and "." not in n}
    own = {n for n in own if module not in live.exported or names[n][0] in "oM"}
    return {n for n in exported | own if not names[n].startswith("!")}


def test_every_public_name_of_the_real_one_is_there(live: LiveFile, simulated: tuple[Surface, dict[str, str]]) -> None:
    surface, _ = simulated
    wanted = {f"{m}.{n}" for m in surface for n in public(live, m) if not n.startswith("_")}
    there = {f"{m}.{n}" for m, names in surface.items() for n in names}
    # Modules that the real one loads only when they are asked for.
    lazy = {name for name in wanted if name in live.not_imported}
    assert set(surface) == {name for name in live.names if name not in live.not_imported}
    assert wanted - there - lazy == set()


def test_no_name_is_there_that_the_real_one_lacks(live: LiveFile, simulated: tuple[Surface, dict[str, str]]) -> None:
    from npuify.knowledge import load

    table = load(RELEASE).content.npu
    surface, _ = simulated
    # Variables are known from the files of the package; the live table has those only that belong to a module's face.
    variables = {f"{m}.{n}" for m, names in table.items() for n, spec in names.items() if spec == "v"}
    there = {f"{m}.{n}" for m, names in surface.items() for n in names}
    assert there - {f"{m}.{n}" for m, names in live.names.items() for n in names} - variables == set()


def test_every_operator_is_one(live: LiveFile, simulated: tuple[Surface, dict[str, str]]) -> None:
    surface, _ = simulated
    operators = {name for name, spec in live.names["torch_npu"].items() if spec == "o" and not name.startswith("_")}
    assert len(operators) > 300
    assert {name for name in operators if surface["torch_npu"][name][0] != "o"} == set()


OTHER_PARAMETERS = {
    "set_device_limit": "the real one hides its parameters behind a wrapper",
    "Stream": "the simulated one says which of **kwargs it takes",
    "SyncLaunchStream": "the simulated one says which of **kwargs it takes",
    "ExternalEvent": "the real one's are made in C++ and unknown to Python",
    "get_default_generator": "named index",
    "NpuFusedBertAdam": "the real one's lr has a mark of its own for: must be given",
    "NpuFusedSGD": "the real one's lr has a mark of its own for: must be given",
    "NpuDropPath": "no number means 0.0",
    "matmul_transpose": "the real one is an autograd function's apply",
    "save_async": "passes what it does not know to torch.save",
}
"""Names whose parameters are written differently; every other simulated function takes what the real one takes."""


def test_simulated_functions_take_what_the_real_ones_take(
    live: LiveFile, simulated: tuple[Surface, dict[str, str]]
) -> None:
    surface, missing = simulated
    differ = {}
    compared = 0
    for module, names in surface.items():
        for name, (kind, text) in names.items():
            if kind not in "fc" or text in (None, "*args,**kwargs") or f"{module}.{name}" in missing:
                continue
            real = resolve(live, module, name) if name in live.names[module] else ""
            if real[:1] not in ("f", "c") or len(real) < 2:
                continue
            compared += 1
            if parse_parameters(real[2:-1]) != parse_parameters(text) and name not in OTHER_PARAMETERS:
                differ[f"{module}.{name}"] = (real[1:], text)
    assert compared > 150
    assert differ == {}


NOT_REACHED = (
    "torch._C.",
    "torch._dynamo.",
    "torch._inductor.",
    "torch.utils._triton.",
    "torch.utils.cpp_extension.",
    "torch.cuda.amp.grad_scaler.",
    "torch.distributed.checkpoint.filesystem.",
)
"""Where transfer_to_npu changes what a simulated program does not need: compilers, extensions, private helpers."""


def test_transfer_to_npu_changes_what_the_real_one_changes(live: LiveFile, patches: dict[str, dict[str, str]]) -> None:
    real = {n for n in live.by_transfer_to_npu if not n.startswith(NOT_REACHED) and "._" not in n}
    ours = {n for n in patches["by_transfer_to_npu"] if not n.startswith(NOT_REACHED) and "._" not in n}
    assert real - ours == NOT_TRANSFERRED
    assert ours - real == TRANSFERRED_BESIDES


NOT_TRANSFERRED = {
    "torch.distributed.ProcessGroupNCCL",
    "torch.distributed.distributed_c10d.ProcessGroupNCCL",
    "torch.profiler.ProfilerAction",
}
"""The simulated backend is no class of its own, and the profiler's actions and activities are PyTorch's."""
TRANSFERRED_BESIDES = {"torch.cuda.default_generators", "torch.distributed.pipelining.stage.build_stage"}
"""The package's files name both. The first is an empty tuple there before the device is used, as CUDA's is, so that it is
seen not to change; the second belongs to a module that the real one had not loaded when it was asked."""


def test_importing_adds_what_programs_use(live: LiveFile, patches: dict[str, dict[str, str]]) -> None:
    used = ("torch.Tensor.npu", "torch.Tensor.is_npu", "torch.nn.modules.module.Module.npu", "torch.version.cann")
    for name in (*used, "torch.distributed.is_hccl_available", "torch.storage._StorageBase.npu"):
        assert name in live.by_import
        assert name in patches["by_import"], name
    assert {n for n in patches["by_import"] if n not in live.by_import and "._" not in n} == ADDED_BESIDES


ADDED_BESIDES = {"torch.Tensor.type"}
"""Takes the tensor types of NPUs, which are classes of Python's here; torch knows only their names."""
