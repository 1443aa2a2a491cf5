"""What programs key by a device's type, names that become texts, and projects of several files that hand a device on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .programs import Draft

PLAIN = "tensor([1.0, 2.0, 3.0])"


# --- devices


def of_identifier(d: Draft) -> str:
    """A name of the program that becomes a text: a member of an Enum, a keyword, a function's name."""
    name = d.new("Kind")
    form = d.random.randrange(5)
    if form == 0:
        d.use("from enum import Enum")
        d.top += [f"class {name}(Enum):", "    cuda = 1", "    cpu = 2", ""]
        return d.one(f"{name}.cuda.name", f"{name}(1).name", f"list({name})[0].name")
    if form == 1:
        d.body.append(f"{name} = dict(cuda=True, mps=False)")
        return d.one(f"[k for k, v in {name}.items() if v][0]", f"next(iter({name}))", f"max({name}, key={name}.get)")
    if form == 2:
        d.top += [f"class {name}:", "    def cuda(self):", "        return 1", ""]
        return f"{name}.cuda.__name__"
    if form == 3:
        d.use("import argparse")
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--cuda', action='store_true', default=True)",
        ]
        return f"next(k for k, v in vars({name}.parse_args([])).items() if v)"
    d.use("from collections import namedtuple")
    d.body.append(f"{name} = namedtuple('{name}', 'cuda cpu')(1, 0)")
    return d.one(f"{name}._fields[0]", f"max({name}._asdict().items(), key=lambda item: item[1])[0]")


def set_later(d: Draft) -> str:
    """A device that another function, class or file puts into place."""
    name = d.new("Conf")
    form = d.random.randrange(6)
    if form == 0:
        d.use("from dataclasses import dataclass, field")
        d.top += [
            "@dataclass",
            f"class {name}:",
            "    gpu: int = 0",
            "    device: str = field(init=False)",
            "",
            "    def __post_init__(self):",
            "        self.device = f'cuda:{self.gpu}' if self.gpu >= 0 else 'cpu'",
            "",
        ]
        return d.one(f"{name}().device", f"{name}(gpu=1).device")
    if form == 1:
        d.top += [f"class {name}:", "    device = 'cpu'", ""]
        d.body.append(d.one(f"{name}.device = 'cuda'", f"setattr({name}, 'device', 'cuda:1')"))
        return d.one(f"{name}.device", f"{name}().device")
    if form == 2:
        file = name.lower()
        d.files[f"{file}.py"] = "place = None\n\n\ndef where():\n    return place or 'cpu'\n"
        d.use(f"import {file}")
        d.body.append(f"{file}.place = 'cuda'")
        return d.one(f"{file}.place", f"{file}.where()")
    if form == 3:
        d.use("from contextvars import ContextVar")
        d.top.append(f"{name.upper()} = ContextVar('{name.upper()}', default='cuda')")
        return f"{name.upper()}.get()"
    if form == 4:
        d.use("import asyncio")
        d.top += [f"async def {name.lower()}(gpu=True):", "    return 'cuda' if gpu else 'cpu'", ""]
        return f"asyncio.run({name.lower()}())"
    d.top += [
        f"class {name}:",
        "    kind = None",
        "",
        "    def __init_subclass__(cls, kind='cpu'):",
        "        cls.kind = kind",
        "",
        f"class {name}Own({name}, kind='cuda'):",
        "    pass",
        "",
    ]
    return f"{name}Own.kind"


