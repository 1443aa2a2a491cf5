"""What expressions stand for, construct by construct."""

from __future__ import annotations

import pytest

from npuify.analysis.explained.rows import Known, Row, render
from npuify.analysis.model import Kind, Reach

from .harness import asked, said, words

TORCH = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n"

UNKNOWN = [
    # What cannot be told is unknown, and nothing else.
    "ASK(torch.load('model.pt'))",
    "import pickle\nASK(pickle.load(open('x', 'rb')))",
    "import yaml\nconfig = yaml.safe_load(open('x'))\nASK(config['model'])",
    "import hydra\nASK(hydra.utils.instantiate({}))",
    "def f(model):\n    ASK(model)",
    "def f(**options):\n    ASK(options['model'])",
    "def f(*models):\n    ASK(models[0])",
    "ASK(nowhere)",
    "ASK(nowhere.made())",
    "from registry import MODELS\nASK(MODELS.build({}))",
    "from factory import make\nASK(make())",
    "x = x.view(1)\nASK(x.foo())",
    "import argparse\nargs = argparse.ArgumentParser().parse_args()\nASK(args.model)",
    "def f(x):\n    match x:\n        case [y]:\n            ASK(y)",
    "try:\n    pass\nexcept OSError as error:\n    ASK(error.args)",
    "class A(nn.Module):\n    def forward(self, x):\n        return x\nASK(A()(1).thing())",
    "ASK(getattr(nowhere, name))",
    "import importlib\nASK(importlib.import_module(name).make())",
    "model = nn.Linear(1, 1)\nASK(model(torch.ones(1)))",
    "d = {}\nASK(d['never'])",
    "class A:\n    pass\nASK(A().missing)",
    "with nowhere() as x:\n    ASK(x)",
    "ASK(exec('x'))",
    "ASK(vars()['x'])",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown(text: str) -> None:
    for values in asked(TORCH + text):
        assert not values.is_known, said(values)
        assert values.may(Kind.MODEL)
        assert not values.only(Kind.MODEL)


KNOWN = [
    ("from enum import Enum\nclass P(Enum):\n    GPU = 'cuda'\nASK(P.GPU.value)", "device string 'cuda'"),
    ("ASK(str(torch.ones(1).device))", "device string"),
    ("ASK(str('cuda:0'))\nASK(str(1))", "device string 'cuda:0'|string"),
    # names
    ("ASK(torch)", "module of torch torch"),
    ("ASK(torch.cuda)", "module of torch torch.cuda"),
    ("ASK(torch.cuda.Event)", "name of torch torch.cuda.Event"),
    ("import torch.cuda as c\nASK(c.Stream)", "name of torch torch.cuda.Stream"),
    ("from torch import cuda as c\nd = c\nASK(d.amp)", "module of torch torch.cuda.amp"),
    ("ASK(getattr(torch, 'cuda').Event)", "name of torch torch.cuda.Event"),
    ("word = 'cuda'\nASK(getattr(torch, word).Event)", "name of torch torch.cuda.Event"),
    ("import importlib\nASK(importlib.import_module('torch.cuda'))", "module of torch torch.cuda"),
    ("import numpy as np\nASK(np.zeros)", "name of a package numpy.zeros"),
    ("import os\nASK(os.path.join)", "name of a package os.path.join"),
    # constants
    ("ASK(None)", "None"),
    ("ASK(1)", "number 1"),
    ("ASK('a')", "string 'a'"),
    ("ASK('cuda:0')", "device string 'cuda:0'"),
    ("ASK(f'cuda:{i}')", "device string 'cuda:'"),
    ("ASK('nccl')", "backend string 'nccl'"),
    # comparisons
    ("ASK(torch.ones(1) > 0)", "tensor"),
    ("ASK(0 < torch.ones(1))", "tensor"),
    ("x = torch.ones(1)\nASK(~(x > 0) & (x != 1))", "tensor"),
    ("ASK(len('x') > 0)", "number"),
    ("ASK(torch.ones(1) is None)", "number"),
    ("ASK(torch.ones(1) in [1])", "number"),
    ("ASK('on cuda')", "string 'on cuda'"),
    ("ASK(not x)", "number"),
    ("ASK(x is None)", "number"),
    ("ASK(1 + 2)", "number"),
    ("ASK('a' + 'b')", "string"),
    # what torch makes
    ("ASK(torch.zeros(1))", "tensor"),
    ("ASK(torch.zeros(1) + nowhere)", "tensor"),
    ("ASK(torch.zeros(1).view(1).cuda()[0])", "tensor"),
    ("ASK(torch.zeros(1) > 0)", "tensor"),
    ("ASK(-torch.zeros(1))", "tensor"),
    ("ASK(torch.zeros(1).add_(1))", "tensor"),
    ("ASK(torch.zeros(1).item())", "number"),
    ("ASK(torch.zeros(1).device)", "device"),
    (
        (
            "class A:\n    def __iter__(self):\n        return self\n    def __next__(self):\n        return torch.ones(1)\n"
            "for x in A():\n    ASK(x)"
        ),
        "tensor",
    ),
    (
        (
            "class A:\n    def __iter__(self):\n        return B()\nclass B:\n    def __iter__(self):\n        return A()\n"
            "for x in A():\n    ASK(x)"
        ),
        "nothing",
    ),
    ("ASK(torch.zeros(1).device.type)", "device string"),
    ("ASK(nn.Linear(1, 1).weight)", "tensor"),
    ("ASK(nowhere.unsqueeze(0))", "tensor"),
    ("ASK(nn.Linear(1, 1).cuda().eval())", "nn.Module torch.nn.Linear"),
    ("ASK(nn.CrossEntropyLoss())", "loss torch.nn.CrossEntropyLoss"),
    ("ASK(torch.optim.SGD([], lr=1))", "optimizer torch.optim.SGD"),
    ("ASK(torch.optim.lr_scheduler.StepLR(o, 1))", "scheduler torch.optim.lr_scheduler.StepLR"),
    ("ASK(DataLoader([]))", "DataLoader torch.utils.data.DataLoader"),
    ("ASK(DataLoader([]).dataset)", "dataset"),
    ("import torchvision\nASK(torchvision.models.resnet18())", "nn.Module torchvision.models.resnet18"),
    ("import torchvision\nASK(torchvision.datasets.MNIST('.'))", "dataset torchvision.datasets.MNIST"),
    ("import timm\nASK(timm.create_model('vit'))", "nn.Module timm.create_model"),
    ("import timm.data\nASK(timm.data.create_loader(d))", "DataLoader timm.data.create_loader"),
    ("from torch.cuda.amp import GradScaler\nASK(GradScaler())", "gradient scaler torch.cuda.amp.GradScaler"),
    ("ASK(torch.cuda.Stream())", "stream torch.cuda.Stream"),
    ("ASK(torch.cuda.Event())", "event torch.cuda.Event"),
    ("ASK(torch.cuda.current_stream().record_event())", "event torch.Stream.record_event"),
    ("ASK(torch.device('cuda'))", "device torch.device"),
    ("ASK(torch.zeros(1).device)", "device"),
    (
        "from timm.loss import SoftTargetCrossEntropy\nASK(SoftTargetCrossEntropy())",
        "loss timm.loss.SoftTargetCrossEntropy",
    ),
    (
        "from other import Base\nclass A(Base):\n    pass\nASK(A().cuda())",
        "instance of a class with an unknown base main.A",
    ),
    (
        "class A:\n    def __init__(self, x):\n        self.x = x.unsqueeze(0)\n    def f(self):\n        self.x = self.x.cpu()\n        ASK(self.x)",
        "tensor",
    ),
    ("ASK(nn.Linear(1, 1).parameters())", "parameters of nn.Module torch.nn.Linear"),
    ("ASK(nn.DataParallel(nn.Linear(1, 1)).module)", "nn.Module torch.nn.Linear"),
    ("ASK(nn.DataParallel(nowhere))", "nn.Module torch.nn.DataParallel"),
    ("ASK(torch.compile(nn.Linear(1, 1)))", "nn.Module torch.nn.Linear"),
    ("import copy\nASK(copy.deepcopy(nn.Linear(1, 1)))", "nn.Module torch.nn.Linear"),
    ("ASK(torch.distributed.get_backend())", "backend string"),
    ("import numpy as np\nASK(np.zeros(1))", "object of a package numpy.zeros"),
    # assignments
    ("a = b = torch.ones(1)\nASK(b)", "tensor"),
    ("a, b = 1, torch.ones(1)\nASK(b)", "tensor"),
    ("(a, (b, c)) = (1, (2, torch.ones(1)))\nASK(c)", "tensor"),
    ("a, *b = torch.ones(1), 1, 2\nASK(b)", "container tuple"),
    ("a: object = torch.ones(1)\nASK(a)", "tensor"),
    ("if (a := torch.ones(1)) is not None:\n    ASK(a)", "tensor"),
    ("a = torch.zeros(1)\na = a.view(1)\nASK(a)", "tensor"),
    ("a = torch.zeros(1)\na += 1\nASK(a)", "tensor"),
    ("a = 0\na += 1\nASK(a)", "number, number 0"),
    ("a = None\ndef f():\n    global a\n    a = torch.ones(1)\nASK(a)", "None, tensor"),
    (
        "def f():\n    a = None\n    def g():\n        nonlocal a\n        a = torch.ones(1)\n    g()\n    ASK(a)",
        "None, tensor",
    ),
    ("ASK(torch.ones(1) if x else 1)", "number 1, tensor"),
    ("ASK(x or torch.ones(1))", "tensor, unknown"),
    # branches
    ("if x:\n    a = torch.ones(1)\nelse:\n    a = nn.Linear(1, 1)\nASK(a)", "nn.Module torch.nn.Linear, tensor"),
    ("try:\n    import apex as a\nexcept ImportError:\n    a = None\nASK(a)", "None, name of a package apex"),
    (
        "try:\n    from apex import amp\nexcept ImportError:\n    from torch.cuda import amp\nASK(amp)",
        "module of torch torch.cuda.amp, name of a package apex.amp",
    ),
    (
        "if x:\n    from torch import cuda as d\nelse:\n    from torch import npu as d\nASK(d.Event)",
        "name of torch torch.cuda.Event, name of torch torch.npu.Event",
    ),
    # loops, with, comprehensions
    ("for x in [torch.ones(1), torch.zeros(1)]:\n    ASK(x)", "tensor"),
    ("for i, x in enumerate([torch.ones(1)]):\n    ASK(i)\n    ASK(x)", "number|tensor"),
    ("for a, b in zip([1], [torch.ones(1)]):\n    ASK(b)", "tensor"),
    ("for k, v in {'cuda': torch.ones(1)}.items():\n    ASK(k)\n    ASK(v)", "device string 'cuda'|tensor"),
    ("for k in {'cpu': 1}:\n    ASK(k)", "device string 'cpu'"),
    ("for i in range(3):\n    ASK(i)", "number"),
    ("for x, y in DataLoader([]):\n    ASK(x)", "batch"),
    ("from tqdm import tqdm\nfor i, b in enumerate(tqdm(DataLoader([]))):\n    ASK(b['x'].cuda())", "batch"),
    ("it = iter(DataLoader([]))\nASK(next(it))", "batch"),
    ("ASK([nn.Linear(1, 1) for _ in x][0])", "nn.Module torch.nn.Linear"),
    ("ASK([m for m in [nn.Linear(1, 1)]][0])", "nn.Module torch.nn.Linear"),
    ("ASK({k: torch.ones(1) for k in 'ab'}['a'])", "tensor"),
    ("with torch.cuda.Stream() as s:\n    ASK(s)", "stream torch.cuda.Stream"),
    ("with open('x') as f:\n    ASK(f)", "object of a package builtins.open"),
    ("for p in nn.Linear(1, 1).parameters():\n    ASK(p)", "tensor"),
    # containers
    ("a = [nn.Linear(1, 1), 1]\nASK(a[0])\nASK(a[-1])", "nn.Module torch.nn.Linear|number 1"),
    ("a = []\na.append(torch.ones(1))\nASK(a[0])", "tensor"),
    ("a = []\na += [torch.ones(1)]\nASK(a[0])", "tensor"),
    ("a = {}\na['x'] = torch.ones(1)\nASK(a['x'])", "tensor"),
    ("a = {}\na['x'] = torch.ones(1)\na['y'] = 1\nASK(a['x'])", "tensor"),
    ("a = {'x': torch.ones(1), 'y': 1}\nASK(a['y'])\nASK(a[key])", "number 1|number 1, tensor"),
    ("a = {**{'x': torch.ones(1)}, 'y': 1}\nASK(a['x'])", "tensor"),
    ("a = dict(x=torch.ones(1), y=1)\nASK(a['x'])\nASK(a.get('x'))", "tensor|tensor"),
    ("a = [torch.ones(1)]\nfor x in reversed(a[1:]):\n    ASK(x)", "tensor"),
    ("m = nn.Sequential(nn.Linear(1, 1), nn.ReLU())\nASK(m[0])", "nn.Module torch.nn.Linear"),
    ("m = nn.ModuleList([nn.Linear(1, 1)])\nfor one in m:\n    ASK(one)", "nn.Module torch.nn.Linear"),
    (
        "from collections import defaultdict\nd = defaultdict(list)\nd['a'] = torch.ones(1)\nASK(d['a'])",
        "container, tensor",
    ),
    ("a, b = torch.utils.data.random_split(d, [1, 2])\nASK(a)", "dataset torch.utils.data.Subset"),
    ("a = list(map(lambda i: nn.Linear(i, 1), [1, 2]))\nASK(a[0])", "nn.Module torch.nn.Linear"),
    (
        "MODELS = {'a': nn.Linear, 'b': nn.Conv2d}\nASK(MODELS[name](1))",
        "nn.Module torch.nn.Conv2d, nn.Module torch.nn.Linear",
    ),
    # functions
    ("def f():\n    return torch.ones(1)\nASK(f())", "tensor"),
    ("def f(x):\n    if x:\n        return 1\n    return torch.ones(1)\nASK(f(1))", "number 1, tensor"),
    ("def f():\n    pass\nASK(f())", "None"),
    ("def f():\n    return 1, torch.ones(1)\na, b = f()\nASK(b)", "tensor"),
    ("def f():\n    yield torch.ones(1)\nfor x in f():\n    ASK(x)", "tensor"),
    ("f = lambda: torch.ones(1)\nASK(f())", "tensor"),
    ("def f(n):\n    return torch.ones(1) if n == 0 else f(n - 1)\nASK(f(1))", "tensor"),
    ("def f():\n    return nowhere()\ndef g() -> torch.Tensor:\n    return f()\nASK(g())", "tensor"),
    ("def f():\n    return 1\nf.calls = torch.ones(1)\nASK(f.calls)", "tensor"),
    ("import functools\nf = functools.partial(nn.Linear, 1)\nASK(f(2))", "nn.Module torch.nn.Linear"),
    ("def f():\n    f.cache = torch.ones(1)\nASK(f.cache)", "tensor"),
    (
        "import contextlib\n@contextlib.contextmanager\ndef f():\n    yield torch.ones(1)\nwith f() as x:\n    ASK(x)",
        "tensor",
    ),
    # parameters
    ("def f(x: torch.Tensor):\n    ASK(x)", "tensor"),
    ("def f(x: 'torch.Tensor | None'):\n    pass\ndef g(x: 'nn.Module'):\n    ASK(x)", "nn.Module torch.nn.Module"),
    ("from typing import Optional\ndef f(x: Optional[torch.Tensor] = None):\n    ASK(x)", "None, tensor"),
    ("def f(x: torch.device):\n    ASK(x)", "device torch.device"),
    ("def f(n: int, s: str):\n    ASK(n)\n    ASK(s)", "number|string"),
    ("def f(m):\n    ASK(m)\nf(nn.Linear(1, 1))", "nn.Module torch.nn.Linear"),
    (
        "def f(m):\n    ASK(m)\nf(nn.Linear(1, 1))\nf(m=nn.Conv2d(1, 1))",
        "nn.Module torch.nn.Conv2d, nn.Module torch.nn.Linear",
    ),
    ("def f(m, n=1):\n    ASK(n)\nf(0)\nf(0, torch.ones(1))", "number 1, tensor"),
    ("def f(m):\n    ASK(m)\nf(nn.Linear(1, 1))\nf(*args)", "nn.Module torch.nn.Linear, unknown"),
    ("def f(m):\n    ASK(m)\nf(m=torch.load('x'))", "unknown"),
    ("def f(m):\n    ASK(m)\nrun = f\nrun(nn.Linear(1, 1))", "nn.Module torch.nn.Linear"),
    ("def f(m):\n    ASK(m)\ndef g(h):\n    h(torch.ones(1))\ng(f)", "tensor"),
    ("def f(m):\n    ASK(m)\nTABLE = {'f': f}\nTABLE['f'](torch.ones(1))", "tensor"),
    ("def f(m):\n    ASK(m)\nnowhere.register(f)\nf(torch.ones(1))", "tensor, unknown"),
    ("def f(rank, m):\n    ASK(m)\ntorch.multiprocessing.spawn(f, args=(torch.ones(1),), nprocs=2)", "tensor"),
    # classes
    (
        "class A:\n    def __init__(self):\n        self.m = nn.Linear(1, 1)\n    def f(self):\n        ASK(self)\n        ASK(self.m)",
        "instance of main.A|nn.Module torch.nn.Linear",
    ),
    ("class A:\n    m = torch.ones(1)\nASK(A.m)\nASK(A().m)", "tensor|tensor"),
    ("class A:\n    pass\na = A()\na.m = torch.ones(1)\nASK(a.m)", "tensor"),
    ("class A:\n    pass\na = A()\nsetattr(a, 'm', torch.ones(1))\nASK(a.m)", "tensor"),
    ("class A:\n    m = None\n    def f(self):\n        self.m = torch.ones(1)\nASK(A().m)", "None, tensor"),
    ("class A:\n    def f(self):\n        return torch.ones(1)\nASK(A().f())", "tensor"),
    ("class A:\n    @property\n    def f(self):\n        return torch.ones(1)\nASK(A().f)", "tensor"),
    ("class A:\n    @staticmethod\n    def f(x):\n        return x\nASK(A.f(torch.ones(1)))", "tensor"),
    (
        "class A:\n    @classmethod\n    def f(cls, x):\n        ASK(cls)\n        return cls()\nASK(A.f(1))",
        "class main.A|instance of main.A",
    ),
    ("class A:\n    def __call__(self):\n        return torch.ones(1)\nASK(A()())", "tensor"),
    ("class A:\n    def __enter__(self):\n        return torch.ones(1)\nwith A() as a:\n    ASK(a)", "tensor"),
    ("class A:\n    def __getitem__(self, i):\n        return torch.ones(1)\nASK(A()[0])", "tensor"),
    ("class A:\n    def __iter__(self):\n        yield torch.ones(1)\nfor a in A():\n    ASK(a)", "tensor"),
    ("class A(nn.Module):\n    pass\nASK(A())", "nn.Module main.A"),
    ("class A(nn.Module):\n    pass\nclass B(A):\n    pass\nASK(B())", "nn.Module main.B"),
    ("class A(nn.Module):\n    def forward(self, x):\n        return torch.ones(1)\nASK(A()(1))", "tensor"),
    (
        "class A(nn.Module):\n    def __init__(self):\n        self.register_buffer('b', torch.ones(1))\n    def f(self):\n        ASK(self.b)",
        "tensor",
    ),
    ("class A(torch.utils.data.Dataset):\n    pass\nASK(A())", "dataset main.A"),
    ("class A(nowhere.Base):\n    pass\nASK(A())", "instance of a class with an unknown base main.A"),
    (
        "class A:\n    def __init__(self):\n        self.m = torch.ones(1)\nclass B(A):\n    def f(self):\n        ASK(self.m)",
        "tensor",
    ),
    (
        "class A:\n    def f(self):\n        ASK(self.m)\nclass B(A):\n    def __init__(self):\n        self.m = torch.ones(1)",
        "tensor, unknown",
    ),
    (
        "class A:\n    def f(self):\n        return torch.ones(1)\nclass B(A):\n    def g(self):\n        ASK(super().f())",
        "tensor",
    ),
    ("class A:\n    def __init__(self, m):\n        self.m = m\nASK(A(torch.ones(1)).m)", "tensor"),
    ("class A:\n    def __init__(self, m):\n        ASK(m)\nclass B(A):\n    pass\nB(torch.ones(1))", "tensor"),
    ("class A:\n    def f(self, m):\n        ASK(m)\na = A()\na.f(torch.ones(1))", "tensor"),
    (
        "class A:\n    def __init__(self, m):\n        ASK(m)\nclass B(A):\n    def __init__(self):\n        super().__init__(torch.ones(1))\nB()",
        "tensor",
    ),
    (
        "class A(nn.Module):\n    def forward(self, x):\n        ASK(x)\n    def run(self):\n        self(torch.ones(1))",
        "tensor",
    ),
    (
        "class A(nn.Module):\n    def forward(self, x):\n        ASK(x)\nfor one in nn.ModuleList(A() for _ in y):\n    one(torch.ones(1))",
        "tensor",
    ),
    (
        "class A(nn.Module):\n    def forward(self, x):\n        ASK(x)\nfor i, one in enumerate([A().cuda()]):\n    one(torch.ones(1))",
        "tensor",
    ),
    (
        "class A(nn.Module):\n    def forward(self, x):\n        ASK(x)\ndef run(m):\n    m(torch.ones(1))\nrun(nn.DataParallel(A()))",
        "tensor",
    ),
    ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: torch.Tensor\nASK(A(1).x)", "tensor"),
    ("from tqdm import tqdm\nwith tqdm(torch.ones(1)) as bar:\n    for x in bar:\n        ASK(x)", "tensor"),
    (
        "calls = {}\ndef f(x):\n    ASK(x)\ncalls['end'] = [f]\nfor call in calls.get('end', []):\n    call(torch.ones(1))",
        "tensor",
    ),
    (
        "class A:\n    calls = []\n    def add(self, call):\n        self.calls.append(call)\n    def run(self):\n        for call in self.calls:\n            call(torch.ones(1))\ndef f(x):\n    ASK(x)\nA().add(f)",
        "tensor",
    ),
    ("ASK(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Linear(2, 2)))", "nn.Module torch.nn.Linear"),
    (
        "from torch.nn import SyncBatchNorm as S\nASK(S.convert_sync_batchnorm(nn.Linear(2, 2)))",
        "nn.Module torch.nn.Linear",
    ),
    ("import apex\nASK(apex.parallel.convert_syncbn_model(nn.Linear(2, 2)))", "nn.Module torch.nn.Linear"),
    ("ASK(torch.compile(nn.Linear(2, 2)))", "nn.Module torch.nn.Linear"),
    ("ASK(torch.jit.trace(nn.Linear(2, 2), x))", "nn.Module torch.nn.Linear"),
    ("ASK(nn.utils.weight_norm(nn.Linear(2, 2)))", "nn.Module torch.nn.Linear"),
    ("ASK(nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)))", "nn.Module torch.nn.Linear"),
    ("ASK(nn.SyncBatchNorm.convert_sync_batchnorm(nowhere()))", "unknown"),
]


@pytest.mark.parametrize(("text", "expected"), KNOWN)
def test_known(text: str, expected: str) -> None:
    assert "|".join(words(TORCH + text)) == expected


def test_a_cycle_says_nothing() -> None:
    assert words("y = z\nz = y\nASK(y)") == ["nothing"]
    assert words("x = x.foo(1)\nASK(x)") == ["nothing"]
    (values,) = asked("y = z\nz = y\nASK(y)")
    assert not values.is_known
    assert not values.only(Kind.TENSOR)
    assert values.may(Kind.TENSOR)


FILES = [
    ({"lib.py": "import torch\nx = torch.ones(1)\n"}, "from lib import x\nASK(x)", "tensor"),
    ({"lib.py": "import torch\nx = torch.ones(1)\n"}, "import lib\nASK(lib.x)", "tensor"),
    ({"lib.py": "import torch\nx = torch.ones(1)\n"}, "import lib as l\nASK(l.x)\nASK(l)", "tensor|module lib"),
    ({"pkg/__init__.py": "", "pkg/a.py": "import torch\nx = torch.ones(1)\n"}, "import pkg.a\nASK(pkg.a.x)", "tensor"),
    ({"pkg/a.py": "import torch\nx = torch.ones(1)\n"}, "import pkg.a\nASK(pkg.a.x)", "tensor"),
    ({"pkg/__init__.py": "from .a import x\n", "pkg/a.py": "import torch\nx = torch.ones(1)\n"}, "from pkg import x\nASK(x)", "tensor"),
    ({"pkg/__init__.py": "from .a import *\n", "pkg/a.py": "import torch\nx = torch.ones(1)\n"}, "from pkg import *\nASK(x)", "tensor"),
    ({"compat.py": "try:\n    from torch.cuda import amp\nexcept ImportError:\n    amp = None\n"}, "from compat import amp\nASK(amp.GradScaler)",
     "name of torch torch.cuda.amp.GradScaler"),
    ({"a.py": "from b import x\n", "b.py": "from a import x\n"}, "from a import x\nASK(x)", "nothing"),
    ({"a.py": "from b import *\nimport torch\ny = torch.ones(1)\n", "b.py": "from a import *\n"}, "from b import y\nASK(y)", "tensor"),
    ({"lib.py": "def make():\n    import torch\n    return torch.nn.Linear(1, 1)\n"}, "from lib import make as build\nASK(build())",
     "nn.Module torch.nn.Linear"),
    ({"lib.py": "def run(model):\n    ASK(model)\n"}, "from lib import run\n", ""),
    ({"net.py": "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        self.fc = nn.Linear(1, 1)\n"},
     "from net import Net\nASK(Net())\nASK(Net().fc)", "nn.Module net.Net|nn.Module torch.nn.Linear"),
    ({"base.py": "from torch import nn\nclass Base(nn.Module):\n    def __init__(self):\n        self.fc = nn.Linear(1, 1)\n"},
     "from base import Base\nclass Net(Base):\n    pass\nASK(Net().fc)", "nn.Module torch.nn.Linear"),
    ({"state.py": "model = None\n"}, "import torch, state\nstate.model = torch.ones(1)\nASK(state.model)", "None, tensor"),
    ({"reg.py": "MODELS = {}\n", "net.py": "import torch\nfrom reg import MODELS\nMODELS['a'] = torch.nn.Linear\n"},
     "from reg import MODELS\nASK(MODELS['a'](1))", "nn.Module torch.nn.Linear"),
    ({"a/b.py": "from ..c import x\n", "c.py": "import torch\nx = torch.ones(1)\n"}, "ASK(1)", "number 1"),
    ({"lib/io.py": "x = 1\n"}, "import io\nASK(io.open)", "name of a package io.open"),
    ({"scripts/util.py": "import torch\nx = torch.ones(1)\n"}, "from util import x\nASK(x)", "tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("others", "text", "expected"), FILES)
def test_files(others: dict[str, str], text: str, expected: str) -> None:
    assert "|".join(words(text, others)) == expected


def test_calls_in_other_files() -> None:
    lib = {"main.py": "def run(model, n=1):\n    ASK(model)\n    ASK(n)\n"}
    other = "import torch\nfrom main import run\nrun(torch.nn.Linear(1, 1))\n"
    assert words(lib["main.py"], {"train.py": other}) == ["nn.Module torch.nn.Linear", "number 1"]
    renamed = "import torch\nfrom main import run as go\ngo(torch.nn.Linear(1, 1), n='x')\n"
    assert words(lib["main.py"], {"train.py": renamed}) == ["nn.Module torch.nn.Linear", "string 'x'"]
    through = {
        "pkg/__init__.py": "from main import run as go\n",
        "train.py": "import torch, pkg\npkg.go(torch.ones(1))\n",
    }
    assert words(lib["main.py"], through)[0] == "tensor"


def test_reach() -> None:
    """How far a question looks is the asker's choice: less costs less, and never says more."""
    main = "import torch\nfrom lib import x, make\ndef f(a):\n    ASK(a)\nf(torch.ones(1))\nASK(x)\nASK(make())\nASK(torch.ones(1))\n"
    lib = {"lib.py": "import torch\nx = torch.ones(1)\ndef make():\n    return x\n"}
    assert words(main, lib, reach=Reach.FILE) == ["unknown", "name of the project lib.x", "unknown", "tensor"]
    assert words(main, lib, reach=Reach.IMPORTS) == ["unknown", "tensor", "tensor", "tensor"]
    assert words(main, lib, reach=Reach.PROGRAM) == ["tensor", "tensor", "tensor", "tensor"]


def test_values_show_their_way() -> None:
    (values,) = asked("import torch\ndef make():\n    return torch.nn.Linear(1, 1)\nmodel = make()\nASK(model)")
    (value,) = values
    assert [(step.place.line, step.text) for step in values.why(value)] == [
        (3, "made by torch.nn.Linear()"),
        (3, "returned by make()"),
        (4, "returned by make()"),
        (4, "model is make()"),
    ]
    (values,) = asked("import torch\nx = torch.load('x')\nASK(x)")
    assert next(step.text for step in values.why(next(iter(values)))) == "what torch.load() gives is not known"


def test_how_a_value_came_does_not_count() -> None:
    first, second = asked("import torch\na = torch.ones(1)\nb = a\nASK(a)\nASK(b)")
    assert first == second
    assert hash(first) == hash(second)
    assert len(first | second) == 1


def test_expressions_that_are_unknown_for_one_cause_take_a_line_each() -> None:
    def row(code: str, *steps: str, value: str = "unknown") -> Row:
        return Row("main.py:1:1", code, [Known(value, list(steps))], [])

    told = render(
        [
            row("m.f()", "a.py:1: x", "a.py:2: y"),
            row("m", "a.py:1: x"),
            row("n", "a.py:9: z"),
            row("1", "here", value="number 1"),
        ]
    )
    assert told == (
        "main.py:1:1: m.f()\n  is unknown\n      a.py:1: x\n      a.py:2: y\n"
        "main.py:1:1: m  (unknown, for the same cause)\n"
        "main.py:1:1: n\n  is unknown\n      a.py:9: z\n"
        "main.py:1:1: 1\n  is number 1\n      here\n"
    )
