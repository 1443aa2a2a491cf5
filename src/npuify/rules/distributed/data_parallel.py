"""Many cards: how a program spreads over them, and how each of its processes finds its own."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.packages.import_guards import asks_whether_there, has_fallback
from npuify.rules.distributed.card_selection import is_set_device
from npuify.rules.registry import rule
from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

STEPS = (
    "npuify distribute does this where it can prove it correct. By hand, run one process per card: start with "
    "torchrun, read local_rank from the environment variable LOCAL_RANK, call torch.npu.set_device(local_rank), "
    "then torch.distributed.init_process_group('hccl'), wrap the model in DistributedDataParallel(model, "
    "device_ids=[local_rank]), give the DataLoader a DistributedSampler and call its set_epoch(epoch), divide the "
    "batch size by the number of cards, and save and log only on rank 0"
)
DATA_PARALLEL = frozenset(
    ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel")
)


@rule(
    "NPU310",
    "data-parallel",
    Safety.MANUAL,
    Severity.WARNING,
    words=(".dataparallel", " dataparallel("),
    source="torch_npu replaces DataParallel in Python up to 2.12; later, libtorch_npu contains its parts",
)
def data_parallel(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``nn.DataParallel`` drives all cards from one process, which torch_npu supports poorly or not at all.

    What replaces it depends on the program: the finding lists the steps.
    """
    if file.qualname(node.func) not in DATA_PARALLEL:
        return
    release = file.release
    is_patched = any(name.startswith("torch.nn.parallel.DataParallel") for name in release.patched)
    if file.plan.style == "auto":
        yield file.report(
            node,
            "after transfer_to_npu, DataParallel looks for its parameters on CUDA, and refuses those on an NPU",
            severity=Severity.ERROR,
            evidence=Evidence.ASSUMED if is_patched else Evidence.LIVE,
            source="torch/nn/parallel/data_parallel.py asks torch.cuda.is_available, which transfer_to_npu replaces; "
            "with torch_npu 2.13.0 on one card: module must have its parameters and buffers on device cuda:0",
            subject="torch.nn.DataParallel",
            advice=phrase(
                "leave DataParallel out for one card, or use the style npu; for several cards: {STEPS}", STEPS=STEPS
            ),
        )
        return
    if is_patched:
        message = phrase(
            "torch_npu {torch_npu} patches DataParallel, but it is slow: one process feeds all cards",
            torch_npu=release.torch_npu,
        )
    else:
        message = phrase(
            "torch_npu {torch_npu} has DataParallel's parts in its own library; whether they work "
            "with several cards is unknown, and it is slow: one process feeds all cards",
            torch_npu=release.torch_npu,
        )
    # Asked of the real torch_npu 2.13.0: with one device, DataParallel hands the batch to the module.
    several = "" if names_several(node, 1) else SEVERAL
    yield file.report(node, message, subject="torch.nn.DataParallel", advice=STEPS, only_with=several)


SEVERAL: Final = "several visible cards"
"""With what DataParallel matters: with one card, it hands the batch to the module."""


def names_several(call: ast.Call, place: int) -> bool:
    """Whether the cards are written down, more than one: where there is one, the program stops, as on a GPU.

    Args:
        call: of DataParallel, or of its function.
        place: of the cards among its arguments.
    """
    given = [*call.args[place : place + 1], *(one.value for one in call.keywords if one.arg == "device_ids")]
    return any(isinstance(ids, (ast.List, ast.Tuple)) and len(ids.elts) > 1 for ids in given)


_OWNERS = ("", "self.", "args.", "dist.get_")
"""What stands before ``rank`` where it may be the rank among all machines."""


