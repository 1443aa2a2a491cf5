"""``npuify simulate``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from npuify.cli.common.options import ModuleOption, ProgramArgument, PythonOption, size_in_bytes
from npuify.model import NpuifyError


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


class Framework(str, Enum):
    """Whose adapter is simulated."""

    AUTO = "auto"
    TORCH = "torch"
    TENSORFLOW = "tensorflow"


def simulate(
    program: ProgramArgument = None,
    module: ModuleOption = None,
    devices: Annotated[int, typer.Option(min=1, max=64, help="Number of NPUs.")] = 8,
    memory: Annotated[str, typer.Option(help="Memory of each NPU, such as 32GiB.")] = "64GiB",
    soc: Annotated[str, typer.Option(help="The chip, such as Ascend910B1 or Ascend910A.")] = "Ascend910B1",
    torch_npu: Annotated[
        str,
        typer.Option(
            metavar="VERSION", help="The torch_npu release to simulate; default: the one for the installed torch."
        ),
    ] = "",
    policy: Annotated[
        Policy,
        typer.Option(help="What to do at an operator without an NPU kernel in that release: warn, error, or off."),
    ] = Policy.WARN,
    cpu_random: Annotated[
        bool,
        typer.Option("--cpu-random", help="Use the CPU's generator for the NPU's random numbers, to compare runs."),
    ] = False,
    engine: Annotated[
        Engine,
        typer.Option(
            help="The device implementation: compiled (native), or in Python, with gaps (python); auto uses what is "
            "available."
        ),
    ] = Engine.AUTO,
    framework: Annotated[
        Framework,
        typer.Option(help="What the program is written for; auto: TensorFlow where it imports that and not PyTorch."),
    ] = Framework.AUTO,
    ranks: Annotated[
        int,
        typer.Option(min=0, max=64, help="TensorFlow: start the program this often, one process a card; 0: as it is."),
    ] = 0,
    record: Annotated[
        str, typer.Option(metavar="FILE", help="TensorFlow: write what a card would have got, as lines of JSON.")
    ] = "",
    python: PythonOption = "",
) -> int:
    """Run a program on simulated NPUs, on any machine with CPU PyTorch, or TensorFlow.

    The program sees torch_npu, torch.device("npu"), torch.npu, and the backend hccl; for TensorFlow npu_bridge (1.15)
    or npu_device (2.6 and later). The CPU computes. This shows that a migrated program runs. It does not show an
    NPU's results, speed or limits. Returns the program's exit code.

    Examples: npuify simulate train.py --epochs 1; npuify simulate --devices 2 torchrun --nproc_per_node 2 train.py;
    npuify simulate --ranks 2 train_keras.py
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
    if framework is not Framework.TORCH:
        from npuify.project.frameworks.tensorflow_programs import is_for_tensorflow
        from npuify.simulator.tensorflow import launch

        named = [module, *arguments] if module else arguments
        if framework is Framework.TENSORFLOW or ranks or record or is_for_tensorflow(named, bool(module)):
            return launch.run(settings, named, module=bool(module), python=python, ranks=ranks, record=record)
    elif ranks or record:
        raise NpuifyError("--ranks and --record are for TensorFlow", advice="use torchrun for several processes")
    return run(settings, [module, *arguments] if module else arguments, module=bool(module), python=python)
