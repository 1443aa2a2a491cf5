"""What the tables of frameworks say of the options, variables, names and releases that a line speaks of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.knowledge.frameworks.paddle import paddle_name
from npuify.knowledge.frameworks.stacks import stack_arguments, stack_programs, stacks
from npuify.knowledge.frameworks.vllm import engine_arguments, vllm_sets
from npuify.knowledge.frameworks.vllm_internals import internal
from npuify.knowledge.hand_written import environment
from npuify.knowledge.release.versions import releases
from npuify.knowledge.third_party.members import named_member
from npuify.language import commas, phrase, sentences
from npuify.model import Evidence

from .signatures import Match

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.diagnosis.model import Frame
    from npuify.knowledge.frameworks.stacks import StackArgument
    from npuify.knowledge.frameworks.vllm import EngineArgument, VllmSet
    from npuify.knowledge.schema import ReleaseInfo

SPEAKS: Final = re.compile(
    r": error: |KeyError: '[A-Z]|[A-Z]_[A-Z].* (?:should|must) be |cannot import name|No module named|has no attribute"
    r"|CPU-only PaddlePaddle|torch[-_]npu|vllm-ascend|npu"
)
"""Lines that may speak of something in the tables of frameworks."""

_REFUSED: Final = re.compile(
    r"^(?P<program>[\w./ -]*?): error: (?:.*?unrecognized arguments: (?P<unknown>--.*)"
    r"|argument (?P<option>--[\w.-]+).*?: (?:invalid choice: '(?P<value>[^']*)'|(?:expected|invalid)\b)?)"
)
"""What argparse says of options."""
_VARIABLE: Final = re.compile(
    r"KeyError: '(?P<key>[A-Z][A-Z0-9_]+)(?:'|$)|\b(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+) (?:should|must) be\b"
)
LAUNCHERS: Final = re.compile(
    r"(?:LOCAL_|NODE_|GROUP_|GLOBAL_)?RANK|(?:LOCAL_|GROUP_)?WORLD_SIZE|MASTER_(?:ADDR|PORT)|LOCAL_PROCESS_INDEX|NNODES"
    r"|TORCHELASTIC_\w+|SLURM_\w+|OMPI_\w+|PMIX?_\w+|MV2_\w+|PBS_\w+|LSB_\w+"
)
"""Variables of torchrun, Slurm, Open MPI and the other launchers and schedulers."""
_NAME: Final = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<source>[\w.]+)'|No module named '(?P<module>[\w.]+)'"
    r"|module '(?P<owner>[\w.]+)' has no attribute '(?P<attribute>\w+)'"
)
_PARTS_FOR_CUDA: Final = re.compile(
    r"vllm\.(?:_C|_moe_C|_custom_ops|vllm_flash_attn|platforms\.cuda"
    r"|distributed\.device_communicators\.(?:pynccl|cuda_|custom_all))"
)
"""Parts of vLLM that are missing because there is no CUDA; others that are missing are in another release."""
_PADDLE: Final = re.compile(r"The API (?P<name>paddle\.[\w.]+) is not supported in CPU-only PaddlePaddle")
_PINNED: Final = re.compile(r"\b(?P<package>torch[-_]npu|vllm-ascend)(?: |==)(?P<version>\d[\w.]*)(?=[\s,;)]|$)")
_IN_PACKAGE: Final = re.compile(r"/(?:site|dist)-packages/(\w+)")


def table_matches(text: str, frames: Sequence[Frame], known_as: Sequence[Match]) -> list[Match]:
    """What the tables say of a line, beside what its words say.

    Args:
        text: the line.
        frames: the frames of the traceback that the line ends; may be empty.
        known_as: what the tables of texts say of it.
    """
    told = (_option(text), _variable(text), _part(text), _paddle(text), _release(text, known_as))
    return [*(one for one in told if one is not None), *_stack(frames, known_as)]


def _match(name: str, why: str, fix: str, *, cause: str, weight: int, evidence: Evidence, source: str) -> Match:
    return Match(
        name=name,
        meaning=why,
        cause=cause,
        role="cause",
        weight=weight,
        evidence=evidence,
        source=source,
        why=why,
        fix=fix,
    )


def _option(text: str) -> Match | None:
    """An option of vLLM's, or of a stack around PyTorch, that an NPU changes or that is gone."""
    found = _REFUSED.match(text)
    if found is None:
        return None
    names = re.findall(r"--([\w.-]+)", found["unknown"] or found["option"] or "")
    for name in (one.replace("-", "_") for one in names):
        row = _row_of(found["program"], name, found["value"])
        if row is not None:
            return _match(
                f"option-{name}",
                row.message,
                row.advice,
                cause="usage",
                weight=96,
                evidence=row.evidence,
                source=row.source,
            )
    return None


def _row_of(program: str, name: str, value: str | None) -> EngineArgument | StackArgument | None:
    rows: Sequence[EngineArgument | StackArgument]
    if "vllm" in program or "api_server" in program:
        rows = engine_arguments().get(name, ())
    else:
        stack = next((one.stack for one in stack_programs() if _starts(program, one.commands)), "")
        rows = stack_arguments(stack, "option").get(name, ()) if stack else ()
    return next((row for row in rows if value is None or row.means(value)), None)


def _starts(program: str, commands: Sequence[str]) -> bool:
    """Whether argparse calls a program as one of these commands would be called: by its file, or its words."""
    file = program.rpartition("/")[2].removesuffix(".py")
    return any(
        file == command.rpartition(".")[2] if command.startswith("-m ") else program.startswith(command)
        for command in commands
    )


