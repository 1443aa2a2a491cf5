"""Operators and types: each rule fires on its case, and is silent on right code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify import knowledge
from npuify.model import Evidence, Severity
from npuify.rules.operators.kernels import _BEHIND

from ...harness import RELEASE, codes, findings, worker

if TYPE_CHECKING:
    from pathlib import Path

IN_FORWARD = "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, mask, lens: torch.Tensor, n):\n"
FIRES = {
    "NPU410": [
        'import torch\nt = torch.tensor([1.0], dtype=torch.float64, device="cuda")\n',
        "import torch\ndef f(x, device):\n    return x.to(device, torch.float64)\n",
        "import torch\ndef f(x, device):\n    return x.double().to(device)\n",
        "import torch\ntorch.set_default_dtype(torch.float64)\n",
        # What is on the NPU already becomes float32.
        "import torch\ndef f(x):\n    return x.cuda().double()\n",
        "import torch\ndef f(x):\n    return x.cuda(non_blocking=True).to(torch.float64)\n",
        "import torch\ndef f(freqs, n):\n    return torch.arange(n, dtype=torch.double, device=freqs.device)\n",
        # A model that is moved to the device, before or after.
        "import torch\ndef f(device):\n    net = torch.nn.Linear(2, 2)\n    net.double()\n    net.to(device)\n",
        "import torch\nnet = torch.nn.Linear(2, 2).cuda()\nnet = net.double()\n",
        "import torch\nnet = torch.nn.Linear(2, 2).to('cuda').double()\n",
        "import torch\nnet = torch.nn.Linear(2, 2).double()\nnet.to('cuda')\n",
        "import torch\nnet = torch.nn.Linear(2, 2).to(torch.float64)\nnet.cuda()\n",
        "import torch\nclass A:\n    def f(self):\n        self.net = torch.nn.Linear(2, 2).double()\n        self.net.to(self.device)\n",
        "import torch\nx = print(torch.ones(2).to('cuda').double())\n",
        # Python's own float is float64 for torch, whatever a device is called.
        "import torch\nclass A:\n    def f(self):\n        return torch.tensor(0.5, dtype=float, device=self.dvc)\n",
        "import torch\ndef f(gpu):\n    return torch.zeros(3, device=gpu, dtype=float)\n",
    ],
    "NPU411": [
        "import torch\nfreqs = torch.polar(torch.ones(4), torch.ones(4))\n",
        "import torch\ndef rotate(x):\n    return torch.view_as_complex(x)\n",
    ],
    "NPU412": [
        # In the loop itself, of a function and of the file.
        (
            "import torch\ndef train(m, data):\n    for x in data:\n        i = torch.nonzero(x)\n"
            "        m(x[i]).backward()\n"
        ),
        "import torch\nfor x in data:\n    while True:\n        i = torch.nonzero(x)\n    m(x[i]).backward()\n",
        # A loss, and a helper of a model.
        (
            "import torch\ndef loss_of(x, y):\n    return x[torch.nonzero(y)].sum()\n"
            "def train(m, x, y):\n    loss = loss_of(m(x), y)\n    loss.backward()\n"
        ),
        (
            "import torch\ndef pick(m):\n    i = torch.nonzero(m)\n    return i, torch.unique(m)\n"
            "class M(torch.nn.Module):\n    def forward(self, x):\n        return pick(x)\n"
        ),
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.nonzero(x)\n",
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, m):\n        return x.masked_select(m)\n",
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x.nonzero(as_tuple=True)\n",
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, lens):\n"
            "        return x.repeat_interleave(lens, dim=0)\n"
        ),
        IN_FORWARD + "        return torch.where(mask)\n",
        IN_FORWARD + "        i, j = torch.where(\n            x > 0\n        )\n        return i\n",
        IN_FORWARD + "        return torch.where((x > f(0, 1)),)\n",
        IN_FORWARD + "        return torch.argwhere(x)\n",
        IN_FORWARD + "        return torch.repeat_interleave(x, torch.tensor([1, 2]), dim=0)\n",
        IN_FORWARD + "        return torch.repeat_interleave(x, lens, 0)\n",
        IN_FORWARD + "        return x.repeat_interleave(torch.ones(3).long(), 0)\n",
        IN_FORWARD + "        return torch.repeat_interleave(lens)\n",
        IN_FORWARD + "        return x.repeat_interleave(repeats=lens[1:] - lens[:-1])\n",
        IN_FORWARD + "        counts = torch.bincount(x)\n        return x.repeat_interleave(counts)\n",
        IN_FORWARD + "        return torch.repeat_interleave(x, seq_lens)\n",
        # What functions and attributes of the file are, tells the program model.
        "import torch\ndef lengths_of(x):\n    return torch.bincount(x)\n"
        + IN_FORWARD.removeprefix("import torch\n")
        + "        return x.repeat_interleave(lengths_of(x))\n",
        (
            "import torch\nclass M(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.counts_of_parts = torch.ones(3).long()\n    def forward(self, x):\n"
            "        n = self.counts_of_parts\n        return x.repeat_interleave(n)\n"
        ),
        IN_FORWARD + "        return x.repeat_interleave(lens if n else lens + 1)\n",
    ],
    "NPU413": [
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y):\n        x = torch.relu(y)\n"
            "        mask = x > 0\n        return x[mask].mean()\nM().cuda()\n"
        ),
        (
            "import torch\ndef pick(x, m):\n    return x[m].mean()\nclass M(torch.nn.Module):\n"
            "    def forward(self, x, y):\n        keep = x > y\n        return pick(x, m=keep)\nM().cuda()\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y):\n        x = torch.relu(y)\n"
            "        return x[x > 0].mean()\nM().cuda()\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, labels):\n"
            "        return labels[labels != -100]\nM().cuda()\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y):\n        x = torch.relu(y)\n"
            "        mask = x != 0\n        return x[~mask].mean()\nM().cuda()\n"
        ),
        (
            "import torch\ndef scores(y):\n    return torch.softmax(y, -1)\nclass M(torch.nn.Module):\n"
            "    def forward(self, y):\n        x = scores(y)\n        return x[scores(y) > 0.5]\nM().cuda()\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y: torch.Tensor, other: torch.Tensor):\n"
            "        return y[self.limit + other > 0]\nM().cuda()\n"
        ),
        "import torch\ndef dice_loss(p, y, skip=255):\n    keep = y.ne(skip)\n    return p[keep].sum()\nx = torch.ones(1).cuda()\n",
        "import torch\ndef sample(logits):\n    return logits[torch.isfinite(logits)]\nx = torch.ones(1).cuda()\n",
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, p, y):\n        ok = (y > 0) & (y < 9)\n        return p[ok, :]\nM().cuda()\n",
    ],
    "NPU414": [
        "import torch\nvalues = torch.linalg.eigh(torch.eye(3))\n",
        "from torch.linalg import inv\nimport torch\nvalue = inv(torch.eye(3))\n",
        "import torch\nd = torch.distributions.Dirichlet(torch.ones(3))\n",
        "import torch\nfrom torch.distributions.gamma import Gamma\nd = Gamma(torch.ones(3), torch.ones(3))\n",
        "import torch\nx = torch.ones(3)\ny = x.lgamma()\n",
        # Of what nothing is known of, where only tensors have such a method.
        "import torch\ndef window(x, beta):\n    y = beta * x\n    return y.i0()\n",
        "import torch\nclass A:\n    def f(self):\n        return self.t.polygamma(2)\n",
        "import torch\nx = torch.ones(3)\nx.cauchy_()\n",
        "import torch\nloss = torch.nn.HuberLoss()\n",
        "from torch import nn\nloss = nn.MultiMarginLoss()\n",
        "import torch.nn.functional as F\nloss = F.huber_loss(1, 2)\n",
        # The list of kernels has linalg_cholesky; called, it leads to linalg_cholesky_ex, which has none.
        "import torch\nvalue = torch.linalg.cholesky(torch.eye(3))\n",
    ],
    "NPU416": [
        "import torch\nimport torch.distributed as dist\ntorch.use_deterministic_algorithms(True)\n",
    ],
    "NPU417": [
        "from torchvision.ops import nms\n",
        "import torchvision\nkeep = torchvision.ops.batched_nms(1, 2, 3, 0.5)\n",
    ],
    "NPU418": ["from mmcv.ops import nms, RoIAlign\n"],
    "NPU420": ["import torch\nx = torch._foreach_lgamma([torch.ones(3)])\n"],
    "NPU421": [
        "import torch\ns = torch.sparse_coo_tensor(i, v, (3, 3))\n",
        "import torch\nx = torch.ones(3, 3)\ny = torch.sparse.mm(x.to_sparse(), x)\n",
        "import torch\nfrom torch import nn\ne = nn.Embedding(10, 3, sparse=True)\n",
    ],
    "NPU422": [
        "import torch\nx = torch.fft.rfft(torch.ones(8))\ny = torch.fft.irfft(x)\n",
        "import torch\nx = torch.stft(w, 512)\n",
    ],
    "NPU423": [
        "import torch\nx = torch.ones(1).cuda()\nx.expand(3).add_(1)\n",
        (
            "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n"
            "        x.transpose(1, 2).mul_(2)\n        return x.cuda()\n"
        ),
    ],
    "NPU424": [
        "import torch\ntorch.use_deterministic_algorithms(True)\ntorch.use_deterministic_algorithms(False)\n",
    ],
    "NPU425": ["import torch\ntorch.set_float32_matmul_precision('high')\n"],
}

SILENT = {
    "NPU410": [
        # Double precision on the CPU, or in numpy, is no trouble.
        "import torch\nt = torch.tensor([1.0], dtype=torch.float64)\n",
        'import torch\nt = torch.zeros(3, dtype=torch.float64, device="cpu")\n',
        "import numpy as np\ndef f(x, device):\n    return np.zeros(3, dtype=np.float64)\n",
        "import torch\ndef f(x):\n    return x.to(torch.float64)\n",
        "import torch\ndef f(x):\n    return x.cpu().double()\n",
        "import torch\ntorch.set_default_dtype(torch.float32)\n",
        "import torch\ndef f(x, device):\n    return x.to(device).float()\n",
        "import torch\ndef f(x, device):\n    return x.to(device), torch.zeros(3, dtype=float)\n",
        "import torch\ndef f(device):\n    return torch.zeros(3, dtype=float32, device=device)\n",
        "import torch\nnet = torch.nn.Linear(2, 2)\nnet.double()\nother = torch.nn.Linear(2, 2).cuda()\n",
        "import torch\nnet = torch.nn.Linear(2, 2)\nnet.double()\nnet.to('cpu')\n",
        "import torch\nnet = torch.nn.Linear(2, 2).double()\nnet.to('cpu')\n",
        "import torch\nnet = torch.nn.Linear(2, 2).to('cpu').double()\n",
    ],
    "NPU411": ["import cmath\nz = cmath.polar(1j)\n", "import torch\ndef polar(x):\n    return x\ny = polar(1)\n"],
    "NPU412": [
        # Before the loop, or in another one.
        (
            "import torch\ndef train(m, x):\n    i = torch.nonzero(x)\n    for y in x:\n        torch.nonzero\n"
            "    for y in i:\n        m(y).backward()\n"
        ),
        # In preparing data, and with a count that is the same for all, the host has nothing to wait for.
        "import torch\ndef prepare(x):\n    return torch.nonzero(x)\n",
        (
            "import torch\ndef prepare(x):\n    return torch.nonzero(x)\ndata = prepare(1)\n"
            "def train(m, x):\n    m(x).backward()\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
            "        return x.repeat_interleave(2, dim=0)\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, n_rep):\n"
            "        return torch.repeat_interleave(x, dim=2, repeats=n_rep)\n"
        ),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, lens, total):\n"
            "        return x.repeat_interleave(lens, dim=0, output_size=total)\n"
        ),
        (
            "import numpy as np\nimport torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
            "        return np.nonzero(x)\n"
        ),
        "import torch\nclass M(torch.nn.Module):\n    def forward(self, x, frame):\n        return frame.where(x)\n",
        IN_FORWARD + "        return torch.where(mask, x, 0)\n",
        IN_FORWARD + "        return torch.where(\n            mask,\n            x,\n            lens,\n        )\n",
        "import numpy as np\n" + IN_FORWARD + "        return np.where(mask)\n",
        IN_FORWARD + "        return torch.where(*pair)\n",
        IN_FORWARD + "        return torch.repeat_interleave(x, x.size(0), dim=0)\n",
        IN_FORWARD + "        return x.repeat_interleave(self.heads // self.groups, dim=1)\n",
        IN_FORWARD + "        return x.repeat_interleave(math.ceil(n), 1)\n",
        IN_FORWARD + "        return x.repeat_interleave(len(lens), 0)\n",
        IN_FORWARD + "        return x.repeat_interleave(x.shape[1] - 1, 0)\n",
        "import torch\ndef prepare(mask):\n    return torch.where(mask)\n",
    ],
    "NPU413": [
        (
            "import torch\ndef pick(x, m):\n    return x[m].mean()\nclass M(torch.nn.Module):\n"
            "    def forward(self, x, y):\n        return pick(x, y - 1)\nM().cuda()\n"
        ),
        "import torch\nclass M(nn.Module):\n    def forward(self, x, mask):\n        return x[mask]\nM().cuda()\n",
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y):\n        x = torch.relu(y)\n"
            "        mask = x > 0\n        x[mask] = 0\n        return x\nM().cuda()\n"
        ),
        "import torch\ndef f():\n    x = torch.ones(3)\n    mask = x > 0\n    return x[mask].cuda()\n",
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, y):\n        x = torch.relu(y)\n"
            "        x[x > 0] = 1\n        names = [1, 2][len(y) > 0]\n        return x, names, self.table[self.count > 0]\n"
            "M().cuda()\n"
        ),
    ],
    "NPU414": [
        # Composed of operators that have kernels, or with a kernel of their own.
        "import torch\nx = torch.linalg.norm(torch.ones(3))\n",
        "import torch\nx = torch.linalg.vector_norm(torch.ones(3))\n",
        "import torch\nx = torch.linalg.qr(torch.eye(3))\n",
        "import torch\nx = torch.linalg.multi_dot([torch.eye(3), torch.eye(3)])\n",
        "import torch\nx = torch.fft.rfft(torch.ones(8))\n",
        "import torch\nx = torch.inverse(torch.eye(3))\n",
        "import torch\nloss = torch.nn.SmoothL1Loss()\n",
        "import torch\nimport tensorflow as tf\nloss = tf.keras.losses.Huber()\n",
        "import numpy as np\ncounts = np.histogram([1.0], 3)\n",
        # Others have methods of these names, or a function that is called so.
        "import torch\ndef f(m, table):\n    return m.det(), m.inverse(), table.mode()\n",
        "import torch\nfrom scipy import special\ny = special.i0(2.0)\n",
        "def f(x):\n    return x.i0()\n",
        "import torch\nx = torch.isin(torch.ones(3), 1)\n",
        "import torch\nx = torch.distributions.Categorical(torch.ones(3))\n",
        "import torch\nx = torch.distributions.Normal(0.0, 1.0)\n",
        "import numpy as np\nx = np.linalg.eigh(np.eye(3))\n",
        "import torch\nimport scipy.special\nx = scipy.special.digamma(3)\n",
        "import torch\ndef f(kernel):\n    return kernel.logdet()\n",
    ],
    "NPU420": [
        "import torch\nx = torch._foreach_add([torch.ones(3)], 1)\n",
        "import torch\ndef f(library):\n    return library._foreach_lgamma([torch.ones(3)])\n",
    ],
    "NPU421": [
        "import torch\nfrom torch import nn\ne = nn.Embedding(10, 3)\n",
        "import torch\nfrom torch import nn\ne = nn.Embedding(10, 3, sparse=False)\n",
        "from scipy import sparse\nm = sparse.coo_matrix((3, 3))\n",
        "import pandas\nencoder = Encoder(sparse=True)\n",
    ],
    "NPU422": [
        "import torch\nf = torch.fft.fftfreq(8)\n",
        "import numpy as np\nx = np.fft.rfft(np.ones(8))\n",
    ],
    "NPU423": [
        "import torch\nx = torch.ones(1).cuda()\nx.expand(3).clone().add_(1)\n",
        "import torch\nx = torch.ones(1).cuda()\ny = x.expand(3).add(1)\n",
        "import torch\nx = torch.ones(1, 2).cuda()\nx.transpose(0, 1).add_(1)\n",
    ],
    "NPU424": [
        "import torch\ntorch.use_deterministic_algorithms(True)\n",
        "import torch\ntorch.use_deterministic_algorithms(args.deterministic)\n",
    ],
    "NPU425": [
        "import torch\ntorch.set_float32_matmul_precision('highest')\n",
    ],
    "NPU416": [
        "import torch\ntorch.use_deterministic_algorithms(True)\n",
        "import torch\nimport torch.distributed as dist\ntorch.use_deterministic_algorithms(False)\n",
        (
            'import os\nimport torch\nimport torch.distributed as dist\nos.environ["HCCL_DETERMINISTIC"] = "true"\n'
            "torch.use_deterministic_algorithms(True)\n"
        ),
    ],
    "NPU417": [
        "from torchvision.ops import box_iou\n",
        "import torchvision_npu\nfrom torchvision.ops import nms\n",
        "from .ops import nms\n",
    ],
    "NPU418": ["from mmcv.cnn import ConvModule\n", "from .mmcv.ops import nms\n"],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in FIRES.items() for text in texts])
def test_fires(code: str, text: str) -> None:
    assert codes(text).count(code) == 1
    assert all(f.severity is not Severity.ERROR and not f.edits for f in findings(text) if f.code == code)


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in SILENT.items() for text in texts])
def test_is_silent(code: str, text: str) -> None:
    assert code not in codes(text)


def test_every_release_answers_for_itself() -> None:
    """Some releases list a kernel for Cholesky; what the call did when it was tried counts for more than the list."""
    text = "import torch\nx = torch.linalg.cholesky(torch.eye(3))\n"
    answers = set()
    for release in knowledge.releases():
        if release.has_table:
            table = knowledge.load(release.torch_npu)
            tried = table.on_cpu("torch.linalg.cholesky")
            expected = bool(tried) if tried is not None else "linalg_cholesky" not in table.operators
            found = [finding for finding in findings(text, release=release.torch_npu) if finding.code == "NPU414"]
            assert len(found) == expected
            assert all((f.evidence is Evidence.LIVE) == (tried is not None) for f in found)
            answers.add((expected, tried is not None))
    assert answers == {(True, True), (True, False), (False, False)}


@pytest.mark.parametrize("name", sorted(_BEHIND))
def test_operators_behind_a_function_are_torchs(name: str) -> None:
    """Asked of torch itself, where it is installed: the function is there, and so are the operators behind it."""
    torch = pytest.importorskip("torch")
    found = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    for operator in _BEHIND[name]:
        assert hasattr(torch.ops.aten, operator)
    last = _BEHIND[name][-1]
    composed = [
        torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd")
        for overload in (getattr(getattr(torch.ops.aten, last), o) for o in getattr(torch.ops.aten, last).overloads())
        if torch._C._dispatch_has_kernel(overload.name())
    ]
    assert composed
    assert not all(composed), "torch composes it of other operators, so a missing kernel says nothing"


def test_silent_on_one_more_import_of_mmcv() -> None:
    assert codes("from mmcv.ops import nms\nfrom mmcv.ops import RoIAlign\n") == ["NPU418"]


def test_foreach_and_sparse_follow_the_release() -> None:
    maximum = "import torch\nx = torch._foreach_tanh([torch.ones(3)])\n"
    for release in knowledge.releases():
        if release.has_table:
            table = knowledge.load(release.torch_npu)
            assert ("NPU420" in codes(maximum, release=release.torch_npu)) is ("_foreach_tanh" not in table.operators)
    sparse = "import torch\ns = torch.sparse_coo_tensor(i, v, (3, 3))\n"
    levels = {next(f.severity for f in findings(sparse, release=version) if f.code == "NPU421") for version in OLD_NEW}
    assert levels == {Severity.WARNING, Severity.INFO}


OLD_NEW = ("2.1.0.post17", RELEASE)


def test_a_fourier_transform_is_a_warning_on_a_chip_without() -> None:
    text = "import torch\nx = torch.fft.fft(torch.ones(8))\n"
    severity = {soc: next(f.severity for f in findings(text, soc=soc) if f.code == "NPU422") for soc in ("A2", "910")}
    assert severity == {"A2": Severity.INFO, "910": Severity.WARNING}


@pytest.mark.parametrize(
    ("rest", "soc", "said"),
    [
        ("batch_size=4, shuffle=True", "910", True),
        ("4, True", "310P", True),
        ("batch_size=4, shuffle=True", "A2", False),
        ("batch_size=4, shuffle=True", "", False),
        ("batch_size=4, shuffle=True, drop_last=True", "910", False),
        ("batch_size=4", "910", False),
        ("batch_size=4, shuffle=True, **options", "910", False),
    ],
)
def test_a_last_batch_of_another_size_matters_on_older_chips(rest: str, soc: str, said: bool) -> None:
    head = "import torch\nfrom torch.utils.data import DataLoader\nx = torch.ones(1).cuda()\n"
    text = f"{head}loader = DataLoader(data, {rest})\n"
    assert ("NPU426" in codes(text, soc=soc)) is said
    assert "NPU426" not in codes(f"{text}torch.npu.set_compile_mode(jit_compile=False)\n", soc=soc)


def test_a_forward_that_holds_no_word_still_makes_a_model() -> None:
    text = (
        "import torch\n\n\nclass Head(torch.nn.Module):\n    def forward(self, x):\n        return self.pick(x)\n\n"
        "    def pick(self, x):\n        return torch.nonzero(x)\n"
    )
    for whole in (True, False):
        found, errors, _, _ = worker().analyse("head.py", text.encode(), whole=whole)
        assert not errors
        assert [finding.code for finding in found if finding.code == "NPU412"] == ["NPU412"]


HELPERS = """import torch


