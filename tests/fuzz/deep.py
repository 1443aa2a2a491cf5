"""Ways that are less straight: text that is put together, methods called by their names, structural matches, settings in YAML and TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft

PLAIN = "tensor([1.0, 2.0, 3.0])"


# --- devices


def put_together(d: Draft) -> str:
    """Text in which "cuda" stands in another case, in parts, or among other text."""
    d.use("import json")
    name = d.new("text")
    value = d.one(
        "'CUDA'.lower()",
        "'device=cuda'.split('=')[1]",
        "'cuda cpu'.split()[0]",
        'json.loads(\'{"device": "cuda:0"}\')["device"]',
        "' cuda '.strip()",
        "'gpu'.replace('gpu', 'cuda')",
        "','.join(['cuda']).split(',')[0]",
        "{'d': 'cuda'}.pop('d')",
        "({'d': 'cpu'} | {'d': 'cuda'})['d']",
        "next(iter(['cuda', 'cpu']))",
        "sorted(['cuda', 'cpu'])[-1]",
        "max('cuda', 'cpu')",
        "dict(zip(('a', 'b'), ('cuda', 'cpu')))['a']",
        "[k for k in ('cuda', 'cpu') if k != 'cpu'][0]",
        "'cuda:%s' % '0'",
        "'{kind}:{index}'.format(kind='cuda', index=1)",
        "'cuda:0,cuda:1'.split(',')[1]",
        "b'cuda'.decode()",
    )
    (d.top if d.random.random() < 0.4 else d.body).append(f"{name} = {value}")
    return name


def from_text_file(d: Draft) -> str:
    """Settings in YAML, TOML, a file of lines, a Python file that is executed."""
    d.use("from pathlib import Path")
    name, number = d.new("conf"), d.new("conf")
    form = d.random.randrange(5)
    device = d.one("cuda", "cuda:0", "cuda:1")
    if form == 0:
        d.use("import yaml")
        d.files[f"{number}.yaml"] = f"run:\n  device: {device}\n  steps: 3\npath: out/cuda\n"
        d.body.append(f'{name} = yaml.safe_load((Path(__file__).parent / "{number}.yaml").read_text())')
        return d.one(f'{name}["run"]["device"]', f'{name}["run"].get("device", "cpu")')
    if form == 1:
        d.use("import yaml")
        d.use("from types import SimpleNamespace")
        d.files[f"{number}.yml"] = f'device: "{device}"\nsteps: 3\n'
        d.body.append(f'{name} = SimpleNamespace(**yaml.safe_load(open(Path(__file__).parent / "{number}.yml")))')
        return f"{name}.device"
    if form == 2:
        ending = d.one("cfg", "conf", "env", "properties")
        d.files[f"{number}.{ending}"] = f"steps=3\ndevice={device}\n"
        d.body.append(
            f'{name} = dict(line.split("=") for line in (Path(__file__).parent / "{number}.{ending}").read_text().split())'
        )
        return f'{name}["device"]'
    if form == 3:
        d.files[f"{number}.py"] = f'device = "{device}"\nsteps = 3\n'
        d.body += [f"{name} = {{}}", f'exec((Path(__file__).parent / "{number}.py").read_text(), {name})']
        return f'{name}["device"]'
    d.use("import importlib")
    d.files[f"{number}.py"] = f'import torch\n\nDEVICE = torch.device("{device}")\nNAME = "{device}"\n'
    d.body.append(f'{name} = importlib.import_module("{number}")')
    return d.one(f"{name}.DEVICE", f"{name}.NAME", f'getattr({name}, "DEVICE")')


def of_parser(d: Draft) -> str:
    d.use("import argparse")
    name = d.new("given")
    form = d.random.randrange(5)
    if form == 0:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f'{name}.add_argument("--device")',
            f'{name}.set_defaults(device="cuda")',
        ]
        return f"{name}.parse_args([]).device"
    if form == 1:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f'{name}.add_argument("--device", type={d.torch}.device, default="cuda")',
        ]
        return f"{name}.parse_args([]).device"
    if form == 2:
        d.top += [
            f"def {name}(argv=None):",
            "    parser = argparse.ArgumentParser()",
            '    group = parser.add_argument_group("place")',
            '    group.add_argument("--gpu-id", type=int, default=0)',
            '    group.add_argument("--use-cuda", action=argparse.BooleanOptionalAction, default=True)',
            "    options = parser.parse_args(argv or [])",
            '    options.device = f"cuda:{options.gpu_id}" if options.use_cuda else "cpu"',
            "    return options",
            "",
        ]
        return d.one(f"{name}().device", f'vars({name}())["device"]', f'getattr({name}(), "device")')
    if form == 3:
        d.body += [
            f"{name} = argparse.Namespace(device='cpu')",
            f"{name}.__dict__.update({{'device': 'cuda'}})",
        ]
        return f"{name}.device"
    d.body += [
        f"{name} = argparse.ArgumentParser()",
        f'{name}.add_argument("place", nargs="?", default="cuda:0")',
        f'{name}.add_argument("--device", dest="where", default="cuda")',
    ]
    return d.one(f"{name}.parse_args([]).place", f'{name}.parse_known_args(["--device", "cuda:1"])[0].where')


def kept(d: Draft) -> str:
    """Records and caches: NamedTuple, a default factory, a cached function, a setter, a class with ``__getattr__``."""
    name = d.new("Kept")
    form = d.random.randrange(7)
    if form == 0:
        d.use("from typing import NamedTuple")
        d.top += [f"class {name}(NamedTuple):", '    device: str = "cuda"', "    steps: int = 1", ""]
        return d.one(f"{name}().device", f"{name}()[0]", f"{name}()._asdict()['device']")
    if form == 1:
        d.use("from dataclasses import dataclass, field")
        d.top += [
            "@dataclass",
            f"class {name}:",
            f"    device: object = field(default_factory=lambda: {d.torch}.device('cuda'))",
            "",
        ]
        return f"{name}().device"
    if form == 2:
        d.use("from functools import lru_cache")
        d.top += ["@lru_cache(maxsize=None)", f"def {name.lower()}(index=0):", "    return 'cuda:' + str(index)", ""]
        return f"{name.lower()}()"
    if form == 3:
        d.top += [
            f"class {name}:",
            "    def __init__(self):",
            "        self._device = 'cpu'",
            "",
            "    @property",
            "    def device(self):",
            "        return self._device",
            "",
            "    @device.setter",
            "    def device(self, value):",
            f"        self._device = {d.torch}.device(value)",
            "",
        ]
        made = d.new("one")
        d.body += [f"{made} = {name}()", f"{made}.device = 'cuda'"]
        return f"{made}.device"
    if form == 4:
        d.top += [
            f"class {name}(dict):",
            "    def __getattr__(self, name):",
            "        return self[name]",
            "",
            f"{name.upper()} = {name}(device='cuda', steps=3)",
        ]
        return d.one(f"{name.upper()}.device", f"{name.upper()}['device']")
    if form == 5:
        d.top += [
            f"class {name}:",
            "    def __init__(self, **options):",
            "        self.device = options.pop('device', 'cuda')",
            "        self.__dict__.update(options)",
            "",
        ]
        return d.one(f"{name}().device", f"{name}(device='cuda:0').device", f"{name}(place='cuda').place")
    made = d.new("current")
    d.top += [
        f"{made} = None",
        "",
        f"def set_{made}(value='cuda'):",
        f"    global {made}",
        f"    {made} = value",
        "",
        f"def get_{made}():",
        f"    if {made} is None:",
        f"        set_{made}()",
        f"    return {made}",
        "",
    ]
    return f"get_{made}()"


def of_environment(d: Draft) -> str:
    d.use("import os")
    name = d.new("MY_PLACE").upper()
    form = d.random.randrange(4)
    if form == 0:
        return f'os.environ.setdefault("{name}", "cuda")'
    if form == 1:
        d.body.append(f'os.environ["{name}"] = "cuda:0"')
        return f'os.environ["{name}"]'
    if form == 2:
        return f'(os.environ.get("{name}") or "cuda")'
    d.body.append(f'os.environ.update({name}="cuda")')
    return f'os.getenv("{name}")'


def matched_device(d: Draft) -> str:
    name = d.new("pick")
    d.top += [
        f"def {name}(kind='gpu'):",
        "    match kind:",
        "        case 'gpu' | 'cuda':",
        f"            return {d.one(repr('cuda'), repr('cuda:0'))}",
        "        case _:",
        "            return 'cpu'",
        "",
    ]
    return d.one(f"{name}()", f"{name}('cuda')")


def of_files(d: Draft) -> str:
    """A package of helpers: a function that picks, a constant that it makes, both passed on; also through a cycle."""
    package, name = d.new("lib"), d.new("get_device")
    pick = (
        f"import torch\n\n\ndef {name}(index=None):\n    if not torch.cuda.is_available():\n        return torch.device('cpu')\n"
        f"    return torch.device('cuda' if index is None else f'cuda:{{index}}')\n"
    )
    d.files[f"{package}/device.py"] = pick
    form = d.random.randrange(4)
    if form == 0:
        d.files[f"{package}/__init__.py"] = f"from .device import {name} as where\n\nDEVICE = where()\n"
        d.use(f"import {package}")
        return d.one(f"{package}.DEVICE", f"{package}.where()", f"{package}.device.{name}(1)")
    if form == 1:
        d.files[f"{package}/__init__.py"] = ""
        d.files[f"{package}/base.py"] = f"from {package} import device\n\nclass Base:\n    place = device.{name}(0)\n"
        d.use(f"from {package}.base import Base as {package.title()}")
        return d.one(f"{package.title()}.place", f"{package.title()}().place")
    if form == 2:
        d.files[f"{package}/__init__.py"] = (
            f"try:\n    from .fast import {name}\nexcept ImportError:\n    from .device import {name}\n"
        )
        d.use(f"from {package} import {name}")
        return f"{name}()"
    d.files[f"{package}/__init__.py"] = "from .device import *\nfrom .other import *\n"
    d.files[f"{package}/other.py"] = f"from . import device as _device\n\nPLACES = [str(_device.{name}()), 'cpu']\n"
    d.use(f"import {package} as {package}_too")
    return d.one(f"{package}_too.PLACES[0]", f"{package}_too.{name}()")


DEVICES = (
    *(put_together, put_together, from_text_file, from_text_file, of_parser, of_parser),
    *(kept, kept, of_environment, matched_device, of_files, of_files),
)


# --- tensors


def by_callers(d: Draft, device: str) -> str:
    """Methods that are called through something else."""
    name = d.new("x")
    d.use("import operator")
    value = f"{d.torch}.{PLAIN}"
    d.body.append(
        d.one(
            f'{name} = operator.methodcaller("cuda")({value})',
            f'{name} = operator.methodcaller("to", {device})({value})',
            f'{name} = operator.attrgetter("cuda")({value})()',
            f"{name} = list(map({d.torch}.Tensor.cuda, [{value}]))[0]",
            f"{name} = {d.torch}.Tensor.to({value}, {device})",
            f"{name} = {d.torch}.nn.Module.cuda({d.torch}.nn.Identity())({value}.cuda())",
            f'{name} = (lambda t, *, how="cuda": getattr(t, how)())({value})',
            f"{name} = [getattr({value}, how)() for how in ('cuda',)][0]",
            f"{name} = {value}.cuda().cpu().cuda()",
            f"{name} = {d.torch}.stack([t.cuda() for t in {value}.unbind()])",
            f"{name} = {d.torch}.cat(tuple({value}[i : i + 1].to({device}) for i in range(3)))",
            f"{name} = {value}\n{name}.data = {name}.data.cuda()",
        )
    )
    return name


def from_dataset(d: Draft, device: str) -> str:
    """A dataset or a collating function that puts items on the device."""
    name, data = d.new("x"), d.new("Data")
    inside = d.random.random() < 0.5
    d.top += [
        f"class {data}({d.torch}.utils.data.Dataset):",
        "    def __len__(self):",
        "        return 2",
        "",
        "    def __getitem__(self, index):",
        f"        item = {d.torch}.{PLAIN}",
        "        return item.cuda()" if inside else "        return item",
        "",
    ]
    collate = "" if inside else f", collate_fn=lambda rows: {d.torch}.stack(rows).to({device})"
    d.body.append(f"{name} = next(iter({d.torch}.utils.data.DataLoader({data}(), batch_size=2{collate})))[0]")
    return name


def prefetched(d: Draft, device: str) -> str:
    name, cls = d.new("x"), d.new("Prefetch")
    d.top += [
        f"class {cls}:",
        "    def __init__(self, rows):",
        "        self.rows = iter(rows)",
        f"        self.stream = {d.torch}.cuda.Stream()",
        "        self.preload()",
        "",
        "    def preload(self):",
        "        try:",
        "            self.row = next(self.rows)",
        "        except StopIteration:",
        "            self.row = None",
        "            return",
        f"        with {d.torch}.cuda.stream(self.stream):",
        "            self.row = self.row.cuda(non_blocking=True)",
        "",
        "    def next(self):",
        f"        {d.torch}.cuda.current_stream().wait_stream(self.stream)",
        "        row = self.row",
        "        self.preload()",
        "        return row",
        "",
    ]
    d.body.append(f"{name} = {cls}([{d.torch}.{PLAIN}, {d.torch}.{PLAIN}]).next()")
    return name


def by_mixin(d: Draft, device: str) -> str:
    """Classes that take what moves them from another one, or pass it on to what they hold."""
    name, mixin, cls = d.new("x"), d.new("Mixin"), d.new("Item")
    form = d.random.randrange(3)
    if form == 0:
        d.top += [
            f"class {mixin}:",
            "    def to(self, device):",
            "        for key, value in vars(self).items():",
            f"            if isinstance(value, {d.torch}.Tensor):",
            "                setattr(self, key, value.to(device))",
            "        return self",
            "",
            "    def cuda(self):",
            '        return self.to("cuda")',
            "",
            f"class {cls}({mixin}):",
            "    def __init__(self, x):",
            "        self.x = x",
            "",
        ]
        d.body.append(f"{name} = {cls}({d.torch}.{PLAIN}).{d.one('cuda()', f'to({device})')}.x")
    elif form == 1:
        d.top += [
            f"class {cls}:",
            "    def __init__(self, x):",
            "        self.x = x",
            "",
            "    def _apply(self, f):",
            f"        return {cls}(f(self.x))",
            "",
            "    def cuda(self, *args):",
            "        return self._apply(lambda t: t.cuda(*args))",
            "",
        ]
        d.body.append(f"{name} = {cls}({d.torch}.{PLAIN}).cuda({d.one('', '0')}).x")
    else:
        d.top += [
            f"class {cls}:",
            "    def __init__(self, x):",
            "        self.x = x",
            "",
            "    def __getattr__(self, name):",
            '        return getattr(self.__dict__["x"], name)',
            "",
        ]
        d.body.append(f"{name} = {cls}({d.torch}.{PLAIN}).{d.one('cuda()', f'to({device})')}")
    return name


def mapped(d: Draft, device: str) -> str:
    name = d.new("x")
    value = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(3)
    if form == 0:
        d.use("from torch.utils._pytree import tree_map")
        d.body.append(f"{name} = tree_map(lambda t: t.{d.one('cuda()', f'to({device})')}, {{'a': [{value}]}})['a'][0]")
    elif form == 1:
        function = d.new("move")
        d.top += [
            f"def {function}(value, place='cuda'):",
            f"    if {d.torch}.is_tensor(value):",
            "        return value.to(place)",
            "    if isinstance(value, dict):",
            f"        return {{k: {function}(v, place) for k, v in value.items()}}",
            f"    return type(value)({function}(v, place) for v in value)",
            "",
        ]
        d.body.append(f"{name} = {function}({{'a': [{value}]}}{d.one('', f', {device}')})['a'][0]")
    else:
        d.use("import copy")
        model = d.new("model")
        d.body += [
            f"{model} = copy.deepcopy({d.torch}.nn.Sequential({d.torch}.nn.Identity(), {d.torch}.nn.ReLU())).cuda()",
            f"{name} = {model}({value}.{d.one('cuda()', f'to({device})')})",
        ]
    return name


TENSORS = (by_callers, by_callers, from_dataset, prefetched, by_mixin, by_mixin, mapped)


# --- parts


def distinguished(d: Draft, device: str, x: str) -> None:
    """A kind of device is told apart from others."""
    name = d.new("kind")
    form = d.random.randrange(10)
    if form == 0:
        d.body += [
            f"match {x}.device.type:",
            "    case 'cuda':",
            "        print('it is a gpu')",
            "    case _:",
            "        print('something else')",
        ]
    elif form == 1:
        d.body.append(f"print({{'cuda': 'fast', 'cpu': 'slow'}}.get({x}.device.type, 'never heard of'))")
    elif form == 2:
        d.body.append(f"print('module', getattr({d.torch}, {x}.device.type).device_count() > 0)")
    elif form == 3:
        d.body.append(f"print('start', str({x}.device)[:4] == 'cuda', str({device})[:4] == 'cuda')")
    elif form == 4:
        d.body.append(f"print('upper', {x}.device.type.upper() == 'CUDA')")
    elif form == 5:
        d.use("from enum import Enum")
        d.top += [f"class {name.title()}(Enum):", "    CUDA = 'cuda'", "    CPU = 'cpu'", ""]
        d.body.append(
            d.one(
                f"print('enum', {name.title()}({x}.device.type).name)",
                f"print('enum', {x}.device.type == {name.title()}.CUDA.value)",
            )
        )
    elif form == 6:
        d.body.append(
            f"print('among', {x}.device in [{d.torch}.device('cuda:0'), {d.torch}.device('cuda:1')], "
            f"{x}.device.type in {{'cuda', 'xpu'}})"
        )
    elif form == 7:
        d.top += [
            f"def {name}(value):",
            "    if isinstance(value, str):",
            f"        value = {d.torch}.device(value)",
            "    if value.type == 'cuda':",
            "        return 'gpu'",
            "    if value.type == 'cpu':",
            "        return 'host'",
            "    raise ValueError(f'unknown device {value.type}')",
            "",
        ]
        d.body.append(f"print({name}({x}.device), {name}({device}))")
    elif form == 8:
        d.body += [f"assert {x}.device.type == 'cuda', 'needs a gpu'", "print('asserted')"]
    else:
        d.body.append(f"print('kinds', sorted({{{x}.device.type, 'cpu'}}).index('cpu'), len({x}.device.type) > 2)")


def attributes(d: Draft, device: str, x: str) -> None:
    d.use("import operator")
    d.body.append(
        d.one(
            f"print('attr', getattr({x}, 'is_cuda'))",
            f"print('attr', operator.attrgetter('is_cuda')({x}))",
            f"print('attr', all(t.is_cuda for t in ({x}, {x}.clone())))",
            f"print('attr', len(list(filter(lambda t: t.is_cuda, [{x}, {x}.cpu()]))))",
            f"print('attr', [t.is_cuda for t in ({x}, {x}.cpu())].count(True))",
            f"print('attr', getattr({x}, 'is_' + 'cuda'))",
            f"print('attr', 'gpu' if {x}.is_cuda else 'cpu', not {x}.cpu().is_cuda)",
            f"print('attr', next(p.is_cuda for p in {d.torch}.nn.Linear(1, 1).cuda().parameters()))",
        )
    )


def modules(d: Draft, device: str, x: str) -> None:
    """The module of CUDA in other ways."""
    d.use("import sys")
    there = d.one(
        "sys.modules['torch.cuda']",
        f"vars({d.torch})['cuda']",
        f"{d.torch}.__dict__['cuda']",
        "__import__('torch').cuda",
        "__import__('torch.cuda', fromlist=['x'])",
        f"(lambda m: m)({d.torch}.cuda)",
        f"[{d.torch}.cuda][0]",
        f"{{'gpu': {d.torch}.cuda}}['gpu']",
        f"getattr({d.torch}, 'cuda')",
    )
    d.body.append(
        d.one(
            f"print('there', {there}.is_available())",
            f"{there}.synchronize()",
            f"print('count', {there}.device_count() > 0)",
            f"print('current', {there}.current_device() >= 0)",
        )
    )


def visible(d: Draft, device: str, x: str) -> None:
    d.use("import os")
    name = d.new("ids")
    form = d.random.randrange(4)
    if form == 0:
        d.body.append('print("cards", len(os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(",")))')
    elif form == 1:
        d.body += [
            'os.environ["CUDA_VISIBLE_DEVICES"] = "0"',
            f'{name} = [int(one) for one in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]',
            f"print('ids', {name})",
        ]
    elif form == 2:
        d.body += [
            f'{name} = os.getenv("CUDA_VISIBLE_DEVICES")',
            f"print('set', {name} is None or {name}.isdigit())",
        ]
    else:
        d.body += [
            f'{name} = dict(os.environ, CUDA_VISIBLE_DEVICES="0")',
            f"print('child', {name}['CUDA_VISIBLE_DEVICES'])",
        ]


def stepped(d: Draft, device: str, x: str) -> None:
    """A step with the classes of mixed precision, switched off, and memory as programs print it."""
    model, scaler = d.new("layer"), d.new("scaler")
    made = d.one(
        f"{d.torch}.cuda.amp.GradScaler(enabled=False)",
        f"{d.torch}.amp.GradScaler('cuda', enabled=False)",
        f"{d.torch}.amp.GradScaler(device={x}.device.type, enabled=False)",
    )
    around = d.one(
        f"{d.torch}.cuda.amp.autocast(enabled=False)",
        f"{d.torch}.autocast(device_type={x}.device.type, enabled=False)",
        f"{d.torch}.amp.autocast('cuda', enabled=False)",
        f"{d.torch}.autocast(device_type=str({device}).split(':')[0], enabled=False)",
    )
    d.body += [
        f"{model} = {d.torch}.nn.Linear(3, 1).to({x}.device)",
        f"{d.torch}.nn.init.constant_({model}.weight, 0.5)",
        f"{d.torch}.nn.init.zeros_({model}.bias)",
        f"{scaler} = {made}",
        f"with {around}:",
        f"    loss_{model} = {model}({x}).sum()",
        f"{scaler}.scale(loss_{model}).backward()",
        f"print('step', float(loss_{model}), {model}.weight.grad.is_cuda)",
        f"print('used', {d.torch}.cuda.max_memory_allocated() / 2**20 >= 0)",
    ]


def texts(d: Draft, device: str, x: str) -> None:
    """What is printed of a device, and words that only look like one."""
    name = d.new("note")
    form = d.random.randrange(7)
    if form == 0:
        d.body.append(f"print(f'running on {{{x}.device}}')")
    elif form == 1:
        d.body.append(f"print('using %s' % {x}.device.type)")
    elif form == 2:
        d.body += [f"{name} = 'model-cuda.pt'", f"print(len({name}), {name}.split('-')[1])"]
    elif form == 3:
        d.body += [f"{name} = {{'cuda': [], 'cpu': []}}", f"{name}[{x}.device.type].append(1)"]
        d.body.append(f"print('filed', sum(map(len, {name}.values())))")
    elif form == 4:
        d.use("import collections")
        d.body += [f"{name} = collections.defaultdict(int)", f"{name}[str({x}.device)] += 1"]
        d.body.append(f"print('counted', {name}[str({x}.device)], len({name}))")
    elif form == 5:
        d.body.append(f"print('equal', str({x}.device) == f'{{{x}.device.type}}:{{{x}.device.index}}')")
    else:
        d.body.append(f"print('made', {d.torch}.device({x}.device.type, {x}.device.index or 0) == {x}.device)")


def parametrized(d: Draft, device: str, x: str) -> None:
    """Defaults of functions and classes that say a device."""
    name = d.new("fun")
    form = d.random.randrange(6)
    if form == 0:
        d.top += [f"def {name}(value, *, device={d.torch}.device('cuda')):", "    return value.to(device)", ""]
        d.body.append(f"print('default', {name}({x}.cpu()).is_cuda, {name}({x}, device={device}).is_cuda)")
    elif form == 1:
        d.top += [
            f"def {name}(value, device=None):",
            f"    device = {d.torch}.device('cuda') if device is None else {d.torch}.device(device)",
            "    return value.to(device).device.type == device.type",
            "",
        ]
        d.body.append(f"print('none', {name}({x}.cpu()), {name}({x}, {device}))")
    elif form == 2:
        d.top += [
            f"class {name.title()}:",
            "    def __init__(self, device='cuda', name='cuda-runner'):",
            "        self.device, self.name = device, name",
            "",
            "    def __call__(self, value):",
            "        return (value.to(self.device) * 2).sum().item()",
            "",
        ]
        d.body.append(
            f"print('called', {name.title()}()({x}.cpu()), {name.title()}({device})({x}), len({name.title()}().name))"
        )
    elif form == 3:
        d.use("from functools import partial")
        d.body += [
            f"{name} = partial({d.torch}.Tensor.to, device='cuda')",
            f"print('partial', {name}({x}.cpu()).is_cuda)",
        ]
    elif form == 4:
        d.top += [
            f"def {name}(*args, **kwargs):",
            "    kwargs.setdefault('device', 'cuda')",
            f"    return {d.torch}.ones(*args, **kwargs)",
            "",
        ]
        d.body.append(f"print('set', ({name}(3).to({x}.device) + {x}).tolist(), {name}(2, device='cpu').is_cuda)")
    else:
        d.top += [
            f"def {name}(kind: str = 'cuda', index: int = 0) -> str:",
            "    return kind if kind == 'cpu' else f'{kind}:{index}'",
            "",
        ]
        d.body.append(f"print('built', {d.torch}.ones(1).to({name}()).is_cuda, {name}('cpu'), {name}(index=1)[-1])")


PARTS = (
    *(distinguished, distinguished, attributes, modules, modules, visible),
    *(stepped, texts, texts, parametrized, parametrized),
)
