"""``npuify launch``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from npuify.cli.common.guard import FINDINGS_REMAIN, NOTHING_LEFT
from npuify.cli.common.options import ShortFormat, ShortFormatOption, SocOption, TorchNpuOption
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.model import Release


class Method(str, Enum):
    """What starts the processes."""

    TORCHRUN = "torchrun"
    SHELL = "shell"
    SPAWN = "spawn"
    LAUNCH = "launch"
    TORCH_NPU_RUN = "torch_npu_run"
    TENSORFLOW = "tensorflow"
    VLLM = "vllm"


def launch(
    entry: Annotated[
        str | None,
        typer.Argument(
            metavar="ENTRY", help="The program: a Python file; with -m a module, with --method vllm a model."
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGS]...", help="The program's own arguments.")
    ] = None,
    module: Annotated[bool, typer.Option("-m", help="Run ENTRY as a module, like python -m.")] = False,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="What starts the processes; default: torchrun, or tensorflow for its programs."),
    ] = None,
    cards: Annotated[
        int | None,
        typer.Option("--cards", metavar="N", help="Cards per machine; default: all present when the script runs."),
    ] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", metavar="N", help="Number of machines; default: 1.")] = None,
    master: Annotated[
        str, typer.Option("--master", metavar="ADDR", help="Host name or address of the first machine.")
    ] = "",
    port: Annotated[int, typer.Option("--port", metavar="P", help="A free port on the first machine.")] = 29500,
    interface: Annotated[
        str,
        typer.Option("--interface", metavar="NAME", help="The hosts' network interface for rendezvous, such as eth0."),
    ] = "",
    workdir: Annotated[
        Path | None,
        typer.Option(
            "--workdir",
            metavar="DIR",
            help="The working directory; default: the current one, or the project's where the scripts lie in it.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write the scripts to DIR instead of the screen."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    vendor_script: Annotated[
        bool, typer.Option("--vendor-script", help="Also write run_distributed_npu.sh, as the vendor's converter does.")
    ] = False,
    env: Annotated[bool, typer.Option("--env", help="Only write the environment script.")] = False,
    cluster: Annotated[
        Path | None,
        typer.Option("--cluster", metavar="HOSTS", help="A YAML file of machines: addresses, checks, rank table."),
    ] = None,
    torch_npu: TorchNpuOption = None,
    soc: SocOption = None,
    format: ShortFormatOption = ShortFormat.TEXT,
) -> int:
    """Write the scripts that start a program on many cards, on one or several machines.

    Every script sets each process's card, rank and world size, keeps a log for each, and stops all if one fails. The
    program is not changed; what it needs is reported, and written as a patch where that is certain. With --cluster, the
    machines' network is planned and checked.

    Examples: npuify launch train.py --cards 8 -o launch -- --epochs 90;
    npuify launch train.py --cards 8 --nodes 2 --master 10.0.0.1 --method shell -o launch;
    npuify launch Qwen/Qwen2.5-7B-Instruct --method vllm --cards 4 -o serve -- --max-model-len 8192;
    npuify launch --env -o launch; npuify launch --cluster hosts.yaml -o cluster

    Exit code: 0 if the program can be started, 1 if it must be changed first, 2 for wrong usage.
    """
    from npuify.knowledge import choose_release
    from npuify.model import NpuifyError

    release = choose_release(torch_npu, None)
    if env:
        if entry is not None or cluster is not None:
            raise NpuifyError("--env excludes other options: it only writes the environment script")
        return _environment(release, nodes or 1, interface, output, force, format)
    asked = _Asked(arguments or [], module, method, cards, nodes, master, port, interface, workdir, vendor_script)
    if cluster is not None:
        return _cluster(cluster, entry, asked, output, force, release, soc or "", format)
    if entry is None:
        raise NpuifyError(
            "specify the program to start",
            advice="npuify launch train.py --cards 8 -o launch, or --env, or --cluster HOSTS",
        )
    return _job(entry, asked, output, force, release, soc or "", format)


class _Asked(NamedTuple):
    """What the command line says of the job."""

    arguments: list[str]
    module: bool
    method: Method | None
    cards: int | None
    nodes: int | None
    master: str
    port: int
    interface: str
    workdir: Path | None
    vendor_script: bool
    visible: tuple[tuple[int, ...], ...] = ()


def _job(
    entry: str,
    asked: _Asked,
    output: Path | None,
    force: bool,
    release: Release,
    soc: str,
    format: ShortFormat,
    more: dict[str, str] | None = None,
) -> int:
    from npuify.cli.common.output import put
    from npuify.launch.answer import launch_text
    from npuify.launch.job import job
    from npuify.launch.launch import launch as make
    from npuify.report.in_language import as_json

    method = _method(entry, asked)
    made = job(
        entry,
        method=method.value,
        release=release if method is not Method.VLLM else _of_vllm(release),
        arguments=asked.arguments,
        module=asked.module,
        cards=asked.cards,
        nodes=asked.nodes or 1,
        master=asked.master,
        port=asked.port,
        soc=soc,
        folder=asked.workdir,
        output=output,
        visible=asked.visible,
    )
    result = make(made, output, vendor_script=asked.vendor_script, interface=asked.interface, force=force, more=more)
    put(as_json(result) if format is ShortFormat.JSON else launch_text(result), exact=format is ShortFormat.JSON)
    return NOTHING_LEFT if result.complete else FINDINGS_REMAIN


def _of_vllm(release: Release) -> Release:
    """The release that vLLM's plug-in decides."""
    from npuify.knowledge import choose_release, releases
    from npuify.launch.vllm import vllm_set

    fitting = [one.torch_npu for one in releases() if one.torch == vllm_set().torch]
    return choose_release(fitting[0], None) if fitting else release


