"""Projects of several files, as they are published: settings, helpers, models in a registry, data, an engine; each part in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .programs import Draft

Part = tuple[str, str]
"""The text of a file, and the expression by which another file of the package has what it gives."""


def project(d: Draft, device: str) -> str:
    """A package whose engine moves model and batch; what the model makes of the batch."""
    package, name = d.new("proj"), d.new("x")
    settings, where = d.random.choice(SETTINGS)(d, package)
    helper, moved = d.random.choice(HELPERS)(d)
    models, built = d.random.choice(MODELS)(d)
    data, batches = d.random.choice(DATA)(d)
    d.files[f"{package}/__init__.py"] = d.one("", f'"""Runs on cuda."""\n\n__version__ = "{1}"\n')
    d.files[f"{package}/config.py"] = settings
    d.files[f"{package}/utils.py"] = helper
    d.files[f"{package}/models.py"] = models
    d.files[f"{package}/data.py"] = data
    engine = d.random.choice(ENGINES)(d, where, moved, built, batches)
    head = d.one(
        "from . import config, data, models, utils\n",
        f"from {package} import config, data, models, utils\n",
        f"import {package}.config as config\nimport {package}.data as data\nfrom {package} import models, utils\n",
    )
    d.files[f"{package}/engine.py"] = "import torch\n\n" + head + "\n\n" + engine
    d.use(f"from {package}.engine import run as run_{package}")
    d.body.append(f"{name} = run_{package}()")
    return name


# --- settings: the text of config.py, and the device as the engine reads it


def of_dataclass(d: Draft, package: str) -> Part:
    kind = d.one("cuda", "cuda:0", "cuda:1")
    text = (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Train:\n"
        f"    device: str = '{kind}'\n    steps: int = 2\n    tags: list = field(default_factory=list)\n\n\n"
        "@dataclass\nclass Config:\n    train: Train = field(default_factory=Train)\n    name: str = 'cuda-run'\n\n\n"
        "def load():\n    return Config()\n"
    )
    return text, "config.load().train.device"


def of_yaml(d: Draft, package: str) -> Part:
    d.files[f"{package}/base.yaml"] = (
        f"train:\n  device: {d.one('cuda', 'cuda:0', 'cuda:1')}\n  steps: 2\nout: runs/cuda\n"
    )
    text = (
        "from pathlib import Path\n\nimport yaml\n\n\nclass Node(dict):\n    def __getattr__(self, name):\n"
        "        value = self[name]\n        return Node(value) if isinstance(value, dict) else value\n\n\n"
        "def load(name='base.yaml'):\n    return Node(yaml.safe_load(Path(__file__).with_name(name).read_text()))\n"
    )
    return text, d.one("config.load().train.device", "config.load()['train']['device']")


def of_parser(d: Draft, package: str) -> Part:
    kind = d.one("cuda", "cuda:0")
    text = (
        "import argparse\n\nimport torch\n\n\ndef get_args(argv=()):\n    parser = argparse.ArgumentParser()\n"
        f"    parser.add_argument('--device', default={d.one(repr(kind), repr(kind) + ', type=str', 'None')})\n"
        "    parser.add_argument('--no-cuda', action='store_true')\n"
        "    args = parser.parse_args(argv)\n"
        "    if args.device is None:\n        args.device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    args.cuda = not args.no_cuda and torch.cuda.is_available()\n"
        f"    args.where = torch.device({d.one('args.device', repr('cuda') + ' if args.cuda else ' + repr('cpu'))})\n"
        "    return args\n"
    )
    return text, d.one("config.get_args().device", "config.get_args().where")


def of_constants(d: Draft, package: str) -> Part:
    text = d.one(
        "import torch\n\nUSE_CUDA = torch.cuda.is_available()\nDEVICE = torch.device('cuda' if USE_CUDA else 'cpu')\n",
        "import torch\n\nDEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'\n",
        "DEVICE = 'cuda'\nBATCH = 4\n",
        "import os\n\nDEVICE = os.environ.get('PROJECT_DEVICE', 'cuda:0')\n",
        "class Base:\n    device = 'cpu'\n\n\nclass Gpu(Base):\n    device = 'cuda'\n\n\nDEVICE = Gpu.device\n",
    )
    return text, "config.DEVICE"


def of_json(d: Draft, package: str) -> Part:
    d.files[f"{package}/run.json"] = '{"device": "cuda", "gpu_id": 1}\n'
    text = (
        "import json\nimport os\n\n\ndef pick_device():\n    path = os.path.join(os.path.dirname(__file__), 'run.json')\n"
        "    with open(path) as file:\n        found = json.load(file)\n"
        f"    return {d.one('found[' + repr('device') + ']', 'f' + chr(34) + '{found[' + repr('device') + ']}:{found[' + repr('gpu_id') + ']}' + chr(34))}\n"
    )
    return text, "config.pick_device()"


def of_registry_dict(d: Draft, package: str) -> Part:
    text = (
        "DEFAULTS = {'device': 'cuda', 'optim': {'lr': 0.1}}\nFAST = dict(DEFAULTS, device='cuda:1')\n"
        "NAMED = {'base': DEFAULTS, 'fast': FAST}\n\n\ndef get(name='base', **changes):\n    return {**NAMED[name], **changes}\n"
    )
    return text, d.one(
        "config.get()['device']", "config.get('fast')['device']", "config.get(device='cuda:0').get('device')"
    )


SETTINGS: tuple[Callable[[Draft, str], Part], ...] = (
    of_dataclass,
    of_yaml,
    of_parser,
    of_constants,
    of_json,
    of_registry_dict,
)


# --- helpers: the text of utils.py, and a call that moves ``value`` to ``place``


def moves_all(d: Draft) -> Part:
    text = (
        "import torch\n\n\ndef to_device(value, device, non_blocking=False):\n    if torch.is_tensor(value):\n"
        "        return value.to(device, non_blocking=non_blocking)\n    if isinstance(value, dict):\n"
        "        return {k: to_device(v, device) for k, v in value.items()}\n    if isinstance(value, (list, tuple)):\n"
        "        return type(value)(to_device(v, device) for v in value)\n    return value\n"
    )
    return text, d.one("utils.to_device(value, place)", "utils.to_device([value], device=place)[0]")


def moves_if_there(d: Draft) -> Part:
    text = (
        "import torch\n\n\ndef cuda(value):\n    if torch.cuda.is_available():\n"
        f"        return value.cuda({d.one('', 'non_blocking=True')})\n    return value\n\n\n"
        "def on(value, place):\n    if hasattr(value, 'to'):\n        return value.to(place)\n    return value\n"
    )
    return text, "utils.on(value, place)"


def moves_by_class(d: Draft) -> Part:
    text = (
        "import torch\n\n\nclass Mover:\n    def __init__(self, place):\n        self.place = torch.device(place)\n"
        "        self.is_gpu = self.place.type == 'cuda'\n\n    def __call__(self, value):\n"
        f"        return value.{d.one('to(self.place)', 'to(self.place, non_blocking=self.is_gpu)', 'cuda(self.place) if self.is_gpu else value')}\n"
    )
    return text, "utils.Mover(place)(value)"


def moves_by_kind(d: Draft) -> Part:
    text = (
        "import torch\n\n\ndef kind_of(place):\n"
        f"    return {d.one('torch.device(place).type', 'str(place).split(' + repr(':') + ')[0]')}\n\n\n"
        "def put(value, place):\n    kind = kind_of(place)\n    if kind == 'cuda':\n"
        f"        return value.{d.one('cuda()', 'cuda(non_blocking=True)', 'to(place)')}\n"
        "    elif kind == 'cpu':\n        return value.cpu()\n    raise ValueError(f'unknown device: {place}')\n"
    )
    return text, "utils.put(value, place)"


def moves_in_a_block(d: Draft) -> Part:
    text = (
        "from contextlib import contextmanager\n\nimport torch\n\n\n@contextmanager\ndef device_of(place):\n"
        "    place = torch.device(place)\n    with torch.cuda.device(place):\n        yield place\n\n\n"
        "def put(value, place):\n    with device_of(place) as here:\n"
        f"        return value.{d.one('cuda()', 'to(here)', 'to(device=here)')}\n"
    )
    return text, "utils.put(value, place)"


HELPERS: tuple[Callable[[Draft], Part], ...] = (
    moves_all,
    moves_if_there,
    moves_by_class,
    moves_by_kind,
    moves_in_a_block,
)


# --- models: the text of models.py, and how one is built

_NET = (
    "class Net(nn.Module):\n    def __init__(self, scale=1.0):\n        super().__init__()\n"
    "        self.layer = nn.Linear(3, 3, bias=False)\n        nn.init.eye_(self.layer.weight)\n        self.scale = scale\n\n"
    "    @property\n    def device(self):\n        return next(self.parameters()).device\n\n"
    "    def forward(self, x):\n        return self.layer(x.to(self.device)) * self.scale\n"
)


def by_decorator(d: Draft) -> Part:
    text = (
        "from torch import nn\n\nMODELS = {}\n\n\ndef register(name):\n    def keep(cls):\n        MODELS[name] = cls\n"
        f"        return cls\n    return keep\n\n\n@register('net')\n{_NET}\n\n"
        "def build(name='net', **options):\n    return MODELS[name](**options)\n"
    )
    return text, d.one("models.build()", "models.MODELS['net']()", "models.build('net', scale=1.0)")


def by_attribute(d: Draft) -> Part:
    text = (
        f"import sys\n\nfrom torch import nn\n\n\n{_NET}\n\ndef build(name='Net', *args):\n"
        f"    return {d.one('getattr(sys.modules[__name__], name)(*args)', 'globals()[name](*args)')}\n"
    )
    return text, d.one("models.build()", "getattr(models, 'Net')()", "models.__dict__['Net']()")


def by_config(d: Draft) -> Part:
    text = (
        f"from torch import nn\n\n\n{_NET}\n\nTYPES = {{'Net': Net, 'Identity': nn.Identity}}\n\n\n"
        "def build_from_cfg(cfg):\n    cfg = dict(cfg)\n    return TYPES[cfg.pop('type')](**cfg)\n"
    )
    return text, "models.build_from_cfg({'type': 'Net', 'scale': 1.0})"


def by_wrapper(d: Draft) -> Part:
    text = (
        f"from torch import nn\n\n\n{_NET}\n\nclass Wrapper:\n    def __init__(self, module):\n        self.module = module\n\n"
        "    def __getattr__(self, name):\n        return getattr(self.__dict__['module'], name)\n\n"
        "    def __call__(self, *args):\n        return self.module(*args)\n\n"
        "    def to(self, device):\n        self.module.to(device)\n        return self\n\n"
        f"    def cuda(self):\n        return self.to({d.one(repr('cuda'), 'device=' + repr('cuda'))})\n"
    )
    return text, "models.Wrapper(models.Net())"


def by_match(d: Draft) -> Part:
    text = (
        f"from torch import nn\n\n\n{_NET}\n\ndef make(name):\n    match name:\n        case 'net' | 'default':\n"
        "            return Net()\n        case _:\n            raise KeyError(name)\n"
    )
    return text, "models.make('net')"


MODELS: tuple[Callable[[Draft], Part], ...] = (by_decorator, by_attribute, by_config, by_wrapper, by_match)


# --- data: the text of data.py, and an iterable of batches


def by_loader(d: Draft) -> Part:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader, Dataset\n\n\nclass Rows(Dataset):\n    def __len__(self):\n"
        "        return 2\n\n    def __getitem__(self, index):\n        return torch.tensor([1.0, 2.0, 3.0])\n\n\n"
        "def batches(pin=torch.cuda.is_available()):\n    return DataLoader(Rows(), batch_size=1, pin_memory=False)\n"
    )
    return text, "(row[0] for row in data.batches())"


def by_generator(d: Draft) -> Part:
    text = "import torch\n\n\ndef batches(count=2):\n    for _ in range(count):\n        yield torch.tensor([1.0, 2.0, 3.0])\n"
    return text, "data.batches()"


def by_dict(d: Draft) -> Part:
    text = "import torch\n\n\ndef batches():\n    return [{'x': torch.tensor([1.0, 2.0, 3.0]), 'id': 1}]\n"
    return text, "(row['x'] for row in data.batches())"


def by_object(d: Draft) -> Part:
    text = (
        "import torch\n\n\nclass Batch:\n    def __init__(self, x):\n        self.x = x\n\n    def to(self, device):\n"
        "        return Batch(self.x.to(device))\n\n    def cuda(self):\n"
        f"        return {d.one('self.to(' + repr('cuda') + ')', 'Batch(self.x.cuda())')}\n\n\n"
        "def batches():\n    return iter([Batch(torch.tensor([1.0, 2.0, 3.0]))])\n"
    )
    return text, d.one("(row.cuda().x for row in data.batches())", "(row.to('cuda').x for row in data.batches())")


DATA: tuple[Callable[[Draft], Part], ...] = (by_loader, by_generator, by_dict, by_object)


# --- engines: the function that runs it all


def as_function(d: Draft, where: str, moved: str, built: str, batches: str) -> str:
    return (
        f"def run():\n    place = {where}\n    model = {built}\n"
        f"    model{d.one(' = model.to(place)', '.to(place)')}\n    for value in {batches}:\n        value = {moved}\n"
        f"        out = model(value)\n{d.one('', '    torch.cuda.synchronize()' + chr(10))}    return out.detach()\n"
    )


def as_trainer(d: Draft, where: str, moved: str, built: str, batches: str) -> str:
    return (
        "class Trainer:\n    def __init__(self, device=None):\n"
        f"        self.device = torch.device(device if device is not None else {where})\n"
        f"        self.model = {built}\n        self.model.to(self.device)\n"
        f"        self.amp = torch.cuda.amp.autocast(enabled=False){d.one('', ' if self.device.type == ' + repr('cuda') + ' else None')}\n\n"
        "    def prepare(self, value):\n        place = self.device\n"
        f"        return {moved}\n\n    def step(self, value):\n        if self.amp is None:\n            return self.model(value)\n"
        "        with self.amp:\n            return self.model(value)\n\n    def fit(self):\n"
        f"        for value in {batches}:\n            out = self.step(self.prepare(value))\n"
        "        return out.detach()\n\n\ndef run():\n    return Trainer().fit()\n"
    )


def with_hooks(d: Draft, where: str, moved: str, built: str, batches: str) -> str:
    return (
        "class Hook:\n    def before(self, engine):\n        pass\n\n    def batch(self, engine, value):\n        return value\n\n\n"
        "class DeviceHook(Hook):\n    def __init__(self, place):\n        self.place = place\n\n"
        "    def before(self, engine):\n        engine.model.to(self.place)\n\n"
        f"    def batch(self, engine, value):\n        place = self.place\n        return {moved}\n\n\n"
        f"class Engine:\n    def __init__(self, hooks):\n        self.hooks, self.model = hooks, {built}\n\n"
        "    def run(self):\n        for hook in self.hooks:\n            hook.before(self)\n"
        f"        for value in {batches}:\n            for hook in self.hooks:\n                value = hook.batch(self, value)\n"
        f"            out = self.model(value)\n        return out.detach()\n\n\n"
        f"def run():\n    return Engine([Hook(), DeviceHook({where})]).run()\n"
    )


def of_base(d: Draft, where: str, moved: str, built: str, batches: str) -> str:
    return (
        "from abc import ABC, abstractmethod\n\n\nclass Base(ABC):\n    def __init__(self):\n        self.place = self.where()\n"
        "        self.model = self.make()\n"
        f"        {d.one('self.model.to(self.place)', 'self.model.cuda()', 'self.model = self.model.to(self.place)')}\n\n"
        "    @abstractmethod\n    def make(self):\n        ...\n\n    def where(self):\n        return 'cpu'\n\n"
        "    def move(self, value):\n        place = self.place\n"
        f"        return {moved}\n\n\nclass Own(Base):\n    def make(self):\n        return {built}\n\n    def where(self):\n"
        f"        return {where}\n\n    def go(self):\n        for value in {batches}:\n"
        "            out = self.model(self.move(value))\n        return out.detach()\n\n\ndef run():\n    return Own().go()\n"
    )


def by_steps(d: Draft, where: str, moved: str, built: str, batches: str) -> str:
    return (
        "from functools import partial\n\n\ndef move(value, place):\n"
        f"    return {moved}\n\n\ndef call(value, model):\n    return model(value)\n\n\n"
        f"def run(device={d.one('None', repr('cuda'))}):\n    place = device or {where}\n    model = {built}\n    model.to(place)\n"
        "    steps = [partial(move, place=place), partial(call, model=model), lambda v: v.detach()]\n"
        f"    for value in {batches}:\n        for step in steps:\n            value = step(value)\n    return value\n"
    )


ENGINES: tuple[Callable[[Draft, str, str, str, str], str], ...] = (
    as_function,
    as_trainer,
    with_hooks,
    of_base,
    by_steps,
)
TENSORS = (project, project, project)