def translated(d: Draft) -> str:
    """Words of users for devices: ``gpu`` becomes ``cuda`` by a table, a converter, a condition."""
    name = d.new("names")
    form = d.random.randrange(5)
    if form == 0:
        d.top.append(f"{name} = {{'gpu': 'cuda', 'host': 'cpu'}}")
        return d.one(f"{name}['gpu']", f"{name}.get('gpu', 'cpu')", f"{name}['g' + 'pu']")
    if form == 1:
        d.use("import argparse")
        d.body += [
            f"{name} = argparse.ArgumentParser()",
            f"{name}.add_argument('--place', type=lambda word: 'cuda' if word == 'gpu' else word, default='gpu')",
        ]
        return f"{name}.parse_args([]).place"
    if form == 2:
        d.top += [f"def {name}(word):", "    return {'gpu': 'cuda'}.get(word, word)", ""]
        return d.one(f"{name}('gpu')", f"{name}('cuda:1')")
    if form == 3:
        d.use("import ast")
        d.body.append(f"{name} = ast.literal_eval(\"{{'device': 'cuda', 'steps': 2}}\")")
        return f"{name}['device']"
    d.use("import json")
    d.use("from types import SimpleNamespace")
    d.body.append(
        f'{name} = json.loads(\'{{"run": {{"device": "cuda"}}}}\', object_hook=lambda o: SimpleNamespace(**o))'
    )
    return f"{name}.run.device"


def numbered(d: Draft) -> str:
    """Cards by their number alone."""
    cuda = f"{d.torch}.cuda"
    return d.one(
        f"{d.torch}.device({cuda}.current_device())",
        f"{cuda}.current_device()",
        f"{d.torch}.device(0)",
        f"list(range({cuda}.device_count()))[-1]",
        f"{d.torch}.ones(1).cuda().get_device()",
    )


DEVICES = (of_identifier, set_later, set_later, translated, translated, numbered)


# --- tensors


def by_project(d: Draft, device: str) -> str:
    """A configuration, data and an engine in files of their own."""
    name, number = d.new("x"), d.new("")
    form = d.random.randrange(3)
    d.files[f"cfg{number}.py"] = d.one(
        "DEVICE = 'cuda'\n",
        "import torch\n\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
        "class Cfg:\n    device = 'cuda:0'\n\n\nDEVICE = Cfg.device\n",
    )
    moved = d.one("x.to(DEVICE)", "x.cuda()", "x.to(DEVICE, non_blocking=True)")
    d.files[f"engine{number}.py"] = (
        f"import torch\nfrom cfg{number} import DEVICE\n\n\nclass Engine:\n    def __init__(self, model):\n"
        f"        self.model = model.to(DEVICE)\n\n    def batch(self, x):\n        return self.model({moved})\n"
    )
    if form == 0:
        d.use(f"from engine{number} import Engine as Engine{number}")
        d.body.append(f"{name} = Engine{number}({d.torch}.nn.Identity()).batch({d.torch}.{PLAIN})")
    elif form == 1:
        d.files[f"heir{number}.py"] = (
            f"from engine{number} import Engine\n\n\nclass Heir(Engine):\n    def step(self, x):\n"
            "        return self.batch(x) * 1\n"
        )
        d.use(f"import heir{number}")
        d.body.append(f"{name} = heir{number}.Heir({d.torch}.nn.ReLU()).step({d.torch}.{PLAIN})")
    else:
        d.files[f"helpers{number}.py"] = (
            f"from cfg{number} import *\n\n\ndef to_device{number}(*values):\n    return [v.to(DEVICE) for v in values]\n"
        )
        d.use(f"from helpers{number} import *")
        d.body.append(f"({name},) = to_device{number}({d.torch}.{PLAIN})")
    return name


def by_name_of_file(d: Draft, device: str) -> str:
    """A module of the project that is called by the kind of device."""
    name, stem = d.new("x"), d.new("ops")
    d.files[f"{stem}_cuda.py"] = f"def move(x):\n    return x.{d.one('cuda()', 'to(' + repr('cuda') + ')')}\n"
    d.files[f"{stem}_cpu.py"] = "def move(x):\n    return x.cpu()\n"
    d.use("import importlib")
    word = d.one("'cuda'", f"('cuda' if {d.torch}.cuda.is_available() else 'cpu')", f"{d.torch}.device({device}).type")
    made = d.one(f"'{stem}_' + {word}", f"'{stem}_%s' % {word}", f"'_'.join(['{stem}', {word}])")
    d.body.append(f"{name} = importlib.import_module({made}).move({d.torch}.{PLAIN})")
    return name


