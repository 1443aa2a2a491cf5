"""Names, receivers and device strings: what is edited, and what never is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from ..harness import codes, findings, migrated, output

if TYPE_CHECKING:
    from pathlib import Path

ADDED = "import torch_npu  # noqa: F401\n"


def without_import(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() != ADDED.strip())


def changed_lines(text: str, **options: object) -> dict[int, str]:
    """The lines of ``text`` that a migration changes, from 1, added imports left out."""
    got = without_import(output(text, **options)).splitlines()  # type: ignore[arg-type]
    want = text.splitlines()
    assert len(got) == len(want), got
    return {number: new for number, (old, new) in enumerate(zip(want, got, strict=True), start=1) if old != new}


# --- names ----------------------------------------------------------------------------------------------------------

SPELLINGS = [
    ("import torch\nx = torch.cuda.device_count()", "import torch\nx = torch.npu.device_count()"),
    ("import torch as T\nx = T.cuda.device_count()", "import torch as T\nx = T.npu.device_count()"),
    ("import torch.nn\nx = torch.cuda.device_count()", "import torch.nn\nx = torch.npu.device_count()"),
    ("from torch import cuda\nx = cuda.device_count()", "from torch_npu import npu as cuda\nx = cuda.device_count()"),
    ("from torch import cuda as c\nx = c.device_count()", "from torch_npu import npu as c\nx = c.device_count()"),
    (
        "from torch import nn, cuda\nx = cuda.CUDAGraph()",
        "from torch import nn\nfrom torch_npu import npu as cuda\nx = cuda.NPUGraph()",
    ),
    ("import torch.cuda as c\nx = c.device_count()", "import torch_npu.npu as c\nx = c.device_count()"),
    ("import torch.cuda\nx = torch.cuda.device_count()", "import torch\nx = torch.npu.device_count()"),
    ("import torch.cuda.amp as amp\nx = amp.GradScaler()", "import torch_npu.npu.amp as amp\nx = amp.GradScaler()"),
    (
        "from torch.cuda import amp, Stream as S\nx = S(); y = amp.GradScaler()",
        "from torch_npu.npu import amp, Stream as S\nx = S(); y = amp.GradScaler()",
    ),
    ("from torch.cuda import CUDAGraph\nx = CUDAGraph()", "from torch_npu.npu import NPUGraph as CUDAGraph\nx = CUDAGraph()"),
    ("from torch.cuda import *\nx = device_count()", "from torch_npu.npu import *\nx = device_count()"),
    ("from torch.cuda import *\nx = CUDAGraph()", "from torch_npu.npu import *\nx = NPUGraph()"),
    ("import torch\ncuda = torch.cuda\nx = cuda.CUDAGraph()", "import torch\ncuda = torch.npu\nx = cuda.NPUGraph()"),
    ("import torch\na = b = torch.cuda\nx = b.CUDAGraph()", "import torch\na = b = torch.npu\nx = b.NPUGraph()"),
    ("import torch\nc: object = torch.cuda\nx = c.CUDAGraph()", "import torch\nc: object = torch.npu\nx = c.NPUGraph()"),
    ("import torch\nt = torch\nc = t.cuda\nx = c.CUDAGraph()", "import torch\nt = torch\nc = t.npu\nx = c.NPUGraph()"),
    ("import torch\nG = torch.cuda.CUDAGraph\nx = G()", "import torch\nG = torch.npu.NPUGraph\nx = G()"),
    ("import torch\na, c = 1, torch.cuda\nx = c.CUDAGraph()", "import torch\na, c = 1, torch.npu\nx = c.NPUGraph()"),
    ('import torch\nc = getattr(torch, "cuda")\nx = c.CUDAGraph()', 'import torch\nc = getattr(torch, "npu")\nx = c.NPUGraph()'),
    ("import torch\nx = getattr(torch, 'cuda').CUDAGraph()", "import torch\nx = getattr(torch, 'npu').NPUGraph()"),
    ('import torch\nx = hasattr(torch.cuda, "CUDAGraph")', 'import torch\nx = hasattr(torch.npu, "NPUGraph")'),
    ('import torch\nx = hasattr(torch, "cuda")', 'import torch\nx = hasattr(torch, "npu")'),
    ("def f():\n    import torch\n    return torch.cuda.device_count()", "def f():\n    import torch\n    return torch.npu.device_count()"),
    ("def f():\n    from torch import cuda\n    return cuda.CUDAGraph()", "def f():\n    from torch_npu import npu as cuda\n    return cuda.NPUGraph()"),
    ("class A:\n    def f(self):\n        import torch as t\n        return lambda: [t.cuda.device_count() for _ in ()]", "class A:\n    def f(self):\n        import torch as t\n        return lambda: [t.npu.device_count() for _ in ()]"),
    ("class A:\n    import torch\n    x = torch.cuda.device_count()", "class A:\n    import torch\n    x = torch.npu.device_count()"),
    ("import torch\nclass A:\n    torch = None\n    def f(self):\n        return torch.cuda.device_count()", "import torch\nclass A:\n    torch = None\n    def f(self):\n        return torch.npu.device_count()"),
    ("try:\n    import torch\nexcept ImportError:\n    torch = None\nx = torch.cuda.device_count()", "try:\n    import torch\nexcept ImportError:\n    torch = None\nx = torch.npu.device_count()"),
    ("import torch\ndef f(n=torch.cuda.device_count(), torch=None): pass", "import torch\ndef f(n=torch.npu.device_count(), torch=None): pass"),
    ("import torch\nx = [torch for torch in f(torch.cuda.device_count())]", "import torch\nx = [torch for torch in f(torch.npu.device_count())]"),
    ("import torch\n@torch.cuda.amp.autocast()\ndef f(torch): pass", "import torch\n@torch.npu.amp.autocast()\ndef f(torch): pass"),
    ("import torch\nx = (\n    torch\n    .cuda  # why\n    .device_count()\n)", "import torch\nx = (\n    torch\n    .npu  # why\n    .device_count()\n)"),
    ("import torch\nx = torch. cuda . device_count()", "import torch\nx = torch. npu . device_count()"),
    ("import torch\ndef f():\n    global torch\n    return torch.cuda.device_count()", "import torch\ndef f():\n    global torch\n    return torch.npu.device_count()"),
    ("torch = None\ndef load():\n    global torch\n    import torch\ndef f():\n    return torch.cuda.device_count()", "torch = None\ndef load():\n    global torch\n    import torch\ndef f():\n    return torch.npu.device_count()"),
    ("import torch\nif (c := torch.cuda):\n    c.CUDAGraph()", "import torch\nif (c := torch.npu):\n    c.NPUGraph()"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), SPELLINGS, ids=[before for before, _ in SPELLINGS])
def test_every_spelling_is_resolved(before: str, after: str) -> None:
    got = output(before + "\n")
    assert without_import(got) == after + "\n"
    ast.parse(got)


SHADOWED = [
    "def f(torch):\n    return torch.cuda.device_count()",
    "def f(*torch):\n    return torch.cuda.device_count()",
    "def f(**torch):\n    return torch.cuda.device_count()",
    "def f(*, torch=None):\n    return torch.cuda.device_count()",
    "def f(torch, /):\n    return torch.cuda.device_count()",
    "f = lambda torch: torch.cuda.device_count()",
    "def f(xs):\n    for torch in xs:\n        torch.cuda.device_count()",
    "def f(xs):\n    for i, (torch, *_) in xs:\n        torch.cuda.device_count()",
    "def f(xs):\n    return [torch.cuda.device_count() for torch in xs]",
    "def f(xs):\n    return {torch.cuda.device_count(): 1 for _, torch in xs if torch.cuda.is_available()}",
    "def f(xs):\n    return sum(torch.cuda.device_count() for torch in xs)",
    "def f(x):\n    with x as torch:\n        torch.cuda.device_count()",
    "async def f(x):\n    async with x as (a, torch):\n        torch.cuda.device_count()",
    "def f(x):\n    try: x()\n    except Exception as torch:\n        torch.cuda.device_count()",
    "def f(x):\n    match x:\n        case torch:\n            torch.cuda.device_count()",
    "def f(x):\n    match x:\n        case [*torch]:\n            torch.cuda.device_count()",
    "def f(x):\n    match x:\n        case {'a': 1, **torch}:\n            torch.cuda.device_count()",
    "def f(x):\n    match x:\n        case A(b=torch):\n            torch.cuda.device_count()",
    "def f(x):\n    if (torch := x):\n        torch.cuda.device_count()",
    "def f(x):\n    print(torch := x)\n    torch.cuda.device_count()",
    "def f(x):\n    return (torch := x), torch.cuda.device_count()",
    "def f(x):\n    for i in (torch := x):\n        torch.cuda.device_count()",
    "def f(x):\n    with open(torch := x):\n        torch.cuda.device_count()",
    "def f(x):\n    assert (torch := x)\n    torch.cuda.device_count()",
    "def f(x):\n    [torch := y for y in x]\n    torch.cuda.device_count()",
    "def f(x):\n    torch = x\n    return torch.cuda.device_count()",
    "def f(x):\n    torch, y = x\n    return torch.cuda.device_count()",
    "def f(x):\n    torch: object\n    return torch.cuda.device_count()",
    "def f(x):\n    torch += x\n    return torch.cuda.device_count()",
    "def f(x):\n    def torch(): pass\n    return torch.cuda.device_count()",
    "def f(x):\n    class torch: pass\n    return torch.cuda.device_count()",
    "def f(x):\n    import numpy as torch\n    return torch.cuda.device_count()",
    "def f(x):\n    from . import torch\n    return torch.cuda.device_count()",
    "def f(torch):\n    def g():\n        return [torch.cuda.device_count() for _ in ()]\n    return g",
    "def f(torch):\n    class A:\n        x = torch.cuda.device_count()\n    return A",
    "class A:\n    torch = object()\n    x = torch.cuda.device_count()",
    "if x:\n    torch = object()\ntorch.cuda.device_count()",
    "def f(x):\n    global torch\n    torch = x\ntorch.cuda.device_count()",
    "def f(x):\n    if x:\n        global torch\n        for torch in x: pass\ntorch.cuda.device_count()",
]


@pytest.mark.parametrize("text", SHADOWED)
def test_shadowed_names_are_left(text: str) -> None:
    assert output(f"import torch\n{text}\n") == f"import torch\n{text}\n"


OTHERS = [
    "from numba import cuda\n@cuda.jit\ndef f(a):\n    i = cuda.grid(1); cuda.synchronize(); cuda.device_count()\ncuda.Event()",
    "import numba.cuda\nnumba.cuda.synchronize()",
    "import cupy\ncupy.cuda.Device(0).use(); cupy.cuda.Stream(); cupy.cuda.is_available()",
    "import cupy as torch\ntorch.cuda.is_available()",
    "from pycuda import driver as cuda\ncuda.init(); cuda.Event()",
    "import pycuda.driver as cuda\nimport torch\ncuda.init(); cuda.Event()",
    "from .torch import cuda\ncuda.CUDAGraph()",
    "from . import torch\ntorch.cuda.CUDAGraph()",
    "from mylib.torch import cuda\ncuda.is_available()",
    "import mytorch\nmytorch.cuda.is_available()",
    "import jax\njax.devices('cuda')",
    "x.torch.cuda.is_available()",
    "torch.cuda.is_available()",
    "import torch\nx = 'torch.cuda.is_available()'",
    "import torch\n'''torch.cuda.is_available()'''  # torch.cuda.init() .cuda() 'cuda'",
]


@pytest.mark.parametrize("text", OTHERS)
def test_names_of_others_are_left(text: str) -> None:
    assert migrated(text + "\n", unsafe=True).raw is None


def test_contested_alias_is_left() -> None:
    text = "import torch, numpy\nc = torch.npu if x else numpy\nd = torch.cuda\nd = numpy\nd.CUDAGraph()\n"
    assert "d.CUDAGraph()" in output(text)


# --- several files --------------------------------------------------------------------------------------------------


def project(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


REEXPORTS = {
    "plain import": ({"compat.py": "from torch import cuda\n"}, "from compat import cuda\ncuda.CUDAGraph()"),
    "alias": ({"compat.py": "import torch\ngpu = torch.cuda\n"}, "from compat import gpu\ngpu.CUDAGraph()"),
    "module": ({"compat.py": "import torch as T\n"}, "import compat\ncompat.T.cuda.CUDAGraph()"),
    "class": (
        {"compat.py": "from torch.cuda import CUDAGraph as G\n"},
        "from compat import G\nprint(torch.cuda.CUDAGraph)",
    ),
    "package": (
        {"pkg/__init__.py": "from .inner import gpu\n", "pkg/inner.py": "from torch import cuda as gpu\n"},
        "import pkg\npkg.gpu.CUDAGraph()",
    ),
    "submodule": (
        {"pkg/__init__.py": "", "pkg/inner.py": "import torch\ngpu = torch.cuda\n"},
        "from pkg import inner\ninner.gpu.CUDAGraph()",
    ),
    "src layout": ({"src/pkg/__init__.py": "from torch import cuda as gpu\n"}, "from pkg import gpu\ngpu.CUDAGraph()"),
    "star": ({"common.py": "import torch\n"}, "from common import *\ntorch.cuda.CUDAGraph()"),
    "star chain": (
        {"a.py": "from b import *\n", "b.py": "import torch\ngpu = torch.cuda\n"},
        "from a import *\ngpu.CUDAGraph()",
    ),
}


@pytest.mark.parametrize("case", REEXPORTS)
def test_reexports_of_the_project(case: str, tmp_path: Path) -> None:
    files, text = REEXPORTS[case]
    text = "import torch\n" * ("torch." in text and "star" not in case and "module" not in case) + text + "\n"
    project(tmp_path, {**files, "main.py": text})
    assert "NPUGraph" in output(text, root=tmp_path, name="main.py")


def test_relative_imports(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/compat.py": "import torch\ngpu = torch.cuda\n",
        "pkg/sub/__init__.py": "from ..compat import gpu\n",
        "pkg/sub/user.py": "from . import gpu as a\nfrom .. import compat\nfrom ..compat import gpu as b\n"
        "a.CUDAGraph(); compat.gpu.CUDAGraph(); b.CUDAGraph()\n",
    }
    project(tmp_path, files)
    got = output(files["pkg/sub/user.py"], root=tmp_path, name="pkg/sub/user.py")
    assert "a.NPUGraph(); compat.gpu.NPUGraph(); b.NPUGraph()\n" in got


@pytest.mark.parametrize(
    "files",
    [
        {"a.py": "from b import gpu\n", "b.py": "from a import gpu\n"},
        {"a.py": "from a import gpu\n"},
        {"a.py": "from b import *\n", "b.py": "from a import *\n"},
        {"a.py": "import b\ngpu = b.gpu\n", "b.py": "import a\ngpu = a.gpu\n"},
        {"a.py": "gpu = gpu\n"},
        {"a.py": "def broken(:\n"},
        {"a.py": "# coding: klingon\n"},
    ],
)
@pytest.mark.parametrize("use", ["from a import gpu\ngpu.is_available()", "from a import *\ngpu.cuda.init()"])
def test_cycles_and_broken_modules_say_nothing(files: dict[str, str], use: str, tmp_path: Path) -> None:
    project(tmp_path, {**files, "main.py": use})
    text = f"{use}\nimport torch\ntorch.cuda.init()\n"
    assert changed_lines(text, root=tmp_path, name="main.py") == {4: "torch.npu.init()"}


@pytest.mark.parametrize("name", ["a.py", "main.py"])
def test_file_in_a_cycle_can_itself_be_migrated(name: str, tmp_path: Path) -> None:
    text = "from b import *\nfrom b import gpu\nimport torch\ngpu.init(); torch.cuda.init(); other.cuda()\n"
    project(tmp_path, {"a.py": text, "b.py": "from a import *\nfrom a import gpu\n", "main.py": text})
    assert "torch.npu.init()" in output(text, root=tmp_path, name=name)


# --- receivers ------------------------------------------------------------------------------------------------------

TORCH_OBJECTS = [
    "torch.zeros(1).cuda()",
    "torch.zeros(1).view(1).float().cuda(non_blocking=True)",
    "torch.nn.Linear(1, 1).cuda(0)",
    "torch.FloatTensor([1]).cuda()",
    "unknown.cuda()",
    "batch['x'].cuda(device, non_blocking=True)",
    "[t.cuda() for t in ts]",
    "model.module.cuda()",
    "torch.zeros(1).is_cuda",
    "unknown.is_cuda",
]


@pytest.mark.parametrize("expression", TORCH_OBJECTS)
def test_tensors_and_modules(expression: str) -> None:
    text = f"import torch\nx = {expression}\n"
    new = expression.replace(".cuda(", ".npu(").replace("is_cuda", "is_npu")
    assert changed_lines(text) == {2: f"x = {new}"}


OWN = {
    "method": "class Own:\n    def cuda(self): return self\n    def other(self): pass\n",
    "property": "class Own:\n    @property\n    def is_cuda(self): return True\n",
    "attribute": "class Own:\n    def __init__(self):\n        self.is_cuda = True\n",
    "field": "class Own:\n    is_cuda: bool = False\n",
    "inherited": "class Base:\n    def cuda(self): return self\n    is_cuda = 1\nclass Own(Base): pass\n",
    "inherited twice": "class Base:\n    def cuda(self): return self\n    is_cuda = 1\nclass M(Base): pass\nclass Own(M): pass\n",
}


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("where", ["same file", "other file"])
def test_own_classes_and_their_users_are_left(kind: str, where: str, tmp_path: Path) -> None:
    word = "cuda()" if "def cuda" in OWN[kind] else "is_cuda"
    use = f"import torch\nown = Own()\nown.{word}\n\ndef f(a: Own):\n    b = a\n    return b.{word}\n"
    if where == "same file":
        text = OWN[kind] + use
    else:
        project(tmp_path, {"lib/own.py": OWN[kind]})
        text = "from lib.own import Own\n" + use
    project(tmp_path, {"main.py": text})
    assert migrated(text, root=tmp_path, name="main.py", unsafe=True).raw is None


def test_with_an_own_class_what_may_be_its_object_needs_a_look_and_nothing_else_does(tmp_path: Path) -> None:
    text = OWN["method"] + "import torch\nx = [Own()]\nx[0].cuda()\nunknown.cuda()\ntorch.zeros(1).cuda()\n"
    project(tmp_path, {"main.py": text})
    assert sorted(changed_lines(text, root=tmp_path, name="main.py")) == [7, 8]
    several = text.replace("[Own()]", "{1: Own(), 2: load()}")
    project(tmp_path, {"main.py": several})
    assert sorted(changed_lines(several, root=tmp_path, name="main.py")) == [7, 8]
    assert sorted(changed_lines(several, root=tmp_path, name="main.py", unsafe=True)) == [6, 7, 8]


def test_bool_attribute_is_not_what_is_called(tmp_path: Path) -> None:
    text = "import torch\nclass T:\n    def __init__(self):\n        self.cuda = torch.cuda.is_available()\nx.cuda()\n"
    project(tmp_path, {"main.py": text})
    assert changed_lines(text, root=tmp_path, name="main.py") == {
        4: "        self.cuda = torch.npu.is_available()",
        5: "x.npu()",
    }


@pytest.mark.parametrize(
    "line", ["args.cuda", "if args.cuda: pass", "self.cuda = 1", "x.cuda = f", "x.is_cuda = 1", "del x.cuda", "x.cuda(1, 2, 3)"]
)  # fmt: skip
def test_other_things_called_cuda_are_left(line: str) -> None:
    assert migrated(f"import torch\n{line}\n", unsafe=True).raw is None


# --- device strings -------------------------------------------------------------------------------------------------

DEVICE = [
    "torch.device('cuda')",
    "torch.device('cuda:1')",
    "torch.device(type='cuda', index=0)",
    "torch.zeros(1, device='cuda:0')",
    "x.to('cuda')",
    "x.to('cuda', non_blocking=True)",
    "x.to(device='cuda')",
    "torch.load(p, map_location='cuda:0')",
    "torch.load(p, map_location={'cuda:0': 'cuda:%d' % r})",
    "torch.autocast('cuda')",
    "torch.autocast(device_type='cuda')",
    "where = 'cuda' if torch.cuda.is_available() else 'cpu'\nx.to(where)",
    "device = 'cuda'",
    "self.device = 'cuda'",
    "device_type: str = 'cuda'",
    "x.device.type == 'cuda'",
    "'cuda' == x.device.type",
    "x.device.type != 'cuda'",
    "x.device.type in ('cuda', 'mps')",
    "str(device) == 'cuda'",
    "device == 'cuda:0'",
    "device.startswith('cuda')",
    "'cuda' in device",
    "def f(device='cuda'): return g(device)",
    "def f(*, device: str = 'cuda'): return g(device)",
    "f = lambda device='cuda': g(device)",
    "p.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])",
    "@click.option('--device', default='cuda', type=click.Choice(['cuda', 'cpu']))\ndef f(device): pass",
    "@dataclass\nclass C:\n    device: str = 'cuda'",
    "@dataclass\nclass C:\n    device: str = field(default='cuda')",
    "torch.device(f'cuda:{rank}')",
    "torch.device(f\"cuda:{ranks['a']}\")",
    "torch.device('cuda:%d' % rank)",
    "torch.device('cuda:{}'.format(rank))",
    "torch.device('cuda:' + str(rank))",
    "torch.device('cuda' + ':' + str(rank))",
    "torch.device('cuda' f':{rank}')",
    "torch.device(r'cuda')",
    'torch.device("""cuda""")',
    "torch.device('cuda' if ok else 'cpu')",
    "torch.device(name or 'cuda')",
    "torch.device(d := 'cuda')",
    "torch.set_default_device('cuda')",
    "cfg.get('device', 'cuda')",
    "getattr(args, 'device', 'cuda')",
    "cfg = dict(device='cuda')",
    "cfg = {'device': 'cuda'}",
    "cfg['device'] = 'cuda'",
    "for device in ('cpu', 'cuda'): x.to(device)",
    "devices = ['cuda:0', 'cuda:1']",
    "print(f\"{x.to('cuda')}\")",
    "print(f\"{f'{x.to(chr(1))} ' + str(x.to('cuda'))}\")",
]


@pytest.mark.parametrize("line", DEVICE)
def test_strings_that_reach_a_device(line: str) -> None:
    text = f"import torch\n{line}\n"
    got = without_import(output(text))
    assert got == text.replace("'cuda", "'npu").replace('"cuda', '"npu').replace("torch.cuda", "torch.npu")
    assert "cuda" not in got


NEVER = [
    "open('cuda')",
    "open('/usr/local/cuda/version.txt')",
    "os.path.join(root, 'cuda')",
    "Path('cuda') / 'include'",
    "root / 'cuda' / 'kernel.cu'",
    "os.listdir('cuda')",
    "print('cuda')",
    "print('using cuda:0 now')",
    "print(f'cuda: {n}')",
    "print(f'cuda:{n} is slow')",
    "logging.info('cuda')",
    "logger.warning('cuda')",
    "raise ValueError('cuda')",
    "assert ok, 'cuda'",
    "warnings.warn('cuda')",
    "metrics['cuda']",
    "metrics['cuda'] = 1",
    "metrics.get('cuda')",
    "'https://download.pytorch.org/whl/cuda'",
    "url = 'cuda'",
    "requests.get('https://x.org/cuda:8080')",
    "name = 'barracuda'",
    "torch.save(x, 'cuda')",
    "torch.device('barracuda')",
    "x = 'cuda-11.8'",
    "x = 'cudart'",
    "x = 'CUDA'",
    "x = b'cuda'",
    "os.environ['cuda']",
    "hasattr(x, 'cuda')",
    "re.compile('cuda')",
    "subprocess.run(['cuda'])",
    "p.add_argument('--name', help='cuda')",
    "p.add_argument('cuda')",
    '"""cuda"""',
    "def f():\n    'cuda'",
    "# 'cuda' device='cuda'",
    "__all__ = ['cuda']",
    "','.join(['cuda'])",
]


@pytest.mark.parametrize("line", NEVER)
def test_strings_that_never_reach_a_device(line: str) -> None:
    text = f"import torch\n{line}\n"
    assert output(text) == text


# --- f-strings ------------------------------------------------------------------------------------------------------

F_STRINGS = [
    "f'{torch.cuda.device_count()}'",
    "f'torch.cuda.device_count() {torch.cuda.device_count()}'",
    "f'{{torch.cuda.device_count()}} {torch.cuda.device_count()}'",
    "f'{torch.cuda.device_count()} {torch.cuda.device_count()!r:>{torch.cuda.device_count()}}'",
    "f'''\n训练 {torch.cuda.device_count()}\n  {\n torch.cuda.current_device()}\n'''",
    "'torch.cuda.a ' f'{torch.cuda.device_count()}'",
    "f\"{f'{torch.cuda.device_count()}'}\"",
    "f\"{x['torch.cuda'] + torch.cuda.device_count()}\"",
    "f'{(lambda torch: torch.cuda)(1)} {torch.cuda.device_count()}'",
    "f'{torch.zeros(1).cuda()} {y.is_cuda}'",
    "f\"{torch.device('cuda')}\"",
    "f\"cuda {torch.device('cuda')} torch.device('cuda') {torch.device('cuda')}\"",
    "f\"torch.device('cuda') {torch.device('cuda')}\"",
    "f'{torch.cuda.device_count()}' + f'{torch.cuda.device_count()}'",
    "rf'\\d{torch.cuda.device_count()}'",
    "f'{torch.cuda.get_device_name(f\"{torch.cuda.current_device()}\")}'",
]


@pytest.mark.parametrize("expression", F_STRINGS)
def test_f_strings_are_edited_right_or_left_with_a_finding(expression: str) -> None:
    """Each field is migrated or reported, and the text around the fields stays."""
    text = f"import torch\nx = {expression}\n"
    result = migrated(text)
    assert not result.errors
    got = without_import((result.raw or text.encode()).decode())
    old, new = ast.parse(text).body[1].value, ast.parse(got).body[1].value  # type: ignore[attr-defined]
    assert _literal_text(old) == _literal_text(new)
    if "cuda" in "".join(ast.unparse(node.value) for node in ast.walk(new) if isinstance(node, ast.FormattedValue)):
        assert result.left or "lambda" in expression or "x['" in expression, got


def _literal_text(node: ast.AST) -> list[str]:
    """The text of an f-string outside of its fields."""
    if isinstance(node, ast.JoinedStr):
        return [part.value for part in node.values if isinstance(part, ast.Constant)]
    return [text for child in ast.iter_child_nodes(node) for text in _literal_text(child)]


def test_simple_f_string_fields_are_edited() -> None:
    text = (
        "import torch\nx = f'{torch.cuda.device_count()} of {torch.cuda.device_count():>3} {torch.zeros(1).cuda()}'\n"
    )
    assert changed_lines(text) == {
        2: "x = f'{torch.npu.device_count()} of {torch.npu.device_count():>3} {torch.zeros(1).npu()}'"
    }


# --- where torch_npu is imported ------------------------------------------------------------------------------------

CALL = "torch.npu.init()\n"
PLACES = {
    "after torch": ("import os\nimport torch\nimport sys\n", "import os\nimport torch\n@import sys\n"),
    "after from torch": ("from torch import nn\nimport torch\n", "from torch import nn\n@import torch\n"),
    "several lines": ("from torch.nn import (\n    Linear,\n    ReLU,\n)\nimport torch\n", "from torch.nn import (\n    Linear,\n    ReLU,\n)\n@import torch\n"),
    "backslash": ("import torch, \\\n    os\n", "import torch, \\\n    os\n@"),
    "comment": ("import torch  # why\n# next\n", "import torch  # why\n@# next\n"),
    "docstring and future": ('"""Doc."""\nfrom __future__ import annotations\n\nimport torch\n', '"""Doc."""\nfrom __future__ import annotations\n\nimport torch\n@'),
    "semicolon": ("import torch; import os\n", "import torch; import torch_npu; import os\n"),
    "semicolon before": ("import os; import torch\n", "import os; import torch\n@"),
    "try": ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "try:\n    import torch\n    @except ImportError:\n    torch = None\n"),
    "second after try": ("try:\n    import apex\nexcept ImportError: pass\nimport torch\n", "try:\n    import apex\nexcept ImportError: pass\nimport torch\n@"),
    "twice": ("import torch\nimport torch\n", "import torch\n@import torch\n"),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_torch_npu_is_imported_once_after_torch(place: str) -> None:
    before, after = PLACES[place]
    got = output(before + CALL.replace("npu", "cuda"))
    assert got.replace("import torch_npu\n", ADDED) == after.replace("@", ADDED) + CALL
    assert got.count("import torch_npu") == 1
    assert migrated(got).raw is None


@pytest.mark.parametrize(
    "head",
    [
        "import torch\nimport torch_npu\n",
        "import torch, torch_npu\n",
        "import torch\nfrom torch_npu.contrib import transfer_to_npu\n",
        "import torch\ntry:\n    import torch_npu\nexcept ImportError:\n    pass\n",
    ],
)
def test_import_that_is_there_is_not_added_again(head: str) -> None:
    assert output(head + "x.cuda()\n") == head + "x.npu()\n"


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nx.device.type == 'cuda'\n",
        "import argparse\nparser.add_argument('--device', default='cuda')\n",
        "import torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n",
    ],
)
def test_file_that_needs_no_torch_npu_gets_none(text: str) -> None:
    got = output(text)
    assert got != text
    assert "torch_npu" not in got


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import torch\n    return torch.cuda.device_count()\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\ndef f(x): return x.cuda()\n",
        "if x:\n    import torch\ntorch.cuda.init()\n",
    ],
)
def test_torch_that_is_not_imported_at_module_level_is_reported(text: str) -> None:
    result = migrated(text)
    assert result.raw is not None
    assert b"torch_npu" not in result.raw
    assert "NPU100" in [finding.code for finding in result.left]


@pytest.mark.parametrize("comment", ["# runs on cuda", "'''\non cuda\n'''", "# nccl"])
def test_import_is_added_where_only_prose_still_says_cuda(comment: str) -> None:
    text = f"import torch\n{comment}\nx = torch.zeros(1).cuda()\n"
    assert output(text) == f"import torch\n{ADDED}{comment}\nx = torch.zeros(1).npu()\n"


def test_name_in_a_function_that_nothing_else_concerns_is_bound() -> None:
    text = (
        "import torch\nfrom torch.cuda import amp\nimport torch.distributed as dist\n\n\n"
        "def f():\n    return dist.is_nccl_available()\n\n\ndef g():\n    return 1\n"
    )
    got = output(text)
    assert "torch_npu." in got.replace("torch_npu.npu import", "")
    assert "\nimport torch_npu\n" in got


def test_finding_without_torch_in_sight() -> None:
    assert codes("import torch\nfrom os import *\ntorch.cuda.init()\n") == ["NPU101"]
    assert findings("import torch\nprint(1)\n") == []


def test_a_script_that_builds_cuda_code_keeps_its_questions() -> None:
    text = (
        "import torch\nfrom torch.utils.cpp_extension import CUDAExtension\n"
        "arch = torch.cuda.get_device_properties(torch.cuda.current_device()).gcnArchName\n"
    )
    assert output(text, name="setup.py", unsafe=True) == text
