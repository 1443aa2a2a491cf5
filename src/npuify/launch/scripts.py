"""The launch scripts of a job, as texts."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from npuify.knowledge.machine.launching import launchers
from npuify.language import phrase
from npuify.language.code import code_in_language
from npuify.launch.changes import passes_argument, spawns_itself
from npuify.launch.template import filled, plain
from npuify.launch.tensorflow import parameter_servers
from npuify.launch.vllm import UNIT, set_in_words, unit, vllm_set
from npuify.scripts.environment import environment_script
from npuify.scripts.template import in_language

if TYPE_CHECKING:
    from npuify.launch.job import Job
    from npuify.launch.program import Program

RUN = "run.sh"
VENDOR = "run_distributed_npu.sh"
"""The name under which the vendor's converter writes its launch script."""


def scripts(
    job: Job, program: Program, output: Path, *, vendor_script: bool = False, interface: str = ""
) -> dict[str, str]:
    """The files of a job, by name: ``run.sh``, ``env.sh`` and what the way needs beside them.

    Args:
        output: the folder that they will lie in, from which they find the program.
        vendor_script: also ``run_distributed_npu.sh``, with the variables and logs of the vendor's.
        interface: the host's network interface through which machines meet; empty: HCCL chooses.
    """
    made = {
        RUN: _run(job, program, output),
        "env.sh": environment_script(
            job.release, nodes=job.nodes, interface=interface, tensorflow=job.method == "tensorflow"
        ),
    }
    if job.method == "vllm":
        made[UNIT] = unit(job, output / RUN)
    if job.method == "spawn" and spawns_itself(program) is None:
        made["spawn_ranks.py"] = code_in_language(plain("spawn_ranks.py"))
    if vendor_script:
        made[VENDOR] = _shell(
            job,
            output,
            name=VENDOR,
            logs="output_npu_N.log beside this script",
            log_name="output_npu_$1.log",
            log_folder="$here",
            variables="RANK_ID=$rank RANK_SIZE=$WORLD_SIZE DEVICE_ID=$local_rank",
        )
    return made


def _run(job: Job, program: Program, output: Path) -> str:
    own = spawns_itself(program)
    if own is not None:
        return filled(
            "run_plain.sh",
            settings=_settings(job, output, RUN),
            entry=job.entry,
            usage=_usage(job, RUN),
            module_flag=_module_flag(job),
            spawns_at=f"{own.file}, line {own.line}",
        )
    if job.method == "vllm":
        return filled(
            "run_vllm.sh",
            settings=_settings(job, output, RUN),
            entry=job.entry,
            usage=_usage(job, RUN),
            set=set_in_words(vllm_set()),
        )
    if job.method in ("shell", "tensorflow"):
        return _run_ranks(job, output)
    if job.method == "spawn":
        return filled(
            "run_spawn.sh",
            settings=_settings(job, output, RUN),
            entry=job.entry,
            usage=_usage(job, RUN),
            module_flag=_module_flag(job),
        )
    launcher = launchers()[job.method]
    filters = bool(launcher.filter_since) and Version(job.release.torch) >= Version(launcher.filter_since)
    options = ""
    if job.method == "launch" and not passes_argument(job, program):
        options = "--use-env "
    elif job.method == "torch_npu_run":
        # Releases up to 2.4 take the endpoint from here only.
        options = '--rdzv-endpoint "$MASTER_ADDR:$MASTER_PORT" '
    return filled(
        "run_torchrun.sh",
        settings=_settings(job, output, RUN),
        entry=job.entry,
        title=launcher.title,
        module=launcher.module,
        usage=_usage(job, RUN),
        own_options=options,
        filter="--local-ranks-filter 0 " if filters else "",
        shown=phrase("rank 0 of this machine is") if filters else phrase("all ranks of this machine are"),
        module_flag=_module_flag(job),
    )


def _run_ranks(job: Job, output: Path) -> str:
    """A script in which the shell itself starts a process for each card."""
    log_name = "rank_$((NODE_RANK * CARDS + $1)).log"
    script = partial(_shell, job, output, name=RUN, logs="logs/rank_N.log", log_name=log_name)
    if job.method != "tensorflow":
        return script()
    script = partial(script, variables="DEVICE_ID=$local_rank ASCEND_DEVICE_ID=$local_rank")
    if job.file is None or parameter_servers(job.file) is None:
        return script(
            before=in_language(plain("tensorflow_ranks.sh")),
            for_rank="    if [[ -n ${RANK_SIZE:-} ]]; then export RANK_ID=$rank; fi\n",
        )
    return script(
        before=in_language(plain("tensorflow_servers.sh")),
        for_rank=plain("tensorflow_task.sh"),
        beside=filled("tensorflow_beside.sh", module_flag=_module_flag(job)),
        watch=plain("tensorflow_watch.sh"),
        ending=plain("tensorflow_ending.sh"),
    )


def _shell(
    job: Job,
    output: Path,
    *,
    name: str,
    logs: str,
    log_name: str,
    log_folder: str = "$here/logs",
    variables: str = "",
    before: str = "",
    for_rank: str = "",
    beside: str = "",
    watch: str = "",
    ending: str = "",
) -> str:
    return filled(
        "run_shell.sh",
        settings=_settings(job, output, name, log_folder),
        entry=job.entry,
        usage=_usage(job, name),
        logs=logs,
        log_name=log_name,
        extra_variables=f" \\\n        {variables}" if variables else "",
        before_ranks=before,
        for_rank=for_rank,
        beside=beside,
        watch=watch,
        ending=ending,
        module_flag=_module_flag(job),
    )


def _settings(job: Job, output: Path, name: str, log_folder: str = "$here/logs") -> str:
    try:
        folder = Path(os.path.relpath(job.folder, output)).as_posix()
        to_folder = f'"$here"/{shlex.quote(folder)}' if folder != "." else '"$here"'
    except ValueError:  # on another drive
        to_folder = shlex.quote(job.folder)
    program = shlex.join((job.entry, *job.arguments))
    if "$" in program or "`" in program:
        program_note = "# shellcheck disable=SC2016 # the program gets these as they are\n"
    else:
        program_note = ""
    return filled(
        "settings.sh",
        to_folder=to_folder,
        script=name,
        cards=str(job.cards or ""),
        nodes=str(job.nodes),
        node_rank="0" if job.nodes == 1 else "",
        master=job.master,
        port=str(job.port),
        log_folder=log_folder,
        program=f"{program_note}program=({program})",
        visible=_visible(job),
    )


def _visible(job: Job) -> str:
    if all(cards == tuple(range(len(cards))) for cards in job.visible):
        return ""
    lists = " ".join(f'"{",".join(map(str, cards))}"' for cards in job.visible)
    return phrase(
        "\ncards_of=({lists})    # the cards that take part, by machine\nexport "
        "ASCEND_RT_VISIBLE_DEVICES=${{ASCEND_RT_VISIBLE_DEVICES:-${{cards_of[NODE_RANK]}}}}",
        lists=lists,
    )


def _usage(job: Job, name: str) -> str:
    if job.nodes == 1:
        return f"#     bash {name}"
    first = f"#     NODE_RANK=0 bash {name}    # " + phrase("on {machine}", machine=job.master)
    others = (
        phrase("on the other machine") if job.nodes == 2 else phrase("on the next, up to {value}", value=job.nodes - 1)
    )
    return f"{first}\n#     NODE_RANK=1 bash {name}    # {others}"


def _module_flag(job: Job) -> str:
    return "-m " if job.module else ""
