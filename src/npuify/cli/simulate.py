"""``npuify simulate``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from npuify.cli.options import ModuleOption, ProgramArgument, PythonOption, size_in_bytes


class Policy(str, Enum):
    """What happens at an operator that the release has no NPU kernel for."""

    WARN = "warn"
    ERROR = "error"
    OFF = "off"


class Engine(str, Enum):
    """Which device stands behind ``npu``."""

    AUTO = "auto"
    NATIVE = "native"
    PYTHON = "python"


CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": True, "allow_extra_args": True}


def simulate(
    program: ProgramArgument = None,
    module: ModuleOption = None,
    devices: Annotated[int, typer.Option(min=1, max=64, help="How many NPUs the machine has.")] = 8,
    memory: Annotated[str, typer.Option(help="Memory of each NPU, such as 32GiB.")] = "64GiB",
    soc: Annotated[str, typer.Option(help="The chip, such as Ascend910B1 or Ascend910A.")] = "Ascend910B1",
    torch_npu: Annotated[
        str,
        typer.Option(
            metavar="VERSION", help="The torch_npu release to stand for; default: the one of the installed torch."
        ),
    ] = "",
    policy: Annotated[
        Policy, typer.Option(help="At an operator without an NPU kernel in that release: warn, error, or off.")
    ] = Policy.WARN,
    cpu_random: Annotated[
        bool,
        typer.Option("--cpu-random", help="Draw the NPU's random numbers from the CPU's generator, to compare runs."),
    ] = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="The device: compiled (native), or without a compiler, with gaps (python); auto takes what there is."
        ),
    ] = Engine.AUTO,
    python: PythonOption = "",
) -> int:
    """Run a program on simulated NPUs, on any machine with PyTorch for the CPU.

    The program sees torch_npu, torch.device("npu"), torch.npu, and the backend hccl; the CPU computes. This shows that
    a migrated program runs. It does not show an NPU's numbers, speed or limits. The program's exit code is given back.

    Examples: npuify simulate train.py --epochs 1; npuify simulate --devices 2 torchrun --nproc_per_node 2 train.py
    """
    from npuify.simulator.launch import run
    from npuify.simulator.settings import Settings

    settings = Settings(
        devices=devices,
        memory=size_in_bytes(memory),
        torch_npu=torch_npu,
        soc=soc,
        policy=policy.value,
        cpu_random=cpu_random,
        engine=engine.value,
    )
    arguments = list(program or [])
    return run(settings, [module, *arguments] if module else arguments, module=bool(module), python=python)
