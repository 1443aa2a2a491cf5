"""Makes small CUDA programs from a number: the same number gives the same program.

A program is some parts, each of which has a way to get at PyTorch, at a device, and at a tensor on it, and prints what a machine with
CUDA says. What it prints holds on any device: places are compared by the program itself.
"""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field

from . import configs, deep, habits, idioms, larger, moves, parts, projects, training, wide
from .disguises import disguised

WIDER = 500_000
"""The first seed whose programs have what ``configs``, ``moves`` and ``training`` make, too: the programs of those before stay."""
LARGER = 800_000
"""The first seed whose programs have what ``larger`` makes, too."""
REAL = 3_000_000
"""The first seed whose programs have what ``habits``, ``idioms`` and ``projects`` make, too; one in three is disguised."""


@dataclass
class Draft:
    """A program while it is made."""

    random: random.Random
    imports: list[str] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    torch: str = "torch"
    number: int = 0

    def new(self, stem: str) -> str:
        """A name that nothing else has."""
        self.number += 1
        return f"{stem}{self.number}"

    def use(self, statement: str) -> None:
        """Import once."""
        if statement not in self.imports:
            self.imports.append(statement)

    def cuda(self) -> str:
        """A way to say ``torch.cuda``."""
        form = self.random.randrange(6)
        if form == 0 and "compat.py" in self.files:
            return "compat.cuda"
        if form == 1:
            self.use("from torch import cuda")
            return "cuda"
        if form == 2:
            self.use("import torch.cuda as tc")
            return "tc"
        if form == 3:
            name = self.new("CU")
            self.top.append(f"{name} = {self.torch}.cuda")
            return name
        return f"{self.torch}.cuda"

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)


def program(seed: int) -> dict[str, str]:
    """The files of a program; ``main.py`` is started."""
    draft = Draft(random.Random(seed))
    devices, tensors, parts = KINDS[sum(seed >= first for first in (WIDER, LARGER, REAL))]
    _import_torch(draft)
    for _ in range(draft.random.randint(1, 3)):
        device = draft.random.choice(devices)(draft)
        tensor = draft.random.choice(tensors)(draft, device)
        for _ in range(draft.random.randint(1, 3)):
            draft.random.choice(parts)(draft, device, tensor)
    lines = [*draft.imports, "", *draft.top, ""]
    body = draft.body
    if draft.random.random() < 0.6:
        lines += [
            "def main():",
            *(textwrap.indent(line, "    ") for line in body),
            "",
            'if __name__ == "__main__":',
            "    main()",
        ]
    else:
        lines += body
    files = {"main.py": "\n".join(lines) + "\n", **draft.files}
    if seed >= REAL and draft.random.random() < 1 / 3:
        files |= {name: disguised(text, draft.random) for name, text in files.items() if name.endswith(".py")}
    return files


def _import_torch(d: Draft) -> None:
    form = d.random.randrange(5)
    if form == 1:
        d.use("import torch as th")
        d.torch = "th"
    elif form == 2:
        d.files["compat.py"] = "import torch\nfrom torch import cuda\nfrom torch import nn\n"
        d.use("import compat")
        d.torch = "compat.torch"
    elif form == 3:
        d.files["base.py"] = "import torch\n"
        d.use("from base import torch")
    else:
        d.use("import torch")


# --- devices: an expression that may be given as a device


def _literal(d: Draft) -> str:
    return d.one('"cuda"', '"cuda:0"', '"cuda:1"')


def _made(d: Draft) -> str:
    name = d.new("device")
    index = d.one("", ":0", ":1")
    value = d.one(
        f'{d.torch}.device("cuda{index}")',
        f'{d.torch}.device("cuda", 1)',
        f'{d.torch}.device(type="cuda", index=0)',
        f'{d.torch}.device("cuda{index}" if {d.torch}.cuda.is_available() else "cpu")',
        f'"cuda{index}" if {d.torch}.cuda.is_available() else "cpu"',
        'f"cuda:{1}"',
        '"cuda:" + str(0)',
        '"cuda:%d" % 1',
        '"cuda:{}".format(0)',
    )
    (d.top if d.random.random() < 0.5 else d.body).append(f"{name} = {value}")
    return name


def _elsewhere(d: Draft) -> str:
    name = d.new("PLACE")
    file = d.one("config", "settings", "common")
    text = d.files.get(f"{file}.py", "import torch\n")
    d.files[f"{file}.py"] = (
        text + f"{name} = {d.one(repr('cuda'), repr('cuda:0'), 'torch.device(' + repr('cuda') + ')')}\n"
    )
    if d.random.random() < 0.5:
        d.use(f"import {file}")
        return f"{file}.{name}"
    d.use(f"from {file} import {name}")
    return name


