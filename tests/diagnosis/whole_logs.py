"""The logs of ``tests/data/diagnose/whole``: read, filled up with what real logs repeat, and diagnosed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from npuify.diagnosis.collect import Collector
from npuify.diagnosis.judge import judge
from npuify.diagnosis.reading import rank_of_path

from .samples import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.diagnosis.model import Diagnosis

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHOLE: Final = FOLDER / "whole"

_NOISE: Final = """\
/opt/conda/lib/python3.10/site-packages/torch_npu/utils/collect_env.py:58: UserWarning: Warning: The /usr/local/Ascend/ascend-toolkit/latest owner does not match the current owner.
  warnings.warn(f"Warning: The {path} owner does not match the current owner.")
[W compiler_depend.ts:659] Warning: 0Failed to find function aclrtCreateEventExWithFlag (function operator())
/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:1826: FutureWarning: Using a non-full backward hook is deprecated and will be removed in a future version.
  self._maybe_warn_non_full_backward_hook(args, result, grad_fn)
[W VariableFallbackKernel.cpp:51] Warning: CAUTION: The operator 'aten::isin.Tensor_Tensor_out' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)"""
_TORCHRUN: Final = """\
Traceback (most recent call last):
  File "/opt/conda/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/opt/conda/lib/python3.10/site-packages/torch/distributed/launcher/api.py", line 269, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
{script} FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_10:12:05
  host      : node1
  rank      : {rank} (local_rank: {rank})
  exitcode  : {code} (pid: 4103)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""
_TOKEN: Final = re.compile(r"<<(\w+)(?: ([^>]*))?>>")


def whole_logs(name: str) -> list[dict[str, Any]]:
    """The logs of a set."""
    return list(tomllib.loads((WHOLE / f"{name}.toml").read_text(encoding="utf-8"))["log"])


def first_of(name: str) -> tuple[int, list[str]]:
    """How many of a set were right when it was new, and the ids of those that were not."""
    head = tomllib.loads((WHOLE / f"{name}.toml").read_text(encoding="utf-8"))
    return int(head["right_at_first"]), [str(one) for one in head["missed_at_first"]]


def _filled(text: str) -> str:
    return _TOKEN.sub(lambda found: "\n".join(_lines(found[1], (found[2] or "").split())), text)


def _lines(kind: str, words: list[str]) -> Iterator[str]:
    if kind == "noise":
        yield _NOISE
    elif kind == "tqdm":
        count = int(words[0])
        for step in range(count):
            bar, loss = "█" * (step // 3), 2.5 - step / 40
            yield f"\r{step / count:4.0%}|{bar:<10}| {step}/{count} [00:{step:02}<00:59,  1.02it/s, loss={loss:.3f}]"
    elif kind == "steps":
        for step in range(1, int(words[0]) + 1):
            yield (
                f" iteration {10 * step:8d}/    2000 | elapsed time per iteration (ms): 812.3 | learning rate: 1.0E-05"
                f" | lm loss: 2.{99 - step}E+00 | loss scale: 1.0 | grad norm: 0.8 | number of skipped iterations: 0 |"
            )
    elif kind == "torchrun":
        yield _TORCHRUN.format(rank=words[0], code=words[1], script=words[2])
    elif kind == "cr":
        yield "\r"
    elif kind == "ansi":
        yield "\x1b[1;32m"
    elif kind == "off":
        yield "\x1b[0m"
    else:
        raise ValueError(kind)


def diagnosed_whole(log: dict[str, Any]) -> Diagnosis:
    """The diagnosis of a log with all its files."""
    collector = Collector()
    for file in log["file"]:
        collector.start_file(file["name"], *rank_of_path(Path(file["name"])))
        text = _filled(file["text"])
        collector.feed((text.replace("\n", "\r\n") if log.get("crlf") else text).encode())
    collector.end_file()
    return judge(collector)


def is_right_of(log: dict[str, Any], found: Diagnosis) -> bool:
    """Whether cause and rank are those of the label, and the answer names what it has to."""
    cause = "none" if found.confidence.value == "nothing" else found.cause
    if cause not in log["cause"]:
        return False
    if log.get("rank") and (found.first.rank if found.first is not None else "") != log["rank"]:
        ranks = [one.rank for one in found.ranks if one.said == "first cause"]
        if ranks != [log["rank"]]:
            return False
    said = said_of(found)
    return all(word.lower() in said for word in log["says"])


def said_of(found: Diagnosis) -> str:
    """Everything that the answer says of its cause, in small letters."""
    parts = [found.title, found.why, found.fix, *found.commands, found.exception, found.operator, *found.notes]
    if found.frame is not None:
        parts.append(found.frame.file)
    if found.first is not None:
        parts += [found.first.place.text, found.first.name, found.first.meaning]
    return " ".join(parts).lower()