def _variable(text: str) -> Match | None:
    """A variable of CUDA's that a program demands, or one of Ascend's with a value that is refused."""
    found = _VARIABLE.search(text)
    if found is not None and found["key"] and LAUNCHERS.fullmatch(found["key"]):
        return _of_launcher(found["key"])
    row = environment().get(found["key"] or found["name"]) if found is not None else None
    if found is None or row is None:
        return None
    demanded = bool(found["key"])
    gone = demanded and row.action != "keep"
    return _match(
        f"variable-{row.cuda}",
        row.message,
        phrase("Set {npu} in its place.", npu=row.npu) if gone and row.npu and row.action == "rename" else "",
        cause="cuda-left" if gone else "usage",
        weight=78 if demanded else 64,
        evidence=row.evidence,
        source=row.source,
    )


def _of_launcher(name: str) -> Match:
    """A variable that a launcher sets, and that is not there."""
    why = phrase("{name} is set by a launcher (torchrun, srun, mpirun); nothing has set it here.", name=name)
    return _match(
        f"variable-{name}",
        why,
        "",
        cause="launched-alone",
        weight=80,
        evidence=Evidence.DOCUMENTED,
        source="pytorch.org/docs/stable/elastic/run.html; slurm.schedmd.com/srun.html; docs.open-mpi.org",
    )


def _part(text: str) -> Match | None:
    """A name inside vLLM, or of a package with kernels for CUDA, that an NPU changes."""
    found = _NAME.search(text)
    if found is None:
        return None
    name = found["module"] or ".".join((found["source"] or found["owner"], found["name"] or found["attribute"]))
    row = internal(name) if _PARTS_FOR_CUDA.match(name) else None
    if row is not None:
        return _match(
            f"vllm-{name}",
            row.message,
            row.advice,
            cause="cuda-only-package",
            weight=96,
            evidence=row.evidence,
            source=row.source,
        )
    member = named_member(name)
    if member is not None:
        return _match(
            f"member-{name}",
            member.message,
            member.advice,
            cause="cuda-only-package",
            weight=98,
            evidence=member.evidence,
            source=member.source,
        )
    paddle = paddle_name(name)
    return _of_paddle(name) if paddle is not None else None


def _paddle(text: str) -> Match | None:
    found = _PADDLE.search(text)
    return _of_paddle(found["name"]) if found is not None else None


def _of_paddle(name: str) -> Match | None:
    row = paddle_name(name)
    if row is None:
        return None
    return _match(
        f"paddle-{name}",
        row.message,
        sentences(phrase("Use {npu}.", npu=row.npu) if row.npu else "", row.advice),
        cause="cuda-left",
        weight=96,
        evidence=row.evidence,
        source=row.source,
    )


_OF_RELEASES: Final = {"no-such-version", "version-mismatch", "vllm-wheels-conflict"}
"""What lines of installers that name a release are about."""


def _release(text: str, known_as: Sequence[Match]) -> Match | None:
    """What belongs to a release of torch_npu or vllm-ascend that a line of an installer names."""
    said = [one for one in known_as if one.cause in _OF_RELEASES]
    found = _PINNED.search(text) if said else None
    if found is None:
        return None
    cause = max(said, key=lambda one: one.weight).cause
    version = found["version"].rstrip(".")
    if found["package"] == "vllm-ascend":
        plugin = next((row for row in vllm_sets() if row.plugin == version), None)
        return _told(f"vllm-ascend-{version}", _of_plugin(plugin), cause, plugin) if plugin is not None else None
    release = next((row for row in releases() if row.torch_npu == version), None)
    if release is None:
        return None
    return _told(f"torch-npu-{version}", _of_torch_npu(release), cause, release)


def _told(name: str, why: str, cause: str, row: ReleaseInfo | VllmSet) -> Match:
    return _match(name, why, "", cause=cause, weight=97, evidence=row.evidence, source=row.source)


def _of_torch_npu(row: ReleaseInfo) -> str:
    pythons = commas(list(row.pythons))
    if not row.cann:
        return phrase(
            "torch_npu {torch_npu} belongs to torch {torch} and Python {pythons}.",
            torch_npu=row.torch_npu,
            torch=row.torch,
            pythons=pythons,
        )
    return phrase(
        "torch_npu {torch_npu} belongs to torch {torch}, CANN {cann} and Python {pythons}.",
        torch_npu=row.torch_npu,
        torch=row.torch,
        cann=row.cann,
        pythons=pythons,
    )


def _of_plugin(row: VllmSet) -> str:
    return phrase(
        "vllm-ascend {plugin} belongs to vLLM {vllm}, torch {torch}, torch_npu {torch_npu}, CANN {cann} and "
        "Python {python}.",
        plugin=row.plugin,
        vllm=commas(list(row.vllm)),
        torch=row.torch,
        torch_npu=row.torch_npu,
        cann=row.cann,
        python=row.python,
    )


def _stack(frames: Sequence[Frame], known_as: Sequence[Match]) -> Iterator[Match]:
    """Since when a library knows NPUs, where it says that it does not."""
    said = next((one for one in known_as if one.cause == "no-npu-branch"), None)
    inside = _IN_PACKAGE.search(frames[-1].file) if said is not None and frames else None
    row = stacks().get(inside[1].lower().replace("_", "-")) or stacks().get(inside[1]) if inside is not None else None
    if said is None or row is None:
        return
    if row.support == "none":
        why = phrase("{name} has no NPU form.", name=row.name)
    elif row.since:
        why = phrase("{name} knows NPUs from its release {since} on.", name=row.name, since=row.since)
    else:
        why = phrase("{name} runs on NPUs, but not in each of its parts.", name=row.name)
    yield _match(
        f"stack-{row.name}",
        why,
        phrase("Install a later {name}, or leave the part out that needs CUDA.", name=row.name),
        cause=said.cause,
        weight=min(said.weight + 1, 99),
        evidence=row.evidence,
        source=row.source,
    )