def by_tools(d: Draft, device: str) -> str:
    """Functional tools, methods put into classes, callbacks."""
    name, thing = d.new("x"), d.new("tool")
    torch, plain = d.torch, f"{d.torch}.{PLAIN}"
    form = d.random.randrange(9)
    if form == 0:
        d.use("import functools")
        d.body.append(
            f"{name} = functools.reduce(lambda t, f: f(t), [{torch}.Tensor.cuda, {torch}.Tensor.float], {plain})"
        )
    elif form == 1:
        d.use("import functools")
        d.top += [
            f"class {thing.title()}:",
            "    def move(self, device, value):",
            "        return value.to(device)",
            "",
            "    to_gpu = functools.partialmethod(move, 'cuda')",
            "",
        ]
        d.body.append(f"{name} = {thing.title()}().to_gpu({plain})")
    elif form == 2:
        d.body += [f"{torch}.Tensor.{thing} = lambda self: self.cuda()", f"{name} = {plain}.{thing}()"]
    elif form == 3:
        d.body.append(f"{name} = getattr({plain}, 'cuda' if {torch}.cuda.is_available() else 'cpu')()")
    elif form == 4:
        d.top += [
            f"class {thing.title()}:",
            "    def __init__(self, on_batch):",
            "        self.on_batch = on_batch",
            "",
            "    def run(self, value):",
            "        return self.on_batch(value)",
            "",
        ]
        d.body.append(
            f"{name} = {thing.title()}({d.one(f'{torch}.Tensor.cuda', 'lambda t: t.cuda()', f'lambda t, d={device}: t.to(d)')})"
            f".run({plain})"
        )
    elif form == 5:
        d.top += [
            f"USE_{thing.upper()} = {torch}.cuda.is_available()",
            "",
            f"def {thing}(value):",
            f"    return value.cuda() if USE_{thing.upper()} else value",
            "",
        ]
        d.body.append(f"{name} = {thing}({plain})")
    elif form == 6:
        d.use("from collections import namedtuple")
        d.body += [
            f"{thing.title()} = namedtuple('{thing.title()}', 'a b')",
            f"{thing} = {thing.title()}({plain}, {plain})",
            f"{name} = type({thing})(*[t.{d.one('cuda()', f'to({device})')} for t in {thing}]).a",
        ]
    elif form == 7:
        d.body += [
            f"{thing} = {torch}.nn.Linear(3, 3, bias=False)",
            f"{torch}.nn.init.eye_({thing}.weight)",
            f"for parameter in {thing}.parameters():",
            f"    parameter.data = parameter.data.{d.one('cuda()', f'to({device})')}",
            f"{name} = {thing}({plain}.to({thing}.weight.device)).detach()",
        ]
    else:
        d.use("import asyncio")
        d.top += [f"async def {thing}(value):", f"    return value.{d.one('cuda()', 'to(' + repr('cuda') + ')')}", ""]
        d.body.append(f"{name} = asyncio.run({thing}({plain}))")
    return name


TENSORS = (by_project, by_project, by_name_of_file, by_tools, by_tools, by_tools)


# --- parts