def _option(d: Draft) -> str:
    d.use("import argparse")
    name = d.new("args")
    flag = d.one("--device", "--dev", "--gpu-device")
    d.body += [
        f"parser_{name} = argparse.ArgumentParser()",
        f'parser_{name}.add_argument("{flag}", default={d.one(repr("cuda"), repr("cuda:0"))}'
        + d.one("", ", type=str", ", help='where: cuda or cpu'", ', choices=["cuda", "cuda:0", "cpu"]')
        + ")",
        f"{name} = parser_{name}.parse_args([])",
    ]
    return f"{name}.{flag.strip('-').replace('-', '_')}"


def _setting(d: Draft) -> str:
    d.use("import json")
    name, file = d.new("settings"), d.new("settings") + ".json"
    d.files[file] = '{"device": "cuda", "steps": 3}\n'
    d.use("from pathlib import Path")
    d.body.append(f'{name} = json.loads((Path(__file__).parent / "{file}").read_text())')
    return f'{name}["device"]'


def _variable(d: Draft) -> str:
    d.use("import os")
    return d.one('os.environ.get("MY_DEVICE", "cuda")', 'os.getenv("MY_DEVICE", "cuda:0")')


def _member(d: Draft) -> str:
    name = d.new("Options")
    form = d.random.randrange(4)
    if form == 0:
        d.top += [f"class {name}:", '    device = "cuda"', ""]
        return d.one(f"{name}.device", f"{name}().device")
    if form == 1:
        d.use("from dataclasses import dataclass")
        d.top += ["@dataclass", f"class {name}:", '    device: str = "cuda:0"', "    steps: int = 2", ""]
        return f"{name}().device"
    if form == 2:
        d.top += [
            f"class {name}:",
            "    @property",
            "    def device(self):",
            f'        return {d.torch}.device("cuda")',
            "",
        ]
        return f"{name}().device"
    d.use("from types import SimpleNamespace")
    variable = d.new("options")
    d.body.append(f'{variable} = SimpleNamespace(device="cuda", path="out/cuda/x")')
    return f"{variable}.device"


def _entry(d: Draft) -> str:
    name = d.new("table")
    form = d.random.randrange(3)
    if form == 0:
        d.top.append(f'{name} = {{"device": "cuda", "name": "x"}}')
        return f'{name}["device"]'
    if form == 1:
        d.top.append(f'{name} = {{"gpu": "cuda:0", "cpu": "cpu"}}')
        return f'{name}["gpu"]'
    d.top.append(f'{name} = ["cuda:0", "cuda:1"]')
    return f"{name}[1]"


def _returned(d: Draft) -> str:
    name = d.new("pick")
    form = d.random.randrange(3)
    if form == 0:
        d.top += [f'def {name}(kind="cuda"):', "    return kind", ""]
    elif form == 1:
        d.top += [
            f"def {name}(use=True):",
            "    if use:",
            f'        return {d.torch}.device("cuda")',
            '    return "cpu"',
            "",
        ]
    else:
        d.top += [f"def {name}(index=1):", '    return f"cuda:{index}"', ""]
    return f"{name}()"


DEVICES = (
    *(_literal, _made, _made, _elsewhere, _option, _setting, _variable, _member, _entry, _returned),
    *wide.DEVICES,
    *deep.DEVICES,
)


# --- tensors: a name that stands for a float tensor of three on the device


def _moved(d: Draft, device: str) -> str:
    name = d.new("x")
    plain = f"{d.torch}.tensor([1.0, 2.0, 3.0])"
    form = d.one(
        f"{plain}.to({device})",
        f"{plain}.to(device={device})",
        f"{plain}.to({device}, non_blocking=True)",
        f"{plain}.cuda({device})" if d.random.random() < 0.4 else f"{plain}.cuda()",
        f"{d.torch}.tensor([1.0, 2.0, 3.0], device={device})",
        f"{d.torch}.arange(1.0, 4.0, device={device})",
        f"{d.torch}.cuda.FloatTensor([1.0, 2.0, 3.0])",
        f'getattr({plain}, "cuda")()',
        f"{plain}.pin_memory().cuda(non_blocking=True)",
        f"{plain}.to({d.torch}.ones(1).cuda())",
    )
    d.body.append(f"{name} = {form}")
    return name


