"""Devices and tensors as real code has them: files of settings behind options, states of modules, old PyTorch, candidates tried in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft

PLAIN = "tensor([1.0, 2.0, 3.0])"


# --- devices


def tried(d: Draft) -> str:
    """Candidates in a row: the first that works."""
    name, torch = d.new("first"), d.torch
    row = d.one("('cuda', 'cpu')", "['cuda', 'cpu']", "('cuda:1', 'cuda:0', 'cpu')")
    form = d.random.randrange(6)
    if form == 0:
        d.top += [
            f"def {name}(kinds={row}):",
            "    for kind in kinds:",
            "        try:",
            f"            {torch}.zeros(1).to(kind)",
            "        except (RuntimeError, AssertionError):",
            "            continue",
            "        return kind",
            "    raise RuntimeError('no device')",
            "",
        ]
        return d.one(f"{name}()", f"{torch}.device({name}())", f"{name}(['cuda:0'])")
    if form == 1:
        d.body += [
            f"{name} = 'cpu'",
            f"if getattr(getattr({torch}.backends, 'mps', None), 'is_available', bool)():",
            f"    {name} = 'mps'",
            f"elif {torch}.cuda.is_available():",
            f"    {name} = {d.one(repr('cuda'), repr('cuda:0'))}",
        ]
        return name
    if form == 2:
        d.body.append(
            f"{name} = 'cuda' if {torch}.cuda.is_available() else 'mps' if {torch}.backends.mps.is_available() else 'cpu'"
        )
        return d.one(name, f"{torch}.device({name})")
    if form == 3:
        d.top += [
            f"def {name}():",
            f"    yield from (kind for kind in {row})",
            "",
        ]
        return d.one(f"next({name}())", f"list({name}())[0]")
    if form == 4:
        d.use("import itertools")
        d.body.append(f"{name} = itertools.cycle([f'cuda:{{i}}' for i in range({torch}.cuda.device_count())])")
        return f"next({name})"
    d.body += [
        f"{name}_all = {{'cuda': {torch}.cuda.is_available(), 'cpu': True}}",
        f"{name} = [kind for kind, there in {name}_all.items() if there][0]",
    ]
    return name


def by_rank(d: Draft) -> str:
    """The card of a rank, of a list of numbers, of what is visible."""
    name, torch = d.new("rank"), d.torch
    d.use("import os")
    form = d.random.randrange(6)
    if form == 0:
        d.body += [f"{name} = int(os.environ.get('LOCAL_RANK', {d.one('0', '1', repr('0'))}))"]
        return d.one(
            f"{torch}.device('cuda', {name})",
            f"{torch}.device(f'cuda:{{{name}}}')",
            f"f'cuda:{{{name} % {torch}.cuda.device_count()}}'",
            f"'cuda:%d' % {name}",
            f"('cuda:{{}}'.format({name}) if {name} >= 0 else 'cpu')",
        )
    if form == 1:
        d.body += [
            f"{name} = [int(one) for one in '{d.one('0', '0,1', '1,0')}'.split(',') if int(one) >= 0]",
            f"{torch}.cuda.set_device({name}[0])",
            f"{name}_device = {torch}.device('cuda:{{}}'.format({name}[0])) if {name} else {torch}.device('cpu')",
            f"{torch}.cuda.set_device(0)",
        ]
        return f"{name}_device"
    if form == 2:
        d.top += [
            f"class {name.title()}:",
            "    def __init__(self, local=0):",
            "        self.local = local",
            "",
            "    @property",
            "    def device(self):",
            f"        return {d.one(torch + '.device(' + repr('cuda') + ', self.local)', 'f' + repr('cuda:{self.local}'))}",
            "",
        ]
        return d.one(f"{name.title()}().device", f"{name.title()}(1).device")
    if form == 3:
        d.body += [f"{name} = {{'rank': 0, 'world': 2}}"]
        return d.one(
            f"f\"cuda:{{{name}['rank']}}\"",
            f"('cuda:' + str({name}['rank']) if {name}['world'] > 1 else 'cuda')",
            "'cuda:{rank}'.format(**" + name + ")",
        )
    if form == 4:
        d.body += [f"{name} = dict(enumerate(['cuda:0', 'cuda:1']))"]
        return d.one(f"{name}[0]", f"{name}[int(os.getenv('LOCAL_RANK', 1))]")
    d.top += [f"def {name}_to_device(gpu: int = -1):", "    return 'cpu' if gpu < 0 else f'cuda:{gpu}'", ""]
    return d.one(f"{name}_to_device(0)", f"{name}_to_device(gpu=1)", f"{torch}.device({name}_to_device(0))")


def options_and_file(d: Draft) -> str:
    """Options whose defaults come from a file, a class or a table, or that are read from a file of arguments."""
    name, file = d.new("opt"), d.new("defaults")
    d.use("import argparse")
    form = d.random.randrange(9)
    kind = d.one("cuda", "cuda:0", "cuda:1")
    if form == 0:
        d.use("import yaml")
        d.use("from pathlib import Path")
        d.files[f"{file}.yaml"] = f"device: {kind}\nsteps: 3\nname: cuda-run\n"
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--config', default='{file}.yaml')",
            f"{name}.add_argument('--device', default='cpu')",
            f"{name}_args, _ = {name}.parse_known_args([])",
            f"{name}.set_defaults(**yaml.safe_load((Path(__file__).parent / {name}_args.config).read_text()))",
        ]
        return f"{name}.parse_args([]).device"
    if form == 1:
        d.use("import dataclasses")
        d.use("from dataclasses import dataclass")
        d.top += ["@dataclass", f"class {name.title()}:", f"    device: str = '{kind}'", "    steps: int = 2", ""]
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"for one in dataclasses.fields({name.title()}):",
            f"    {name}.add_argument(f'--{{one.name}}', type=type(one.default), default=one.default)",
            f"{name}_given = {name.title()}(**vars({name}.parse_args([])))",
        ]
        return f"{name}_given.device"
    if form == 2:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"for flag, value in (('--device', '{kind}'), ('--seed', 0)):",
            f"    {name}.add_argument(flag, type=type(value), default=value)",
        ]
        return f"{name}.parse_args([]).device"
    if form == 3:
        d.use("import shlex")
        d.use("from pathlib import Path")
        d.files[f"{file}.args"] = f"--device {kind} --steps 3\n"
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', default='cpu')",
            f"{name}.add_argument('--steps', type=int)",
            f"{name}_args = {name}.parse_args(shlex.split(Path(__file__).with_name('{file}.args').read_text()))",
        ]
        return f"{name}_args.device"
    if form == 4:
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', default='{kind}')",
            f"{name}_args = {name}.parse_args(['--device', '{kind}'])",
            f"{name}_args.device = {d.torch}.device({name}_args.device if {d.torch}.cuda.is_available() else 'cpu')",
        ]
        return f"{name}_args.device"
    if form == 5:
        d.top += [
            f"class {name.title()}(argparse.Action):",
            "    def __call__(self, parser, namespace, values, option_string=None):",
            f"        setattr(namespace, self.dest, {d.torch}.device(values))",
            "",
        ]
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', action={name.title()}, default={d.torch}.device('{kind}'))",
        ]
        return d.one(f"{name}.parse_args([]).device", f"{name}.parse_args(['--device', 'cuda']).device")
    if form == 6:
        d.use("import json")
        d.use("from pathlib import Path")
        d.files[f"{file}.json"] = f'{{"device": "{kind}", "lr": 0.1}}\n'
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device')",
            f"{name}_conf = json.loads(Path(__file__).with_name('{file}.json').read_text())",
            f"{name}_conf.update({{k: v for k, v in vars({name}.parse_args([])).items() if v is not None}})",
        ]
        return f"{name}_conf['device']"
    if form == 7:
        d.use("import sys")
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--device', default='cpu')",
            f"{name}_args = {name}.parse_args(sys.argv[1:] or ['--device', '{kind}'])",
        ]
        return f"{name}_args.device"
    d.files[f"{file}.py"] = (
        "import argparse\n\n\ndef get_parser():\n    parser = argparse.ArgumentParser()\n"
        f"    parser.add_argument('--device', default='{kind}', help='cuda or cpu')\n"
        "    parser.add_argument('--fp16', action='store_true')\n    return parser\n\n\n"
        "def get_args(argv=None):\n    return get_parser().parse_args(argv or [])\n"
    )
    d.use(f"import {file}")
    return d.one(f"{file}.get_args().device", f"{file}.get_parser().parse_args([]).device")


def of_tree(d: Draft) -> str:
    """Trees of settings with dots, paths, overrides, inheritance."""
    name = d.new("tree")
    kind = d.one("cuda", "cuda:0", "cuda:1")
    form = d.random.randrange(7)
    if form == 0:
        d.top += [
            f"class {name.title()}:",
            "    def __init__(self, data):",
            "        self._data = data",
            "",
            "    def __getattr__(self, name):",
            "        value = self._data[name]",
            f"        return {name.title()}(value) if isinstance(value, dict) else value",
            "",
        ]
        d.body.append(f"{name} = {name.title()}({{'train': {{'device': '{kind}', 'steps': 2}}}})")
        return d.one(f"{name}.train.device", f"getattr({name}.train, 'device')")
    if form == 1:
        d.top += [
            f"class {name.title()}(dict):",
            "    __getattr__ = dict.__getitem__",
            "    __setattr__ = dict.__setitem__",
            "",
            "    def merge_from_list(self, pairs):",
            "        for key, value in zip(pairs[::2], pairs[1::2]):",
            "            self[key] = value",
            "",
        ]
        d.body += [f"{name} = {name.title()}()", f"{name}.DEVICE = {d.one(repr('cpu'), repr('cuda'))}"]
        d.body.append(f"{name}.merge_from_list(['DEVICE', '{kind}'])")
        return f"{name}.DEVICE"
    if form == 2:
        d.use("import functools")
        d.use("from types import SimpleNamespace")
        d.body.append(f"{name} = SimpleNamespace(train=SimpleNamespace(device='{kind}'))")
        return f"functools.reduce(getattr, 'train.device'.split('.'), {name})"
    if form == 3:
        d.use("import copy")
        d.top.append(f"{name.upper()} = {{'device': '{kind}', 'data': {{'path': 'data/cuda'}}}}")
        d.body.append(f"{name} = copy.deepcopy({name.upper()})")
        return d.one(f"{name}['device']", f"{name}.get('device')", f"({name} | {{'steps': 1}})['device']")
    if form == 4:
        d.use("import json")
        d.body.append(f"{name} = json.loads(json.dumps({{'runtime': {{'device': '{kind}'}}}}))")
        return d.one(f"{name}['runtime']['device']", f"{name}.get('runtime', {{}}).get('device', 'cpu')")
    if form == 5:
        d.files[f"{name}_base.py"] = f"device = '{kind}'\nworkers = 0\n"
        d.files[f"{name}_conf.py"] = f"from {name}_base import *\n\nsteps = 3\n"
        d.use(f"import {name}_conf")
        return d.one(f"{name}_conf.device", f"vars({name}_conf)['device']", f"getattr({name}_conf, 'device', 'cpu')")
    d.top += [
        f"class {name.title()}:",
        "    device = None",
        "",
        f"class {name.title()}Gpu({name.title()}):",
        f"    device = '{kind}'",
        "",
        f"{name.upper()}S = {{c.__name__[-3:].lower(): c for c in {name.title()}.__subclasses__()}}",
    ]
    return d.one(f"{name.upper()}S['gpu'].device", f"({name.upper()}S['gpu']().device or 'cpu')")


def of_state(d: Draft) -> str:
    """What is the device now: states of modules and classes, with blocks that change it."""
    name = d.new("state")
    kind = d.one("cuda", "cuda:0", "cuda:1")
    form = d.random.randrange(6)
    if form == 0:
        d.files[f"{name}.py"] = (
            "import torch\n\n_device = None\n\n\ndef set_device(device=None):\n    global _device\n"
            f"    _device = torch.device(device or '{kind}')\n\n\ndef device():\n    if _device is None:\n        set_device()\n"
            "    return _device\n"
        )
        d.use(f"import {name}")
        if d.random.random() < 0.5:
            d.body.append(f"{name}.set_device({d.one('', repr('cuda'), 'device=' + repr('cuda:0'))})")
        return d.one(f"{name}.device()", f"str({name}.device())")
    if form == 1:
        d.use("from contextlib import contextmanager")
        d.top += [
            f"{name.upper()} = ['cpu']",
            "",
            "@contextmanager",
            f"def {name}(kind='{kind}'):",
            f"    {name.upper()}.append(kind)",
            "    yield kind",
            f"    {name.upper()}.pop()",
            "",
        ]
        d.body += [f"with {name}() as {name}_now:", f"    {name}_kept = {name.upper()}[-1]"]
        return d.one(f"{name}_now", f"{name}_kept")
    if form == 2:
        d.top += [
            f"class {name.title()}:",
            "    _one = None",
            "",
            "    def __new__(cls):",
            "        if cls._one is None:",
            "            cls._one = super().__new__(cls)",
            f"            cls._one.device = '{kind}'",
            "        return cls._one",
            "",
        ]
        return f"{name.title()}().device"
    if form == 3:
        d.top += [
            f"class {name.title()}:",
            "    def __set_name__(self, owner, name):",
            "        self.name = name",
            "",
            "    def __get__(self, one, owner=None):",
            f"        return '{kind}'",
            "",
            f"class {name.title()}Owner:",
            f"    device = {name.title()}()",
            f"    other = property(lambda self: '{kind}')",
            "",
        ]
        return d.one(f"{name.title()}Owner().device", f"{name.title()}Owner.device", f"{name.title()}Owner().other")
    if form == 4:
        d.top += [f"class {name.title()}(str):", "    pass", ""]
        return d.one(f"{name.title()}('{kind}')", f"str({name.title()}('{kind}'))")
    d.top += [
        f"class {name.title()}:",
        "    def __init__(self, kind):",
        "        self.kind = kind",
        "",
        "    def __str__(self):",
        "        return self.kind",
        "",
    ]
    d.body.append(f"{name} = {name.title()}('{kind}')")
    return d.one(f"str({name})", f"f'{{{name}}}'", f"'%s' % {name}", f"{name}.kind")


DEVICES = (tried, tried, by_rank, by_rank, options_and_file, options_and_file, of_tree, of_tree, of_state, of_state)


# --- tensors


def old(d: Draft, device: str) -> str:
    """As programs for PyTorch 0.3 to 1.0 have it: types of tensors, Variable, a flag."""
    name, kind, torch = d.new("x"), d.new("Type"), d.torch
    plain = f"{torch}.{PLAIN}"
    values = "[1.0, 2.0, 3.0]"
    form = d.random.randrange(10)
    if form == 0:
        d.body += [
            f"{kind} = {torch}.cuda.FloatTensor if {torch}.cuda.is_available() else {torch}.FloatTensor",
            f"{name} = {d.one(f'{plain}.type({kind})', f'{kind}({values})', f'{torch}.autograd.Variable({kind}({values}))')}",
        ]
    elif form == 1:
        d.body += [
            f"{kind} = 'torch.cuda.FloatTensor' if {torch}.cuda.is_available() else 'torch.FloatTensor'",
            f"{name} = {plain}.type({kind})",
        ]
    elif form == 2:
        d.use("from torch.autograd import Variable")
        d.top += [
            f"def {kind.lower()}(value, requires_grad=False):",
            f"    if {torch}.cuda.is_available():",
            f"        value = value.{d.one('cuda()', 'cuda(0)', 'cuda(non_blocking=True)')}",
            "    return Variable(value, requires_grad=requires_grad)",
            "",
        ]
        d.body.append(f"{name} = {kind.lower()}({plain})")
    elif form == 3:
        d.body += [
            f"use_{name} = {torch}.cuda.is_available()",
            f"{kind} = {torch}.cuda if use_{name} else {torch}",
            f"{name} = {kind}.FloatTensor({values})",
        ]
    elif form == 4:
        d.body.append(
            f"{name} = getattr({torch}.cuda if {torch}.cuda.is_available() else {torch}, 'FloatTensor')({values})"
        )
    elif form == 5:
        d.body += [
            f"{kind} = {{True: {torch}.cuda.FloatTensor, False: {torch}.FloatTensor}}",
            f"{name} = {kind}[{torch}.cuda.is_available()]({values})",
        ]
    elif form == 6:
        d.top += [
            f"class {kind}:",
            "    def __init__(self, cuda=True):",
            "        self.cuda = cuda",
            "",
            "    def wrap(self, value):",
            "        if self.cuda:",
            "            value = value.cuda()",
            "        return value",
            "",
        ]
        d.body.append(f"{name} = {kind}({d.one('', f'{torch}.cuda.is_available()', 'cuda=True')}).wrap({plain})")
    elif form == 7:
        d.top += [
            f"use_{kind.lower()} = {torch}.cuda.is_available()",
            f"{kind.lower()} = (lambda t: t.cuda()) if use_{kind.lower()} else (lambda t: t)",
        ]
        d.body.append(f"{name} = {kind.lower()}({plain})")
    elif form == 8:
        d.body += [f"{name} = {plain}", f"{name} = {name}.cuda() if {torch}.cuda.is_available() else {name}"]
    else:
        d.use("from torch import cuda as gpu")
        d.body += [f"{name} = gpu.FloatTensor({values}) if gpu.is_available() else {plain}"]
    return name


def if_it_can(d: Draft, device: str) -> str:
    """Things that are asked whether they can be moved; containers like those of libraries."""
    name, cls = d.new("x"), d.new("Bag")
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(7)
    if form == 0:
        d.top += [
            f"def {cls.lower()}(value, device):",
            "    if hasattr(value, 'to'):",
            "        return value.to(device)",
            "    if isinstance(value, dict):",
            f"        return {{k: {cls.lower()}(v, device) for k, v in value.items()}}",
            "    return value",
            "",
        ]
        d.body.append(f"{name} = {cls.lower()}({{'x': {plain}, 'n': 3}}, {device})['x']")
    elif form == 1:
        d.body.append(f"{name} = [v.cuda() if hasattr(v, 'cuda') else v for v in ({plain}, 'text')][0]")
    elif form == 2:
        d.use("from collections import UserDict")
        d.top += [
            f"class {cls}(UserDict):",
            "    def to(self, device):",
            "        self.data = {k: v.to(device) for k, v in self.data.items()}",
            "        return self",
            "",
        ]
        d.body.append(f"{name} = {cls}({{'x': {plain}}}).to({device})['x']")
    elif form == 3:
        d.use("from typing import NamedTuple")
        d.top += [
            f"class {cls}(NamedTuple):",
            "    x: object",
            "    y: object",
            "",
            "    def to(self, *args, **kwargs):",
            f"        return {cls}(*[t.to(*args, **kwargs) for t in self])",
            "",
            "    def cuda(self):",
            f"        return self.to({d.one(repr('cuda'), 'device=' + repr('cuda'), d.torch + '.device(' + repr('cuda') + ')')})",
            "",
        ]
        d.body.append(f"{name} = {cls}({plain}, {plain}).{d.one('cuda()', f'to({device})')}.x")
    elif form == 4:
        d.top += [
            f"class {cls}:",
            "    def __init__(self, **values):",
            "        self.__dict__.update(values)",
            "",
            "    def __getattr__(self, name):",
            "        def each(*args, **kwargs):",
            f"            return {cls}(**{{k: getattr(v, name)(*args, **kwargs) for k, v in vars(self).items()}})",
            "        return each",
            "",
        ]
        d.body.append(f"{name} = {cls}(x={plain}).{d.one('cuda()', f'to({device})')}.x")
    elif form == 5:
        d.body += [
            f"{name} = {plain}",
            "try:",
            f"    {name} = {name}.cuda()",
            "except (RuntimeError, AssertionError):",
            "    pass",
        ]
    else:
        d.top += [
            f"class {cls}:",
            "    def __init__(self, data):",
            "        self.data = data",
            "",
            "    def map(self, f, *args):",
            f"        return {cls}([f(one, *args) for one in self.data])",
            "",
        ]
        how = d.one(f"{d.torch}.Tensor.cuda", "lambda t: t.cuda()", f"{d.torch}.Tensor.to, {device}")
        d.body.append(f"{name} = {cls}([{plain}]).map({how}).data[0]")
    return name


def of_models(d: Draft, device: str) -> str:
    """Models out of tables, several at once, copies, wrappers."""
    name, net, nn = d.new("x"), d.new("net"), f"{d.torch}.nn"
    plain = f"{d.torch}.{PLAIN}"
    form = d.random.randrange(9)
    if form == 0:
        d.top.append(f"{net} = {{'id': {nn}.Identity, 'relu': lambda: {nn}.ReLU()}}")
        d.body.append(f"{net}_one = {net}['{d.one('id', 'relu')}']().{d.one('cuda()', f'to({device})')}")
        d.body.append(f"{name} = {net}_one({plain}.cuda())")
    elif form == 1:
        d.body += [
            f"{net} = [{nn}.Linear(3, 3, bias=False), {nn}.Linear(3, 3, bias=False)]",
            f"for one in {net}:",
            f"    {nn}.init.eye_(one.weight)",
            f"    one.{d.one('cuda()', f'to({device})')}",
            f"{name} = {net}[0]({plain}.to({net}[0].weight.device)).detach()",
        ]
    elif form == 2:
        d.use("import copy")
        d.body += [
            f"{net} = {nn}.Linear(3, 3, bias=False)",
            f"{nn}.init.eye_({net}.weight)",
            f"{net}_ema = copy.deepcopy({net}).{d.one('cuda()', f'to({device})')}.eval()",
            f"{name} = {net}_ema({plain}.to(next({net}_ema.parameters()).device)).detach()",
        ]
    elif form == 3:
        d.body += [
            f"{net} = {{k: m.{d.one('cuda()', f'to({device})')} for k, m in {{'g': {nn}.Identity(), 'd': {nn}.ReLU()}}.items()}}",
            f"{name} = {net}['g']({plain}.{d.one('cuda()', f'to({device})')})",
        ]
    elif form == 4:
        d.body += [
            f"{net} = {nn}.Linear(3, 3, bias=False)",
            f"{nn}.init.eye_({net}.weight)",
            f"{net}._apply(lambda t: t.{d.one('cuda()', f'to({device})')})",
            f"{name} = {net}({plain}.to({net}.weight.device)).detach()",
        ]
    elif form == 5:
        d.top += [
            f"class {net.title()}({nn}.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            f"        self.layer = {nn}.Linear(3, 3, bias=False)",
            f"        {nn}.init.eye_(self.layer.weight)",
            "        self.device = 'cpu'",
            "",
            "    def to(self, device):",
            f"        self.device = {d.torch}.device(device)",
            "        return super().to(device)",
            "",
            f"    def cuda(self, device={d.one('None', '0', repr('cuda'))}):",
            "        return self.to('cuda')",
            "",
            "    def forward(self, x):",
            "        return self.layer(x.to(self.device))",
            "",
        ]
        d.body.append(f"{name} = {net.title()}().{d.one('cuda()', f'to({device})')}({plain}).detach()")
    elif form == 6:
        d.body += [
            f"{net} = getattr({nn}, {d.one(repr('ReLU'), repr('Identity'))})()",
            f"{net}.{d.one('cuda()', f'to({device})')}",
            f"{name} = {net}({plain}.{d.one('cuda()', f'to({device})')})",
        ]
    elif form == 7:
        d.body += [
            f"{net} = {nn}.Module()",
            f"{net}.scale = {nn}.Parameter({d.torch}.ones(3))",
            f"{net}.{d.one('cuda()', f'to({device})', 'to(' + d.torch + '.device(' + repr('cuda') + '))')}",
            f"{name} = ({plain}.to({net}.scale.device) * {net}.scale).detach()",
        ]
    else:
        d.top += [
            f"class {net.title()}:",
            "    def __init__(self, gpu=True):",
            f"        self.model, self.loss = {nn}.Identity(), {nn}.MSELoss()",
            "        if gpu:",
            "            for key in ('model', 'loss'):",
            f"                setattr(self, key, getattr(self, key).{d.one('cuda()', 'to(' + repr('cuda') + ')')})",
            "        self.gpu = gpu",
            "",
            "    def __call__(self, x):",
            "        x = x.cuda() if self.gpu else x",
            "        return self.model(x)",
            "",
        ]
        d.body.append(f"{name} = {net.title()}()({plain})")
    return name


def in_time(d: Draft, device: str) -> str:
    """Asynchronous functions, generators that are sent to, retries, code in texts."""
    name, run = d.new("x"), d.new("run")
    plain = f"{d.torch}.{PLAIN}"
    moved = d.one("cuda()", "to('cuda')", "cuda(non_blocking=True)")
    form = d.random.randrange(8)
    if form == 0:
        d.use("import asyncio")
        d.top += [
            f"async def {run}_one(value):",
            "    await asyncio.sleep(0)",
            f"    return value.{moved}",
            "",
            f"async def {run}(*values):",
            f"    return await asyncio.gather(*[{run}_one(v) for v in values])",
            "",
        ]
        d.body.append(f"{name} = asyncio.run({run}({plain}, {plain}))[0]")
    elif form == 1:
        d.use("import asyncio")
        d.top += [
            f"async def {run}_rows(count):",
            "    for _ in range(count):",
            f"        yield {plain}",
            "",
            f"async def {run}():",
            f"    return [row.{moved} async for row in {run}_rows(2)]",
            "",
        ]
        d.body.append(f"{name} = asyncio.run({run}())[0]")
    elif form == 2:
        d.use("import asyncio")
        d.top += [
            f"class {run.title()}:",
            "    def __init__(self, value):",
            "        self.value = value",
            "",
            "    async def __aenter__(self):",
            f"        return self.value.{moved}",
            "",
            "    async def __aexit__(self, *error):",
            "        return None",
            "",
            f"async def {run}(value):",
            f"    async with {run.title()}(value) as moved:",
            "        return moved",
            "",
        ]
        d.body.append(f"{name} = asyncio.run({run}({plain}))")
    elif form == 3:
        d.top += [
            f"def {run}(device):",
            "    value = yield",
            "    while True:",
            "        value = yield value.to(device)",
            "",
        ]
        d.body += [f"{run}_it = {run}({device})", f"next({run}_it)", f"{name} = {run}_it.send({plain})"]
    elif form == 4:
        d.body += [
            f"for {run} in ('cuda', 'cpu'):",
            "    try:",
            f"        {name} = {plain}.to({run})",
            "        break",
            "    except (RuntimeError, AssertionError):",
            "        continue",
        ]
    elif form == 5:
        d.body += [
            f"{run} = {plain}",
            f"{name} = eval('{run}.{d.one('cuda()', 'to(device=' + chr(34) + 'cuda' + chr(34) + ')')}')",
        ]
    elif form == 6:
        d.body += [f"{run} = {{'x': {plain}}}", f"exec('y = x.cuda()', {run})", f"{name} = {run}['y']"]
    else:
        d.top += [
            f"def {run}(times):",
            "    def around(f):",
            "        def inner(*args, **kwargs):",
            "            for _ in range(times):",
            "                value = f(*args, **kwargs)",
            "            return value",
            "        return inner",
            "    return around",
            "",
            f"@{run}(times=2)",
            f"def {run}_move(value, device={d.one(repr('cuda'), d.torch + '.device(' + repr('cuda') + ')')}):",
            "    return value.to(device)",
            "",
        ]
        d.body.append(f"{name} = {run}_move({plain}{d.one('', f', device={device}')})")
    return name


TENSORS = (old, old, if_it_can, if_it_can, of_models, of_models, in_time, in_time)
