"""More ways to reach a device, a tensor or a name of CUDA: packages, classes that build on each other, registries, settings files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft

PLAIN = "tensor([1.0, 2.0, 3.0])"


# --- devices


def from_ini(d: Draft) -> str:
    d.use("import configparser")
    d.use("from pathlib import Path")
    name, file = d.new("ini"), d.new("run") + ".ini"
    d.files[file] = f"[run]\ndevice = {d.one('cuda', 'cuda:0')}\nsteps = 3\n"
    d.body += [f"{name} = configparser.ConfigParser()", f'{name}.read(Path(__file__).parent / "{file}")']
    return d.one(f'{name}["run"]["device"]', f'{name}.get("run", "device")')


def from_package(d: Draft) -> str:
    """A constant of a package, re-exported by its ``__init__``."""
    name = d.new("DEV")
    package = d.new("pkg")
    inner = d.one("places", "consts")
    d.files[f"{package}/__init__.py"] = d.one(
        f"from .{inner} import {name}\n",
        f"from {package}.{inner} import *\n",
        f"from . import {inner}\n{name} = {inner}.{name}\n",
    )
    value = d.one('"cuda"', '"cuda:1"', 'torch.device("cuda:0")', '"cuda" if torch.cuda.is_available() else "cpu"')
    d.files[f"{package}/{inner}.py"] = f"import torch\n\n{name} = {value}\n"
    if d.random.random() < 0.5:
        d.use(f"from {package} import {name}")
        return name
    d.use(f"import {package}")
    return f"{package}.{name}"


def by_inheritance(d: Draft) -> str:
    base, heir = d.new("Base"), d.new("Heir")
    d.top += [
        f"class {base}:",
        '    place = "cpu"',
        "",
        "    def where(self):",
        "        return self.place",
        "",
        f"class {heir}({base}):",
        f"    place = {d.one(repr('cuda'), repr('cuda:0'))}",
        "",
    ]
    return d.one(f"{heir}().place", f"{heir}().where()", f"{heir}.place")


def from_enum(d: Draft) -> str:
    name = d.new("Place")
    d.use("from enum import Enum")
    d.top += [f"class {name}(Enum):", '    GPU = "cuda"', '    HOST = "cpu"', ""]
    return f"{name}.GPU.value"


def chosen(d: Draft) -> str:
    name = d.new("choose")
    d.top += d.one(
        f"def {name}(gpu=None):\n    if gpu is None:\n        return 'cuda'\n    return f'cuda:{{gpu}}'\n",
        f"def {name}():\n    if {d.torch}.cuda.is_available():\n        return 'cuda:0'\n    return 'cpu'\n",
        f"{name} = lambda: {d.torch}.device('cuda' if {d.torch}.cuda.device_count() else 'cpu')\n",
        f"def {name}():\n    for kind in ('cuda', 'cpu'):\n        return kind\n",
        f"def {name}(n={{'fast': 'cuda', 'slow': 'cpu'}}):\n    return n['fast']\n",
    ).split("\n")
    return f"{name}()"


def walrus(d: Draft) -> str:
    name = d.new("where")
    d.body += [f"if ({name} := {d.one(repr('cuda'), repr('cuda:1'))}) is not None:", "    pass"]
    return name


def joined(d: Draft) -> str:
    name, number = d.new("kind"), d.new("number")
    d.body += [f'{name}, {number} = "cuda", {d.one("0", "1")}']
    return d.one(
        f'f"{{{name}}}:{{{number}}}"', f'":".join([{name}, str({number})])', f'{name} + ":" + str({number})', name
    )


def stored(d: Draft) -> str:
    """A member that the constructor sets, read by another method."""
    name = d.new("Runner")
    given = d.one('device="cuda"', 'device="cuda:0"', "device=None")
    d.top += [
        f"class {name}:",
        f"    def __init__(self, {given}):",
        '        self.device = device or "cuda"',
        "",
        "    def where(self):",
        "        return self.device",
        "",
    ]
    variable = d.new("runner")
    d.body.append(f"{variable} = {name}()")
    return d.one(f"{variable}.device", f"{variable}.where()")


def typed_option(d: Draft) -> str:
    d.use("import argparse")
    name = d.new("args")
    d.body += [
        f"parser_{name} = argparse.ArgumentParser()",
        f'parser_{name}.add_argument("--gpu", type=int, default={d.one("0", "1")})',
        f'parser_{name}.add_argument("--no-cuda", action="store_true")',
        f"{name} = parser_{name}.parse_args([])",
        f"{name}.cuda = not {name}.no_cuda and {d.torch}.cuda.is_available()",
        f'{name}.device = {d.torch}.device("cuda" if {name}.cuda else "cpu")',
    ]
    return d.one(f"{name}.device", f'f"cuda:{{{name}.gpu}}"')


def try_import(d: Draft) -> str:
    name = d.new("have")
    d.top += [
        "try:",
        "    import torch_of_another_kind",
        f'    {name} = "cpu"',
        "except ImportError:",
        f'    {name} = "cuda"',
        "",
    ]
    return name


DEVICES = (
    from_ini,
    from_package,
    from_package,
    by_inheritance,
    from_enum,
    chosen,
    chosen,
    walrus,
    joined,
    stored,
    typed_option,
    try_import,
)


# --- tensors


def from_registry(d: Draft, device: str) -> str:
    name, table, make = d.new("x"), d.new("registry"), d.new("make")
    d.top += [
        f"{table} = {{}}",
        "",
        f"def {make}(name):",
        "    def keep(f):",
        f"        {table}[name] = f",
        "        return f",
        "    return keep",
        "",
        f'@{make}("ones")',
        f"def {make}_ones(device):",
        f"    return {d.torch}.{PLAIN}.to(device)",
        "",
    ]
    d.body.append(f'{name} = {table}["ones"]({device})')
    return name


def from_loader(d: Draft, device: str) -> str:
    name, data, loader, batch = d.new("x"), d.new("data"), d.new("loader"), d.new("batch")
    rows = f"[{d.torch}.{PLAIN}, {d.torch}.{PLAIN}]"
    move = d.one(".cuda()", ".cuda(non_blocking=True)", f".to({device})", f".to({device}, non_blocking=True)")
    d.body += [
        f"{data} = {rows}",
        f"{loader} = {d.torch}.utils.data.DataLoader({data}, batch_size=1, pin_memory={d.one('False', 'False', 'True')})",
        f"for {batch} in {loader}:",
        f"    {name} = {batch}{move}[0]",
    ]
    return name


def from_generator(d: Draft, device: str) -> str:
    name, function = d.new("x"), d.new("feed")
    d.top += [f"def {function}(device):", f"    yield {d.torch}.{PLAIN}.to(device)", ""]
    d.body.append(d.one(f"{name} = next({function}({device}))", f"for {name} in {function}({device}):\n    pass"))
    return name


def from_dataclass(d: Draft, device: str) -> str:
    name, cls = d.new("x"), d.new("Pair")
    d.use("from dataclasses import dataclass")
    d.use("import dataclasses")
    d.top += [
        "@dataclass",
        f"class {cls}:",
        "    a: object",
        "    b: object",
        "",
        "    def to(self, device):",
        f"        return {cls}(self.a.to(device), self.b.to(device))",
        "",
        "    def cuda(self, device=None):",
        f"        return {cls}(**{{f.name: getattr(self, f.name).cuda(device) for f in dataclasses.fields(self)}})",
        "",
    ]
    move = d.one("cuda()", "cuda(0)", f"to({device})")
    d.body.append(f"{name} = {cls}({d.torch}.{PLAIN}, {d.torch}.{PLAIN}).{move}.a")
    return name


def from_saved(d: Draft, device: str) -> str:
    d.use("import io")
    name, file = d.new("x"), d.new("saved")
    d.body += [
        f"{file} = io.BytesIO()",
        f"{d.torch}.save({{'state': {d.torch}.{PLAIN}}}, {file})",
        f"{file}.seek(0)",
        f"{name} = {d.torch}.load({file}, map_location='cpu')['state']{d.one('.cuda()', f'.to({device})')}",
    ]
    return name


def from_list_of_models(d: Draft, device: str) -> str:
    name, models = d.new("x"), d.new("models")
    nn = f"{d.torch}.nn"
    d.body += [
        f"{models} = {nn}.ModuleList([{nn}.Identity(), {nn}.ReLU()]).{d.one('cuda()', f'to({device})')}",
        f"{name} = {d.torch}.{PLAIN}.{d.one('cuda()', f'to({device})')}",
        f"for one in {models}:",
        f"    {name} = one({name})",
    ]
    return name


def by_method(d: Draft, device: str) -> str:
    """A trainer that keeps device and model."""
    name, cls = d.new("x"), d.new("Trainer")
    nn = f"{d.torch}.nn"
    d.top += [
        f"class {cls}:",
        "    def __init__(self, device):",
        "        self.device = device",
        f"        self.model = {nn}.Sequential({nn}.Identity()).to(self.device)",
        "",
        "    def batch(self, x):",
        f"        return self.model(x.{d.one('to(self.device)', 'to(device=self.device)', 'to(self.device, non_blocking=True)')})",
        "",
    ]
    d.body.append(f"{name} = {cls}({device}).batch({d.torch}.{PLAIN})")
    return name


def in_context(d: Draft, device: str) -> str:
    name = d.new("x")
    d.body += [f"with {d.torch}.cuda.device({d.one('0', '1')}):", f"    {name} = {d.torch}.{PLAIN}.cuda()"]
    return name


def aliased_method(d: Draft, device: str) -> str:
    name, move = d.new("x"), d.new("move")
    d.body.append(
        d.one(
            f"{move} = {d.torch}.{PLAIN}.cuda\n{name} = {move}()",
            f"{move} = {d.torch}.Tensor.cuda\n{name} = {move}({d.torch}.{PLAIN})",
            f"{move} = lambda t: t.to({device})\n{name} = {move}({d.torch}.{PLAIN})",
            f'{name} = {d.torch}.{PLAIN}.__getattribute__("cuda")()',
            f"{name} = (lambda f: f())({d.torch}.{PLAIN}.cuda)",
        )
    )
    return name


TENSORS = (
    *(
        from_registry,
        from_loader,
        from_generator,
        from_dataclass,
        from_saved,
        from_list_of_models,
        by_method,
        by_method,
    ),
    *(in_context, aliased_method),
)


# --- parts


def optional(d: Draft, device: str, x: str) -> None:
    """Conditional imports and tries around names of CUDA."""
    form = d.random.randrange(6)
    name = d.new("has")
    if form == 0:
        d.top += [
            "try:",
            f"    from torch.cuda.amp import autocast as {name}",
            "except ImportError:",
            f"    {name} = None",
            "",
        ]
        d.body += [f"with {name}(enabled=False):", f"    print('optional', float({x}.sum()))"]
    elif form == 1:
        d.body += [
            f"if hasattr({d.torch}, 'amp') and hasattr({d.torch}.amp, 'GradScaler'):",
            f"    {name} = {d.torch}.amp.GradScaler('cuda', enabled=False)",
            "else:",
            f"    {name} = {d.torch}.cuda.amp.GradScaler(enabled=False)",
            f"print('scale', {name}.is_enabled())",
        ]
    elif form == 2:
        d.body += [
            f"{name} = getattr({d.torch}.cuda, 'empty_cache', None)",
            f"if {name}:",
            f"    {name}()",
            "print('emptied')",
        ]
    elif form == 3:
        d.body += [f"if 'cuda' in dir({d.torch}):", "    print('it is there')"]
    elif form == 4:
        d.use("import importlib")
        d.body += [
            f"{name} = importlib.import_module('torch').cuda",
            f"print('module', {name}.is_available(), {name}.device_count() > 0)",
        ]
    else:
        d.body += [
            "try:",
            f"    {name} = {d.torch}.zeros(1, device={device})",
            "except (RuntimeError, AssertionError):",
            f"    {name} = None",
            f"print('made', {name} is not None)",
        ]


def decided(d: Draft, device: str, x: str) -> None:
    """A branch on what kind of device it is, in a function of its own."""
    function = d.new("kind_of")
    tests = d.one(
        "device == 'cuda'",
        "str(device).startswith('cuda')",
        "'cuda' in str(device)",
        "device != 'cpu'",
        "str(device)[:4] == 'cuda'",
        "str(device).split(':')[0] in ('cuda', 'mps')",
        "not str(device) == 'cpu'",
        f"{d.torch}.device(device).type == 'cuda'",
        "getattr(device, 'type', device) == 'cuda'",
    )
    d.top += [f"def {function}(device):", f"    if {tests}:", "        return 'fast'", "    return 'slow'", ""]
    argument = d.one(device, device, f"{x}.device", f"{x}.device.type", f"str({x}.device)")
    d.body.append(f"print('kind', {function}({argument}))")


def matched(d: Draft, device: str, x: str) -> None:
    """``match`` and tables of functions."""
    name = d.new("told")
    form = d.random.randrange(3)
    subject = d.one(f"{x}.device.type", f"{d.torch}.device({device}).type", f"str({x}.device).split(':')[0]")
    if form == 0:
        d.body += [
            f"match {subject}:",
            "    case 'cuda':",
            "        print('case gpu')",
            "    case 'cpu':",
            "        print('case host')",
            "    case _:",
            "        print('case other')",
        ]
    elif form == 1:
        d.top += [f"{name} = {{'cuda': lambda v: v * 2, 'cpu': lambda v: v}}"]
        d.body.append(f"print('table', float({name}[{subject}]({x}).sum()))")
    else:
        d.top += [
            f"def {name}(kind):",
            "    if kind == 'cpu':",
            "        return 0",
            "    elif kind == 'cuda':",
            "        return 1",
            "    raise ValueError(kind)",
            "",
        ]
        d.body.append(f"print('code', {name}({subject}))")


def measured(d: Draft, device: str, x: str) -> None:
    """Timing, memory, seeds, as training scripts have them."""
    cuda = d.cuda()
    d.body += d.one(
        f"start, end = {cuda}.Event(enable_timing=True), {cuda}.Event(enable_timing=True)\nstart.record()\nend.record()\n"
        f"{cuda}.synchronize()\nprint('time', start.elapsed_time(end) >= 0)",
        f"{cuda}.reset_peak_memory_stats()\nprint('peak', {cuda}.max_memory_allocated() >= 0)",
        f"{cuda}.manual_seed(1)\nprint('seeded')",
        f"print('name', isinstance({cuda}.get_device_name(0), str))",
        f"print('index', {cuda}.current_device())",
        f"{cuda}.set_device(1)\nprint('index', {cuda}.current_device(), {d.torch}.ones(1).cuda().device.index)\n{cuda}.set_device(0)",
        f"{d.torch}.backends.cudnn.benchmark = True\n{d.torch}.backends.cudnn.deterministic = True\nprint('set')",
        f"print('bf16', {cuda}.is_bf16_supported() in (True, False))",
        f"{cuda}.ipc_collect()\nprint('collected')",
        f"if {cuda}.device_count() > 1:\n    print('several')",
    ).split("\n")


def wrapped(d: Draft, device: str, x: str) -> None:
    """Decorators, properties, class methods, closures, nested functions."""
    name = d.new("wrapped")
    form = d.random.randrange(5)
    if form == 0:
        d.use("import functools")
        d.top += [
            f"def {name}(f):",
            "    @functools.wraps(f)",
            "    def run(*args, **kwargs):",
            f"        {d.torch}.cuda.synchronize()",
            "        return f(*args, **kwargs)",
            "    return run",
            "",
            f"@{name}",
            f"def {name}_sum(value, device='cuda'):",
            "    return float(value.to(device).sum())",
            "",
        ]
        d.body.append(f"print('wrapped', {name}_sum({x}), {name}_sum({x}, device={device}))")
    elif form == 1:
        cls = d.new("Holder")
        d.top += [
            f"class {cls}:",
            "    def __init__(self, value):",
            "        self._value = value",
            "",
            "    @property",
            "    def is_cuda(self):",
            "        return self._value.is_cuda",
            "",
            "    @classmethod",
            "    def made(cls, value):",
            "        return cls(value.cuda())",
            "",
        ]
        d.body.append(f"print('holder', {cls}({x}).is_cuda, {cls}.made({x}.cpu()).is_cuda)")
    elif form == 2:
        d.top += [
            f"def {name}(device):",
            "    def move(value):",
            "        return value.to(device)",
            "    return move",
            "",
        ]
        d.body.append(f"print('closure', {name}({device})({x}).tolist())")
    elif form == 3:
        d.top += [
            f"def {name}(*values, device=None):",
            "    device = device or 'cuda'",
            "    return [v.to(device) for v in values]",
            "",
        ]
        d.body.append(f"print('all', [v.is_cuda for v in {name}({x}.cpu(), {x})])")
    else:
        d.top += [
            f"def {name}(x, device_id=0):",
            "    if device_id >= 0:",
            "        return x.cuda(device_id)",
            "    return x",
            "",
        ]
        d.body.append(f"print('id', {name}({x}).tolist(), {name}({x}.cpu(), 1).device.index)")


def options_of_dict(d: Draft, device: str, x: str) -> None:
    """Keyword dictionaries, defaults, merged settings."""
    name = d.new("opts")
    d.body += d.one(
        f"{name} = dict(device={device}, dtype={d.torch}.float32)\nprint('opts', {d.torch}.zeros(2, **{name}).tolist())",
        f"{name} = {{'device': 'cpu', **{{'device': {device}}}}}\nprint('opts', {d.torch}.ones(2).to({name}['device']).tolist())",
        f"{name} = {{}}\n{name}.setdefault('device', 'cuda')\nprint('opts', {d.torch}.ones(2, device={name}['device']).is_cuda)",
        f"{name} = [('device', 'cuda'), ('lr', 0.1)]\nprint('opts', {d.torch}.ones(2, device=dict({name})['device']).is_cuda)",
        f"{name} = {{'device': 'cuda'}}.get('device', 'cpu')\nprint('opts', {d.torch}.ones(2, device={name}).is_cuda)",
        f"{name} = ('cpu', 'cuda')[{d.torch}.cuda.is_available()]\nprint('opts', {d.torch}.ones(2, device={name}).is_cuda)",
        f"{name} = {d.torch}.cuda.is_available() and 'cuda' or 'cpu'\nprint('opts', {d.torch}.ones(2, device={name}).is_cuda)",
    ).split("\n")


def typed(d: Draft, device: str, x: str) -> None:
    """``.type(…)``, dtype names and types of tensors."""
    form = d.random.randrange(6)
    if form == 0:
        d.body.append(f"print('typed', {x}.type({d.torch}.cuda.FloatTensor).tolist())")
    elif form == 1:
        d.body.append(f"print('typed', {x}.cpu().type('torch.cuda.FloatTensor').is_cuda)")
    elif form == 2:
        name = d.new("Tensor")
        d.body += [
            f"{name} = {d.torch}.cuda.FloatTensor if {d.torch}.cuda.is_available() else {d.torch}.FloatTensor",
            f"print('typed', {name}([1.0, 2.0]).tolist())",
        ]
    elif form == 3:
        d.body.append(f"print('type', {x}.type())")
    elif form == 4:
        d.body.append(f"print('type', {x}.type() == 'torch.cuda.FloatTensor')")
    else:
        d.body.append(f"print('long', {d.torch}.cuda.LongTensor([1, 2]).tolist())")


PARTS = (
    optional,
    decided,
    decided,
    matched,
    measured,
    measured,
    wrapped,
    wrapped,
    options_of_dict,
    options_of_dict,
    typed,
)