def _in_container(d: Draft, device: str) -> str:
    name, all_of_them = d.new("x"), d.new("batch")
    plain = f"{d.torch}.tensor([1.0, 2.0, 3.0])"
    form = d.random.randrange(5)
    if form == 0:
        d.body += [f"{all_of_them} = [t.cuda() for t in ({plain}, {plain})]", f"{name} = {all_of_them}[0]"]
    elif form == 1:
        d.body += [
            f'{all_of_them} = {{"x": {plain}}}',
            f"{all_of_them} = {{k: v.to({device}) for k, v in {all_of_them}.items()}}",
        ]
        d.body.append(f'{name} = {all_of_them}["x"]')
    elif form == 2:
        d.body += [f"{name}, _ = map(lambda t: t.cuda(), ({plain}, {plain}))"]
    elif form == 3:
        function = d.new("move")
        d.top += [
            f"def {function}(value, device):",
            "    if isinstance(value, (list, tuple)):",
            f"        return [{function}(one, device) for one in value]",
            d.one("    return value.to(device)", "    return value.cuda(device)"),
            "",
        ]
        d.body.append(f"{name} = {function}([{plain}, [{plain}]], {device})[1][0]")
    else:
        function = d.new("to_gpu")
        d.top += [f"def {function}(*values):", "    return tuple(v.cuda() for v in values)", ""]
        d.body.append(f"{name}, _ = {function}({plain}, {plain})")
    return name


def _from_model(d: Draft, device: str) -> str:
    name, cls, model = d.new("x"), d.new("Net"), d.new("model")
    nn = f"{d.torch}.nn"
    own = d.random.random() < 0.3
    d.top += [
        f"class {cls}({nn}.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        f"        self.layer = {nn}.Linear(3, 3)",
        f"        self.scale = {d.torch}.ones(1)"
        if own
        else f'        self.register_buffer("scale", {d.torch}.ones(1))',
        f"        {nn}.init.constant_(self.layer.weight, 0.5)",
        f"        {nn}.init.zeros_(self.layer.bias)",
        "",
        "    def forward(self, x):",
        "        return self.layer(x) * self.scale" + (".to(x.device)" if own else ""),
        "",
    ]
    if own:
        d.top += [
            "    def cuda(self, device=None):",
            "        super().cuda(device)",
            "        self.scale = self.scale.cuda(device)",
        ]
        d.top += ["        return self", ""]
    move = (
        f"{cls}().cuda()" if own else d.one(f"{cls}().cuda()", f"{cls}().to({device})", f"{cls}().to(device={device})")
    )
    d.body.append(f"{model} = {move}")
    source = d.one(f"next({model}.parameters()).device", f"{model}.layer.weight.device", f"{model}.layer.bias.device")
    d.body.append(f"{name} = {model}({d.torch}.tensor([1.0, 2.0, 3.0]).to({source})).detach()")
    return name


def _in_object(d: Draft, device: str) -> str:
    name, cls = d.new("x"), d.new("Batch")
    d.top += [
        f"class {cls}:",
        "    def __init__(self, x):",
        "        self.x = x",
        "",
        "    def cuda(self):",
        "        self.x = self.x.cuda()",
        "        return self",
        "",
        "    def to(self, device):",
        "        self.x = self.x.to(device)",
        "        return self",
        "",
    ]
    move = d.one("cuda()", f"to({device})")
    d.body.append(f"{name} = {cls}({d.torch}.tensor([1.0, 2.0, 3.0])).{move}.x")
    return name


TENSORS = (
    *(_moved, _moved, _moved, _in_container, _in_container, _from_model, _in_object),
    *wide.TENSORS,
    *deep.TENSORS,
)
PARTS = (*parts.PARTS, *wide.PARTS, *deep.PARTS)
MORE_DEVICES = (*DEVICES, *configs.DEVICES, *configs.DEVICES)
MORE_TENSORS = (*TENSORS, *moves.TENSORS, *moves.TENSORS)
MORE_PARTS = (*PARTS, *training.PARTS, *training.PARTS)
MOST_DEVICES = (*MORE_DEVICES, *larger.DEVICES, *larger.DEVICES, *larger.DEVICES)
MOST_TENSORS = (*MORE_TENSORS, *larger.TENSORS, *larger.TENSORS)
MOST_PARTS = (*MORE_PARTS, *larger.PARTS, *larger.PARTS, *larger.PARTS)
REAL_DEVICES = (*MOST_DEVICES, *(idioms.DEVICES * 3))
REAL_TENSORS = (*MOST_TENSORS, *(idioms.TENSORS * 3), *(projects.TENSORS * 4))
REAL_PARTS = (*MOST_PARTS, *(habits.PARTS * 4))
KINDS = (
    (DEVICES, TENSORS, PARTS),
    (MORE_DEVICES, MORE_TENSORS, MORE_PARTS),
    (MOST_DEVICES, MOST_TENSORS, MOST_PARTS),
    (REAL_DEVICES, REAL_TENSORS, REAL_PARTS),
)
"""What programs are made of, as their seeds grow."""