@rule(
    "NPU312",
    "global-rank-as-device",
    Safety.MANUAL,
    Severity.WARNING,
    words=(
        "set_device(",
        "set_device_index(",
        "device_ids=[",
        ":{rank}",
        ".type, rank",
        *(f"{before}({owner}rank" for before in ("cuda", "npu", "to", "device") for owner in _OWNERS),
        *(f"{quote}{device}{quote}, {owner}rank" for device in ("cuda", "npu") for owner in _OWNERS for quote in "\"'"),
        *(f"{before}{owner}.rank" for owner in ("self", "args") for before in (":{", ".type, ")),
    ),
    evidence=Evidence.REPORTED,
    source="user reports: error 107001, invalid device ID, on the second machine",
)
def global_rank_as_device(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The global rank of a process is used as its card number.

    This works on one machine. On the second machine the ranks start at 8, and there is no card 8.
    """
    name = file.qualname(node.func) or dotted_text(node.func)
    if is_set_device(name, file) or name in ("torch.cuda.device", "torch.npu.device"):
        given = node.args[0] if len(node.args) == 1 else None
    elif (name == "torch.device" and node.args) or (
        isinstance(node.func, ast.Attribute) and node.func.attr in ("cuda", "npu", "to") and len(node.args) == 1
    ):
        given = _index_of(node.args)
    else:
        ids = next((keyword.value for keyword in node.keywords if keyword.arg == "device_ids"), None)
        given = ids.elts[0] if isinstance(ids, ast.List) and len(ids.elts) == 1 else None
    if given is None or not _is_global_rank(given, file):
        return
    yield file.report(
        given,
        phrase("{given} is the global rank; cards are numbered by the local rank", given=file.code(given)),
        subject="RANK",
        advice='use int(os.environ["LOCAL_RANK"])',
    )


def _index_of(arguments: list[ast.expr]) -> ast.expr | None:
    """The number of the card in ``("cuda", n)``, ``(f"cuda:{n}",)`` or ``(n,)``."""
    first = arguments[0]
    if isinstance(first, ast.JoinedStr):
        *before, last = first.values
        text = before[-1].value if before and isinstance(before[-1], ast.Constant) else ""
        named = text in ("cuda:", "npu:") if len(before) == 1 else text == ":" and len(before) == 2
        return last.value if named and isinstance(last, ast.FormattedValue) else None
    return arguments[-1] if isinstance(arguments[-1], (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else None


def _is_global_rank(node: ast.expr, file: PythonFile) -> bool:
    if isinstance(node, ast.Name):
        values = file.assigned(node)
        return bool(values) and all(value is not None and _asks_rank(value, file) for value in values)
    if isinstance(node, ast.Attribute):
        written = dotted_text(node)
        if written is None or not node.attr.endswith("rank"):
            return False
        given = [
            one.value
            for one in file.nodes_on_lines_with(f"{written} =")
            if isinstance(one, ast.Assign) and any(dotted_text(target) == written for target in one.targets)
        ]
        # Parts of the file in which no rule looks are not parsed; one of them may give it another value.
        name = re.escape(written.encode())
        everywhere = re.findall(rb"(?m)(?<![\w.])%b\s*[-+*|&]?=(?!=)|^[ \t]*%b\s*," % (name, name), file.source.data)
        return bool(given) and len(given) == len(everywhere) and all(_asks_rank(value, file) for value in given)
    return _asks_rank(node, file)


def _asks_rank(value: ast.expr, file: PythonFile) -> bool:
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "int" and value.args:
        value = value.args[0]
    if isinstance(value, ast.Subscript):
        key = value.slice
        return dotted_text(value.value) == "os.environ" and isinstance(key, ast.Constant) and key.value == "RANK"
    if not isinstance(value, ast.Call):
        return False
    name = dotted_text(value.func) or ""
    if name in ("os.environ.get", "os.getenv"):
        first = value.args[0] if value.args else None
        return isinstance(first, ast.Constant) and first.value == "RANK"
    return name in ("dist.get_rank", "torch.distributed.get_rank") and not value.args


@rule(
    "NPU313",
    "local-rank-option",
    Safety.SAFE,
    Severity.WARNING,
    words=("--local_rank",),
    evidence=Evidence.DOCUMENTED,
    source="PyTorch 2.0: torch.distributed.launch passes --local-rank, with a dash",
)
def local_rank_option(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.distributed.launch`` passes ``--local-rank`` since PyTorch 2.0, and no supported NPU release is older.

    The edit accepts both spellings; the value keeps its name. ``torchrun`` passes nothing; the value must come from the
    environment variable ``LOCAL_RANK``.

    Before::

        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", type=int, default=0)

    After::

        import argparse
        import torch
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", "--local-rank", type=int, default=0)
    """
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "add_argument":
        return
    options = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if len(options) != len(node.args) or "--local_rank" not in options or "--local-rank" in options:
        return
    data = file.source.data
    if b"deepspeed" in data or b"accelerate" in data or (b"import torch" not in data and b"from torch" not in data):
        return
    last = node.args[-1]
    end = file.source.end(last)
    quote = file.source.segment(end - 1, end)
    editable = quote in "\"'" and not file.code(last).startswith(('"""', "'''"))
    # A parser with an option of the other spelling takes no second one, and one that is not argparse's may do anything.
    is_proven = b"argparse" in data and not re.search(rb"[\"']--local-rank", data)
    yield file.report(
        node,
        "torch.distributed.launch of PyTorch 2 passes --local-rank, which this parser rejects",
        safety=Safety.SAFE if is_proven else Safety.REVIEW,
        edits=[file.edit(end, end, f", {quote}--local-rank{quote}")] if editable else (),
        subject="--local_rank",
        advice='start with torchrun and read int(os.environ["LOCAL_RANK"])',
    )


@rule(
    "NPU314",
    "horovod",
    Safety.MANUAL,
    Severity.WARNING,
    words=("horovod.torch", "horovod import torch"),
    evidence=Evidence.DOCUMENTED,
    source="Horovod's documentation: its operations are built on MPI, NCCL, Gloo and oneCCL, not on HCCL",
)
def horovod(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """Horovod has no backend for HCCL, so it cannot distribute PyTorch over NPUs.

    An import that the code can do without is told as information.
    """
    if isinstance(node, ast.Import):
        named = any(alias.name == "horovod.torch" for alias in node.names)
    else:
        module = node.module or ""
        named = not node.level and (
            module == "horovod.torch"
            or module.startswith("horovod.torch.")
            or (module == "horovod" and any(alias.name == "torch" for alias in node.names))
        )
    if not named:
        return
    message, severity = "Horovod does not support NPUs", Severity.WARNING
    if has_fallback(node, file) or asks_whether_there(node, file):
        message, severity = "Horovod does not support NPUs. The code works without it.", Severity.INFO
    yield file.report(
        node,
        message,
        severity=severity,
        subject="horovod.torch",
        advice="use torch.distributed with hccl: hvd.init() → init_process_group('hccl'), hvd.local_rank() → "
        "LOCAL_RANK, hvd.DistributedOptimizer → DistributedDataParallel around the model, "
        "hvd.broadcast_parameters → not needed, hvd.allreduce → all_reduce divided by the world size",
    )