def keyed(d: Draft, device: str, x: str) -> None:
    """What is looked up by a device's type, in something whose keys are names of Python's."""
    name = d.new("Speed")
    key = d.one(
        f"{x}.device.type", f"{x}.device.type", f"{d.torch}.device({device}).type", f"str({x}.device).split(':')[0]"
    )
    form = d.random.randrange(12)
    if form == 0:
        d.top.append(f"{name} = dict(cpu=0, cuda=1)")
        d.body.append(d.one(f"print('dict', {name}[{key}])", f"print('dict', {name}.get({key}, -1))"))
    elif form == 1:
        d.use("from types import SimpleNamespace")
        d.body.append(f"{name} = SimpleNamespace(cuda='fast', cpu='slow')")
        d.body.append(d.one(f"print(getattr({name}, {key}))", f"print(vars({name})[{key}])"))
    elif form == 2:
        d.top += [f"class {name}:", "    cuda = 'fast'", "    cpu = 'slow'", ""]
        d.body.append(d.one(f"print(getattr({name}, {key}))", f"print(getattr({name}, {key}, 'unknown'))"))
    elif form == 3:
        d.top += [
            f"class {name}:",
            "    def cuda(self):",
            "        return 'fast'",
            "",
            "    def cpu(self):",
            "        return 'slow'",
            "",
        ]
        d.body.append(f"print(getattr({name}(), {key})())")
    elif form == 4:
        d.use("from enum import Enum")
        d.top += [f"class {name}(Enum):", "    CUDA = 1", "    CPU = 2", ""]
        d.body.append(f"print('member', {name}[{key}.upper()].value)")
    elif form == 5:
        d.top += [f"def {name.lower()}(cuda=0, cpu=0):", "    return cuda - cpu", ""]
        d.body.append(f"print('given', {name.lower()}(**{{{key}: 1}}))")
    elif form == 6:
        d.top.append(f"{name} = {{k: i for i, k in enumerate(('cpu', 'cuda'))}}")
        d.body.append(f"print('number', {name}[{key}])")
    elif form == 7:
        d.top += [
            f"{name} = {{}}",
            "",
            f"def {name}_for(kind):",
            "    def keep(f):",
            f"        {name}[kind] = f",
            "        return f",
            "    return keep",
            "",
            f"@{name}_for('cuda')",
            f"def {name}_fast():",
            "    return 'fast'",
            "",
            f"@{name}_for('cpu')",
            f"def {name}_slow():",
            "    return 'slow'",
            "",
        ]
        d.body.append(f"print('registered', {name}[{key}]())")
    elif form == 8:
        d.top += [
            f"class {name}:",
            "    kind = ''",
            "",
            f"class {name}Fast({name}):",
            "    kind = 'cuda'",
            "",
            f"class {name}Slow({name}):",
            "    kind = 'cpu'",
            "",
        ]
        d.body.append(f"print('class', {{c.kind: c.__name__[-4:] for c in {name}.__subclasses__()}}[{key}])")
    elif form == 9:
        d.top += [
            f"class {name}:",
            "    names = {'cuda': '_fast', 'cpu': '_slow'}",
            "",
            "    def _fast(self):",
            "        return 'fast'",
            "",
            "    def _slow(self):",
            "        return 'slow'",
            "",
            "    def run(self, kind):",
            "        return getattr(self, self.names[kind])()",
            "",
        ]
        d.body.append(f"print({name}().run({key}))")
    elif form == 10:
        stem = d.new("table")
        d.files[f"{stem}/cuda.json"] = '{"speed": 2}\n'
        d.files[f"{stem}/cpu.json"] = '{"speed": 1}\n'
        d.use("import json")
        d.use("from pathlib import Path")
        d.body.append(
            f"print('file', json.loads((Path(__file__).parent / '{stem}' / f'{{{x}.device.type}}.json').read_text()))"
        )
    else:
        d.body += [
            "try:",
            f"    print({{'cuda': 'fast', 'cpu': 'slow'}}[{key}])",
            "except KeyError:",
            "    print('unknown')",
        ]


