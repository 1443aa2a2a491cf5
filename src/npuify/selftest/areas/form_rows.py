"""The names and values that rows of tables put in the place of others, as statements that can be run."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from npuify import knowledge
from npuify.knowledge.pytorch.removed import removed_names
from npuify.selftest.areas.form import Form

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.schema import Counterpart, Signature

PACKAGE = Path(__file__).parents[2]
_IMPORTS = "import torch\nimport torch_npu\nfrom binding import bind\n"
_BINDING = '''\
import importlib
import inspect


def bind(function, name, /, *args, **kwargs):
    """Whether ``function``, or the method of this name of a class, takes the arguments; an error where not."""
    if name:
        kept = inspect.getattr_static(function, name)
        function = getattr(function, name)
        if not isinstance(kept, (staticmethod, classmethod)):
            args = (None, *args)
    return inspect.signature(function).bind(*args, **kwargs)


def find(name):
    """What a dotted name stands for, modules that nothing has imported yet included; an error where there is none."""
    top, *rest = name.split(".")
    found = importlib.import_module(top)
    for part in rest:
        if not hasattr(found, part) and inspect.ismodule(found):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found
'''
_NOT_CALLED = frozenset(
    "torch.npu.init torch.npu.npu.init torch.npu._sleep torch.npu.ipc_collect torch.npu.graph_pool_handle".split()
)
"""Functions without parameters that change the process for what comes after them."""


def rows(release: str) -> Iterator[Form]:
    """A form for each module of ``torch.cuda``, and for each table of replacements."""
    yield from _counterparts(release)
    yield _removed()
    yield _said()
    yield from _stand_ins()


def _counterparts(release: str) -> Iterator[Form]:
    table = knowledge.load(release)
    of_module: dict[str, list[str]] = defaultdict(list)
    for module, names in sorted(table.content.cuda.items()):
        if module.startswith("torch._C"):
            continue  # no rule speaks of torch's own bindings
        for name in sorted({"", *names}):
            cuda = f"{module}.{name}".rstrip(".")
            found = table.counterpart(cuda)
            if found is None or not found.npu or found.npu.startswith("torch.cuda"):
                continue
            theirs, ours = table.signature(cuda), table.signature(found.npu)
            owner, _, method = found.npu.rpartition(".")
            holder = table.signature(owner)
            is_member = holder is not None and holder.kind == "class"
            if is_member and (ours is None or ours.parameters is None):
                continue  # what instances have, classes need not
            lines = of_module[module]
            lines += [found.npu, *([found.npu_import] if found.npu_import else [])]
            if theirs is not None and ours is not None and theirs.parameters and ours.parameters is not None:
                lines += _bindings(found, theirs, f"{owner}, {method!r}" if is_member else f"{found.npu}, None")
            if theirs is not None and theirs.kind == "function" and found.npu not in _NOT_CALLED:
                is_plain = ours is not None and ours.parameters is not None and not found.missing_parameters
                without = all(p.default or p.kind in ("args", "kwargs") for p in theirs.parameters or ())
                if is_plain and without and not found.npu.rpartition(".")[2].startswith("_"):
                    lines.append(f"{found.npu}()")
    for module, lines in of_module.items():
        after = _IMPORTS + "".join(f"{line}\n" for line in dict.fromkeys(lines))
        yield Form(f"counterparts/{module}", _IMPORTS, after, others={"binding.py": _BINDING})


def _bindings(found: Counterpart, cuda: Signature, function: str) -> list[str]:
    """Statements that bind what a call for CUDA gives, first by place and then by name, as rules leave or write it."""
    new = dict(found.renamed_parameters)
    takes = [p for p in cuda.parameters or () if p.kind in ("positional", "both", "keyword")]
    by_place = 0
    for parameter in takes:
        if parameter.kind == "keyword" or parameter.name in (*found.missing_parameters, *found.moved_parameters):
            break
        by_place += 1
    named = [
        new.get(p.name, p.name) for p in takes if p.kind != "positional" and p.name not in found.missing_parameters
    ]
    must = [p for p in takes if p.kind == "positional"]
    out = []
    if all(p.default for p in takes[by_place:]):
        out.append(f"bind({', '.join([function, *['None'] * by_place])})")
    if not must and all(p.default for p in takes if p.name in found.missing_parameters):
        out.append(f"bind({', '.join([function, *(f'{name}=None' for name in named)])})")
    return out


def _removed() -> Form:
    lines = []
    for name, known in sorted(removed_names().items()):
        row = known.replacement
        if row is None or name.startswith("torchvision."):
            continue
        if row.becomes:
            lines.append(f"{row.becomes}  # {name}")
        if row.module:
            lines.append(f"__import__({row.module!r})  # {name}")
        if row.value:
            lines.append(f"{row.value}  # {name}")
    return Form("removed", _IMPORTS, _IMPORTS + "".join(f"{line}\n" for line in lines))


_TENSORS = """\
import torch
import torch_npu
import npuify_stand_ins
x = torch.tensor([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]]).npu()
v = torch.tensor([0.2, 0.5, 0.7]).npu()
i = torch.tensor([0, 1, 2]).npu()
image = torch.ones(1, 2, 8, 8).npu()
volume = torch.ones(1, 2, 4, 4, 4).npu()
"""
_CALLS = (
    "heaviside(v, v)",
    "copysign(v, v)",
    "copysign(v, -1.0)",
    "hypot(v, v)",
    "lcm(i, i)",
    "multi_margin_loss(x, i)",
    "repeat_interleave(v, 2)",
    "repeat_interleave(x, i, dim=0)",
    "pad(image, (1, 1, 1, 1))",
    "pad(image, (1, 1, 1, 1), mode='reflect')",
    "pad(image, (1, 1, 1, 1), mode='circular')",
    "ReflectionPad2d(1)(image)",
    "ReplicationPad2d(1)(image)",
    "Conv3d(2, 3, 3, padding=1).npu()(volume)",
    "SyncBatchNorm(2).npu()(image)",
    "SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm2d(2)).npu()",
    "set_default_tensor_type('torch.npu.HalfTensor')",
)


def _stand_ins() -> Iterator[Form]:
    text = _TENSORS + "".join(f"npuify_stand_ins.{call}\n" for call in _CALLS)
    yield Form("helpers/npuify_stand_ins", _TENSORS, text)
    before = "import torch\nimport torch_npu\nx = torch.ones(3).npu()\n"
    calls = (
        "import npuify_on_cpu",
        "assert npuify_on_cpu.on_cpu(torch.add)(x, x).device.type == 'npu'",
        "npuify_on_cpu.on_cpu(torch.Tensor.add_)(x, x)",
    )
    yield Form("helpers/npuify_on_cpu", before, before + "".join(f"{line}\n" for line in calls))
    lines = (
        "import compute_device",
        "assert compute_device.type == 'npu'",
        "assert compute_device.api is torch.npu",
        "assert compute_device.dist_backend == 'hccl'",
        "assert compute_device.library is torch_npu",
        "compute_device.library.profiler.profile",
        "assert compute_device.get().type == 'npu'",
        "assert compute_device.get(0) == torch.device('npu:0')",
        "x.to(compute_device.get('cpu'))",
        "x.to(compute_device.type)",
        "torch.zeros(2, device=compute_device.type)",
        "with compute_device.autocast(enabled=True, dtype=torch.float16): x + x",
        "scaler = compute_device.GradScaler(init_scale=2.0, enabled=True)",
        "compute_device.Event(enable_timing=True).record()",
        "compute_device.synchronize()",
        "compute_device.manual_seed(0)",
    )
    yield Form("helpers/compute_device", before, before + "".join(f"{line}\n" for line in lines))


_NAME = re.compile(r"(?<![\w.])(torch\.npu|torch_npu)((?:\.[A-Za-z_]\w*)+)")
_ONLY_SET = ("torch.npu.config.allow_internal_format", "torch_npu.npu.config.allow_internal_format")
"""Options that can be set and not read."""
_SOURCES = ("rules", "knowledge/data", "diagnosis", "styles", "distribute")
"""Where texts are that people read."""


def _said() -> Form:
    """NPU names in messages, advice and rewritten code, wherever they stand."""
    found = set[str]()
    for folder in _SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                text = path.read_text(encoding="utf-8")
                found.update(
                    "".join(match.groups()) for match in _NAME.finditer(text) if text[match.end() :][:1] != "*"
                )
    names = sorted(n for n in found if not n.endswith((".py", ".so", ".json", "_")) and "._C." not in n)
    lines = [f"find({name!r})" for name in names if name not in _ONLY_SET]
    before = "from binding import find\n"
    return Form("said", before, before + "".join(f"{line}\n" for line in lines), others={"binding.py": _BINDING})