def _method(entry: str, asked: _Asked) -> Method:
    from npuify.project.frameworks.tensorflow_programs import is_for_tensorflow

    if asked.method is not None:
        return asked.method
    folder = asked.workdir or Path()
    place = folder.joinpath(*entry.split(".")).with_suffix(".py").as_posix() if asked.module else entry
    return Method.TENSORFLOW if is_for_tensorflow([place]) else Method.TORCHRUN


def _cluster(
    hosts: Path,
    entry: str | None,
    asked: _Asked,
    output: Path | None,
    force: bool,
    release: Release,
    soc: str,
    format: ShortFormat,
) -> int:
    from npuify.cli.common.output import put
    from npuify.launch.answer import cluster_text
    from npuify.launch.cluster.build import build, cluster
    from npuify.model import NpuifyError
    from npuify.report.in_language import as_json

    if asked.cards is not None or asked.nodes is not None or asked.master:
        raise NpuifyError("with --cluster, --cards, --nodes and --master come from its file", file=str(hosts))
    if entry is not None:
        plan, files = cluster(hosts)
        first = plan.machines[0]
        visible = tuple(tuple(card.card for card in machine.cards) for machine in plan.machines)
        whole = asked._replace(cards=len(first.cards), nodes=len(plan.machines), master=first.address, visible=visible)
        return _job(entry, whole, output, force, release, soc, format, more=files)
    result = build(hosts, output, force=force)
    put(as_json(result) if format is ShortFormat.JSON else cluster_text(result), exact=format is ShortFormat.JSON)
    return NOTHING_LEFT


def _environment(
    release: Release, nodes: int, interface: str, output: Path | None, force: bool, format: ShortFormat
) -> int:
    import json

    from npuify.cli.common.output import put
    from npuify.launch.write import write
    from npuify.scripts.environment import environment_script

    script = environment_script(release, nodes=nodes, interface=interface)
    if output is not None:
        write({"env.sh": script}, output, force=force)
    if format is ShortFormat.JSON:
        where = str(output) if output is not None else ""
        put(
            json.dumps({"format": 1, "kind": "environment", "output": where, "files": {"env.sh": script}}, indent=2)
            + "\n"
        )
    elif output is None:
        put(script)
    else:
        put(
            phrase("written: {output}/env.sh\nload it in a shell: source {output}/env.sh\n", output=output), exact=False
        )
    return NOTHING_LEFT