def compared(d: Draft, device: str, x: str) -> None:
    """Comparisons in other forms: of rows, of parts, by functions, in bytes."""
    d.use("import operator")
    kind = d.one(f"{x}.device.type", f"{x}.device.type", f"{d.torch}.device({device}).type")
    test = d.one(
        f"({x}.device.type, {x}.device.index is None) == ('cuda', False)",
        f"[t.device.type for t in ({x}, {x}.cpu())] == ['cuda', 'cpu']",
        f"{{{kind}}} == {{'cuda'}}",
        f"{{'cuda', 'cpu'}} >= {{{kind}}}",
        f"{{'cuda', 'mps'}} & {{{kind}}} != set()",
        f"{{'cuda'}}.issuperset([{kind}])",
        f"['cpu', 'cuda'].index({kind})",
        f"('cuda',).count({kind})",
        f"operator.eq({kind}, 'cuda')",
        f"{kind}.__eq__('cuda')",
        f"(lambda word: word == 'cuda')({kind})",
        f"any(t.device.type == 'cuda' for t in ({x}, {x}.cpu()))",
        f"len([t for t in ({x}, {x}.cpu()) if t.device.type == 'cuda'])",
        f"sorted([{x}.cpu(), {x}], key=lambda t: t.device.type != 'cuda')[0].is_cuda",
        f"f'{{{kind}}}' == 'cuda'",
        f"'%s' % {kind} == 'cuda'",
        f"'{{}}'.format({x}.device).startswith('cuda')",
        f"{kind}.encode() == b'cuda'",
        f"'cpu' != {kind} == 'cuda'",
        f"not {kind} != 'cuda'",
        f"{kind} in 'cuda mps'",
        f"{kind} in ('cuda' if True else 'cpu')",
        f"{x}.device.type + ':' + str({x}.device.index) in ('cuda:0', 'cuda:1')",
        f"f'{{{x}.device.type}}:{{{x}.device.index}}'[:5] == 'cuda:'",
        f"repr({x}.device).startswith(\"device(type='cuda'\")",
        f"{x}.device.__str__().startswith('cuda')",
        f"bool({{'cuda': 1}}.get({kind}))",
        f"{kind} == 'cu' + 'da'",
        f"{kind} == ''.join(['cu', 'da'])",
        f"{kind} == 'CUDA'.lower()",
        f"{kind}.upper() in ('CUDA', 'MPS')",
        f"{kind}.title() == 'Cuda'",
        f"hash({kind}) == hash('cuda')",
        f"all(one == 'cuda' for one in [{kind}])",
        f"max({kind}, 'cpu') == 'cuda'",
        f"dict(type={kind}) == {{'type': 'cuda'}}",
        f"{kind}[0:2] + {kind}[2:] == 'cuda'",
        f"[*map(str.upper, [{kind}])] == ['CUDA']",
        f"'cuda'.startswith({kind})",
        f"'cuda mps'.split().count({kind})",
    )
    form = d.random.randrange(4)
    if form == 0:
        d.body.append(f"print('compared', bool({test}))")
    elif form == 1:
        d.body.append(f"print('gpu' if {test} else 'cpu')")
    elif form == 2:
        function = d.new("check")
        d.top += [f"def {function}(x):", f"    return bool({test.replace(x, 'x')})", ""]
        if kind.startswith(x) and device not in test:
            d.body.append(f"print('check', {function}({x}))")
    else:
        name = d.new("found")
        d.body += [f"{name} = {test}", f"if {name}:", "    print('yes')", "else:", "    print('no')"]


def counted(d: Draft, device: str, x: str) -> None:
    """Groups, counters and caches by device."""
    name = d.new("by")
    form = d.random.randrange(6)
    if form == 0:
        d.use("from collections import Counter")
        d.body += [
            f"{name} = Counter(t.device.type for t in ({x}, {x}, {x}.cpu()))",
            f"print('counter', {name}['cuda'], {name}.most_common(1)[0][1])",
        ]
    elif form == 1:
        d.use("from collections import defaultdict")
        d.body += [
            f"{name} = defaultdict(list)",
            f"for one in ({x}, {x}.cpu()):",
            f"    {name}[one.device.type].append(float(one.sum()))",
            f"print('grouped', {name}['cuda'], {name}['cpu'])",
        ]
    elif form == 2:
        d.use("from functools import lru_cache")
        d.top += ["@lru_cache(maxsize=None)", f"def {name}(kind):", "    return 1 if kind == 'cuda' else 0", ""]
        d.body.append(f"print('cached', {name}({x}.device.type))")
    elif form == 3:
        d.body += [
            f"{name} = {{'cuda': 0, 'cpu': 0}}",
            f"{name}[{x}.device.type] += 1",
            f"print('sum', {name}['cuda'])",
        ]
    elif form == 4:
        d.use("from itertools import groupby")
        d.body += [
            f"{name} = {{k: len(list(v)) for k, v in groupby(({x}, {x}), key=lambda t: t.device.type)}}",
            f"print('groupby', {name}.get('cuda', 0))",
        ]
    else:
        d.body += [
            f"{name} = {{t.device.type: t for t in ({x}, {x}.cpu())}}",
            f"print('indexed', float({name}['cuda'].sum()))",
        ]