def pick(mask):
    return mask.nonzero()


def {name}(x):
    return torch.unique(x)


class Sampler:
    def choose(self, t):
        return torch.nonzero(t > 0.5).squeeze(1)

    @staticmethod
    def only(t, m):
        return torch.masked_select(t, m)
"""
TRAIN = """import torch
import helpers as hp
from helpers import Sampler


def prepare(x):
    return hp.{name}(x)


def train(model, x, sampler):
    kept = hp.pick(x > 0), sampler.choose(x), Sampler.only(x, x > 0)
    model(kept).backward()
"""


def _lines(root: Path, code: str) -> list[int]:
    text = (root / "helpers.py").read_text()
    return [found.start.line for found in findings(text, root=root, name="helpers.py") if found.code == code]


def test_helpers_that_a_step_of_another_file_calls(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS.format(name="before"))
    (tmp_path / "train.py").write_text(TRAIN.format(name="before"))
    assert _lines(tmp_path, "NPU412") == [5, 14, 18]


def test_helpers_that_no_step_calls(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS.format(name="before"))
    (tmp_path / "train.py").write_text(TRAIN.format(name="before").replace(".backward()", ""))
    (tmp_path / "other.py").write_text("def pick(x):\n    return x\ndef f(m, x):\n    m(pick(x)).backward()\n")
    assert _lines(tmp_path, "NPU412") == []
