"""Text beside a word that says nothing can be found there: no finding may get lost by it, and files are spared."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import npuify
from npuify.analysis.project import ProjectIndex
from npuify.engine.catalog import all_rules
from npuify.engine.worker import Worker
from npuify.options import Options
from npuify.rules.selection import Selection
from tests.harness import RELEASE

# Each makes a statement of a word and something around it.
DOUBLE = [
    "x = torch.zeros(3, dtype={w}, device=device)",
    "x = torch.zeros(3, device=device, dtype={w})",
    "x = torch.zeros(\n    3,\n    dtype={w},\n    device=device,\n)",
    "x = torch.zeros(size(3), device=get(0), dtype={w})",
    "x = torch.zeros((3, 4), dtype={w})",
    "x = torch.tensor(y, dtype={w})",
    "x = torch.tensor(y, dtype={w}).to(device)",
    "x = y.to(device, {w})",
    "x = y.to(device, dtype={w})",
    "x = y.to(\n    dtype={w},\n    device='cuda',\n)",
    "x = y.to({w})",
    "x = y.to({w}).to(device)",
    "x = y.to({w}).cuda()",
    "x = (\n    y.to({w})\n    # on the card\n    .cuda()\n)",
    "x = (y.to({w})).to(device)",
    "x = y.new_zeros(3, dtype={w}, device=y.device)",
    "torch.set_default_dtype({w})",
    "if x.dtype in (torch.float32, {w}):\n    y = x.cuda()",
    "ok = x.dtype == {w} and x.to(device)",
    "kind = {w} if x else torch.float32",
    "x = torch.zeros(3, dtype=torch.float32 if y else {w}, device=device)",
    "kinds = [torch.ones(1, dtype=kind, device=device) for kind in (torch.float32, {w})]",
    "K = {w}\nx = torch.zeros(3, dtype=K, device='cuda')",
    "x = y.double().to(device) if {w} else y",
    "x = (y.double())  # {w}\nz = x.double() \\\n    .cuda()",
]
CHOICES = [
    "with torch.autocast('cuda', dtype={w}):\n    pass",
    "with torch.cuda.amp.autocast(dtype=(\n    {w}\n)):\n    pass",
    "p = MixedPrecision(param_dtype={w}, reduce_dtype=torch.float32)",
    "a = Accelerator(mixed_precision='bf16')",
    "a = Trainer(bf16=True)",
    "a = Trainer(bf16 = (True))",
    'a = Trainer(precision="bf16-mixed")',
    "a = load(torch_dtype='bfloat16')",
    "a = {w} if x.dtype in [torch.float16, {w}] else None",
    "x = x.to({w})",
    "ok = x.dtype is not {w}",
    "def g(x, dtype={w}):\n    return torch.autocast('cuda', {w})",
]
OTHERS = [
    "z = torch.where(x > 0, x, torch.tensor(0.0))",
    "z = torch.where(x > 0, x, torch.tensor( -1e9, dtype=x.dtype))",
    "z = x.clamp(min=torch.tensor(float('-inf')), max=torch.tensor(math.inf))",
    "f = torch.compile(f, backend='cudagraphs')",
    "f = (torch.compile)(f)",
    "f = torch.compile \\\n    (f)",
    "f = (torch.compile  # quicker\n     (f))",
    "@torch.compile\ndef g(x):\n    return x",
    "@torch.compile(dynamic=True)\ndef g(x):\n    return x",
    "c = torch.compile; f = c(f)",
    "ok = torch.compiler.is_compiling()",
    "class Double(torch.autograd.Function):\n    def forward(self, x):\n        return x * 2\ny = Double()(x)",
    "class Double(torch.autograd.Function ):  # old\n    def forward(self, x):\n        return x * 2",
    "x = x.to(memory_format=torch.channels_last)",
    "x = x.to(memory_format=torch.\\\n    channels_last_3d)",
    "layout = 'channels_last'",
    "bad = torch.isnan(loss).any()",
    "bad = torch.isfinite(model.grad[0])",
    "bad = torch.isfinite(total(loss))",
    "bad = torch.isnan(x['loss'])",
    "bad = torch.isinf(\n    my_loss\n)",
    "bad = torch.isnan(x)",
    "i = torch.nonzero(x)",
    "i = torch.unique(x)[mask]",
    "i = x.masked_select(y)",
    "i = torch.where(x)",
    "i = torch.where(x, y, 0)",
    "i = torch.where (f(x, (1, 2))[0, 1],)",
    "i = torch.where(\n    x,  # the mask\n)",
    "i = torch.where(x == ',')",
    "i = torch.where(x  # (a, b)\n)",
    "i = torch.where(x, y) + torch.where(x)",
    "i = (torch.where)(x)",
    "i = torch.argwhere(x)",
    "i = x.repeat_interleave(2, dim=1)",
    "i = x.repeat_interleave(repeats = 2)",
    "i = x.repeat_interleave(lens)",
    "i = torch.repeat_interleave(x, torch.ones(3).long(), 0)",
    "mask = x > 0\ny = torch.ones(3)[mask]",
    "o = flex_attention(q, k, v)",
    "o = flex_attention (q, k, v)",
    "kind = 'flex_attention'",
    "z = math.copysign(1, 2)",
    "z = np.copysign(1, 2) + x.lgamma()",
    "z = torch.ones(3).copysign(y)",
    "z = torch.copysign(x, y)",
    "w = torch.lstsq(x, y)",
    "w = np.linalg.lstsq(x, y) + x.lstsq(y)",
    "w = scipy.linalg.solve(x, y)",
    "w, v = x.symeig(eigenvectors=True)",
    "x.mean().backward(torch.ones(1))",
    "x.mean().backward( retain_graph=True )",
    "z = getattr(x, f'run_{torch.ones(3).device.type}')(y)",
    "z = getattr(x, 'run_cuda', None)",
    "z = getattr(x, 'run_' 'all')",
    "z = getattr(self.made(x), 'run_' + torch.ones(3).device.type)(y)",
    "z = getattr(\n    x,\n    'run_' + torch.ones(3).device.type,\n)",
    "for name in ('run', 'stop'):\n    z = getattr(x, name)",
    "name = 'run_' + torch.ones(3).device.type\nz = getattr(x, name, None)",
    "name: str = 'run_' + torch.ones(3).device.type\nz = hasattr(x, name)",
    "if name := 'run_' + torch.ones(3).device.type:\n    z = setattr(x, name, y)",
    "z = globals()['run_' + torch.ones(3).device.type](y)",
    "name = f'run_{torch.ones(3).device.type}'\nz = globals()[name](y)",
    "for name in ('run', 'stop'):\n    z = locals()[name]",
    "name = f'run_{torch.ones(3).device.type}'\nz = vars(x)[name]",
    "name = f'run_{torch.ones(3).device.type}'\nz = locals().get(name)",
    "z = dict(locals())",
    "z = vars(y).items()",
    "z = importlib.import_module('pkg.' + torch.ones(3).device.type)",
    "z = importlib.import_module(name='pkg.run')",
    "for parameter in x.parameters():\n    z = float(parameter.grad.norm())",
    "for parameter in x.parameters():\n    z = float('inf') + parameter.grad.norm().item()",
    "z = float(3)",
    "i = iter(torch.utils.data.DataLoader([1, 2], batch_size=1))\nz = i.next()",
    "i = iter(torch.utils.data.DataLoader([1, 2], batch_size=1))\nz = i.next(\n)",
    "z = x.next(3)",
    "mask = torch.ones(3) > 0\nz = 1 - mask",
    "mask = torch.ones(3).eq(0)\nz = (1 - mask).float()",
    "z = 1 - (torch.ones(3) != 0)",
    "z = 1 - x",
]
STATEMENTS = [
    *(text.format(w=word) for text, word in product(DOUBLE, ["torch.float64", "torch.double"])),
    *(text.format(w="torch.bfloat16") for text in CHOICES),
    *OTHERS,
]
HEAD = "import importlib\nimport math\nimport numpy as np\nimport torch\nfrom torch.nn.attention.flex_attention import flex_attention\n"
FRAMES = [
    "{head}{body}",
    "{head}def f(x, y, device):\n{indented}",
    "{head}class M(torch.nn.Module):\n    def forward(self, x, y, device):\n{twice}",
    "{head}class M(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n\ndef f(x, y, device):\n{indented}",
    '{head}class M(torch.nn.Module):\n    """\ndef f():\n    """\n    def forward(self, x, y, device):\n{twice}',
    "{head}def make():\n    class M(torch.nn.Module):\n        def forward(self, x, y, device):\n{thrice}",
]


def indented(text: str, depth: int) -> str:
    return "".join(" " * 4 * depth + line for line in text.splitlines(keepends=True))


def texts(statement: str) -> list[str]:
    body = statement + "\n"
    once, twice, thrice = (indented(body, depth) for depth in (1, 2, 3))
    return [
        frame.format(head=HEAD + extra, body=body, indented=once, twice=twice, thrice=thrice)
        for frame in FRAMES
        for extra in ("", "torch.cuda.synchronize()\n")
    ]


def found(worker: Worker, text: str) -> list[npuify.Finding]:
    findings, errors, _, _ = worker.analyse("a.py", text.encode(), whole=False)
    assert not errors
    return findings


@pytest.mark.parametrize("soc", ["", "910"])
def test_no_finding_is_lost_by_what_stands_beside_a_word(soc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ProjectIndex(Path("/nowhere"), [], [])
    quick = Worker(RELEASE, Selection(), project, soc=soc)
    thorough = Worker(RELEASE, Selection(), project, soc=soc)
    monkeypatch.setattr(thorough.rules, "_skippable", lambda without: {})
    passed_over = 0
    codes = set()
    for statement in STATEMENTS:
        for text in texts(statement):
            expected = found(thorough, text)
            assert found(quick, text) == expected, text
            lower = text.encode().lower()
            assert quick.rules.may_concern(lower) or not expected, text
            passed_over += not quick.rules.may_concern(lower)
            codes |= {finding.code for finding in expected}
    assert passed_over > 100
    # NPU735 says nothing without a file beside the program: see environment/test_read_files.py.
    assert {rule.code for rule in all_rules().values() if rule.skip_if} - {"NPU735"} <= codes


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("import torch\ndef f(x):\n    return x.dtype in (torch.float32, torch.float64)\n", 0),
        ("import torch\ndef f(x, device):\n    return x.to(device, torch.float64)\n", 1),
        ("import torch\ny = torch.unique(x)\n", 0),
        ("import torch\ndef f(x):\n    return torch.unique(x)\n", 1),  # a step of another file may call it
        ("import torch\ndef f(x):\n    return torch.compiler.is_compiling()\n", 0),
        ("import torch\ndef f(x):\n    return torch.compile(x)\n", 1),
    ],
)
def test_a_file_whose_words_say_nothing_is_not_parsed(text: str, parsed: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text)
    assert npuify.scan([tmp_path], Options(cache=False, jobs=1)).files_parsed == parsed


ATTENTION = "import torch.nn.functional as F\ndef f(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n"


@pytest.mark.parametrize(("soc", "parsed"), [("", 0), ("A2", 0), ("910", 1), ("310P", 1)])
def test_a_file_that_matters_for_other_chips_only_is_not_parsed(soc: str, parsed: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(ATTENTION)
    result = npuify.scan([tmp_path], Options(cache=False, jobs=1, soc=soc))
    assert result.files_parsed == parsed
    assert [finding.code for finding in result.findings] == ["NPU509"] * parsed


@pytest.mark.parametrize("text", [ATTENTION, "import torch\ndef f(x):\n    return x.dtype == torch.float64\n"])
def test_words_that_say_nothing_stay_a_reason_for_rules_that_need_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text + "def g():\n    import transformer_engine\n")
    assert "NPU620" in [finding.code for finding in npuify.scan([tmp_path], Options(cache=False, jobs=1)).findings]