def looked_for(d: Draft, device: str, x: str) -> None:
    """Functions of CUDA that are handed on, asked for, or put aside."""
    cuda, torch, name = d.cuda(), d.torch, d.new("ask")
    d.body += d.one(
        f"{name} = {cuda}.is_available\nif {name}():\n    print('available')",
        f"print('all', all(map(lambda f: f(), [{cuda}.is_available])))",
        f"print('callable', callable({cuda}.synchronize), callable(getattr({cuda}, 'synchronize', None)))",
        f"{name} = {{'sync': {cuda}.synchronize, 'none': lambda: None}}\n{name}['sync' if {x}.is_cuda else 'none']()\nprint('done')",
        f"{name} = [getattr({cuda}, word) for word in ('is_available', 'device_count')]\nprint('two', [bool(f()) for f in {name}])",
        f"{name} = {cuda}.device_count() if {cuda}.is_available() else 0\nprint('cards', {name} > 0, 'cuda' if {name} else 'cpu')",
        f"{name} = (lambda: {cuda}.current_device()) if {torch}.cuda.is_available() else (lambda: -1)\nprint('at', {name}() >= 0)",
        f"for {name} in ('mps', 'cuda'):\n    if getattr(getattr({torch}, {name}), 'is_available', lambda: False)():\n        print('first', {name})\n        break",
        f"{name} = [kind for kind in ('cuda', 'xpu') if hasattr({torch}, kind)]\nprint('kinds', {name}[:1])",
        f"{name} = getattr({torch}, 'cuda' if {x}.is_cuda else 'cpu')\nprint('module', {name}.is_available())",
    ).split("\n")


def recorded_as(d: Draft, device: str, x: str) -> None:
    """What a program says of its device, and what it does when that comes back."""
    name = d.new("said")
    d.use("import json")
    d.body += d.one(
        f"{name} = json.loads(json.dumps({{'device': {x}.device.type}}))\nprint('same', {name} == {{'device': 'cuda'}})",
        f"{name} = json.dumps([{x}.device.type])\nprint('in', '\"cuda\"' in {name})",
        f"{name} = {{'device': {x}.device, 'kind': {x}.device.type}}\nprint('kind', {name}['kind'] == 'cuda', {name}['device'].type == 'cuda')",
        f"{name} = '_'.join(['run', {x}.device.type, 'a'])\nprint('tag', {name}.split('_')[1] == 'cuda')",
        f"{name} = f'{{{x}.device.type}}-{{1}}'\nprint('tag', {name}.startswith('cuda-'), {name}.split('-')[0] == 'cuda')",
        f"{name} = {x}.device.type\nwhile {name} == 'cuda':\n    {name} = 'done'\nprint('loop', {name})",
        f"{name} = {x}.device.type\n{name} = 'gpu' if {name} == 'cuda' else {name}\nprint('word', {name})",
        f"{name} = {{'cuda': 'gpu'}}.get({x}.device.type, {x}.device.type)\nprint('word', {name})",
        f"{name} = {x}.device.type.replace('cuda', 'gpu')\nprint('word', {name})",
        f"{name} = str({x}.device).replace('cuda:', 'card ')\nprint('word', {name})",
    ).split("\n")


PARTS = (keyed, keyed, keyed, compared, compared, compared, counted, looked_for, recorded_as, recorded_as)
