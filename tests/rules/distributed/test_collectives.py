"""Collectives, many cards and the frameworks around torch: each rule fires on its case, and is silent on right code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Severity

from ...harness import codes, findings, output

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import os\nimport torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n"
RPC = HEAD + "import torch.distributed.rpc as rpc\n"
LIGHTNING = "import torch\nimport lightning.pytorch as pl\n"
OLD_LIGHTNING = "import torch\nfrom pytorch_lightning import Trainer\n"
RAY = "import ray\nimport torch\nfrom ray.train import ScalingConfig\n"
HF = "import torch\nfrom transformers import AutoModel, TrainingArguments\n"
DIFFUSERS = "import torch\nfrom diffusers import DiffusionPipeline\nx = torch.zeros(1).cuda()\n"

FIRES = [
    ("NPU312", HEAD + "rank = dist.get_rank()\nmodel.to(rank)\n"),
    ("NPU312", HEAD + "rank = int(os.environ['RANK'])\nd = torch.device('cuda', rank)\n"),
    ("NPU312", HEAD + "rank = dist.get_rank()\nd = torch.device(f'cuda:{rank}')\n"),
    ("NPU312", HEAD + "rank = dist.get_rank()\nx = x.cuda(rank)\n"),
    (
        "NPU312",
        HEAD + "class T:\n    def __init__(self):\n        self.rank = dist.get_rank()\n"
        "        self.device = torch.device('cuda', self.rank)\n",
    ),
    (
        "NPU312",
        HEAD + "args.rank = int(os.environ['RANK'])\ntorch.cuda.set_device(args.rank)\nf(args.rank, args.rank == 0)\n",
    ),
    ("NPU319", "import torch.nn as nn\nclass Mine(nn.DataParallel):\n    pass\n"),
    ("NPU319", "from torch.nn import DataParallel\nclass Mine(DataParallel):\n    pass\n"),
    ("NPU319", "from torch.nn import DataParallel as DP\nclass Mine(DP, object):\n    pass\n"),
    ("NPU319", "import torch\nclass Mine(torch.nn.parallel.DataParallel):\n    pass\n"),
    (
        "NPU319",
        "from torch.nn.parallel import replicate, gather, parallel_apply as go\ncopies = replicate(m, d)\ngo(copies)\n",
    ),
    ("NPU319", "import torch.nn as nn\ny = nn.parallel.data_parallel(m, x)\n"),
    ("NPU315", HEAD + "dist.all_reduce(x, op=dist.ReduceOp.BAND)\n"),
    ("NPU315", HEAD + "from torch.distributed import ReduceOp\ndist.all_reduce(x, ReduceOp.BOR)\n"),
    ("NPU316", HEAD + "dist.all_to_all_single(out, x)\n"),
    ("NPU316", HEAD + "dist.all_gather_into_tensor(out, x)\n"),
    ("NPU317", HEAD + "dist.init_process_group('nccl', timeout=timedelta(hours=2))\n"),
    ("NPU318", RPC + "o = rpc.TensorPipeRpcBackendOptions(device_maps={'w': {0: 0}})\n"),
    ("NPU318", RPC + "o.set_device_map('w', {0: 1})\n"),
    (
        "NPU318",
        RPC
        + "from torch.distributed.rpc import TensorPipeRpcBackendOptions as Options\no = Options(device_maps=maps)\n",
    ),
    ("NPU320", LIGHTNING + "t = pl.Trainer(accelerator='gpu', devices=2)\n"),
    ("NPU320", LIGHTNING + "t = pl.Trainer(accelerator='auto')\n"),
    ("NPU320", OLD_LIGHTNING + "t = Trainer(gpus=2)\n"),
    ("NPU321", RAY + "@ray.remote(num_gpus=1)\ndef f():\n    pass\n"),
    ("NPU321", RAY + "ray.init(num_gpus=count)\n"),
    ("NPU321", RAY + "worker = Worker.options(num_gpus=1).remote()\n"),
    ("NPU321", RAY + "ids = ray.get_gpu_ids()\n"),
    ("NPU321", RAY + "class Worker:\n    pass\nworker = ray.remote(Worker)\nw = Worker.options(num_gpus=1).remote()\n"),
    ("NPU321", RAY + "out = data.map_batches(Predictor, num_gpus=1, batch_size=8)\n"),
    ("NPU321", RAY + "c = ScalingConfig(num_workers=2, resources_per_worker={'GPU': 1})\n"),
    (
        "NPU321",
        RAY + "from ray.util.placement_group import placement_group\n"
        "g = placement_group([{'CPU': 1, 'GPU': 1}] * 4, strategy='PACK')\n",
    ),
    ("NPU321", RAY + "n = ray.cluster_resources().get('GPU', 0)\n"),
    ("NPU321", RAY + "n = ray.available_resources()['GPU']\n"),
    ("NPU321", RAY + "n = ray.get_runtime_context().get_accelerator_ids()['GPU']\n"),
    ("NPU321", RAY + "from ray import tune\ntune.run(f, resources_per_trial={'cpu': 2, 'gpu': 1})\n"),
    ("NPU321", RAY + "c = ScalingConfig(num_workers=2, use_gpu=True)\n"),
    ("NPU322", "import torch\nfrom megatron.core import mpu\nif __name__ == '__main__':\n    mpu.run()\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.lamb import FusedLamb\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.sparse_attention import SparseSelfAttention\n"),
    ("NPU323", "import torch\nimport deepspeed\no = deepspeed.ops.lamb.FusedLamb(p)\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.op_builder import FusedLambBuilder\n"),
    ("NPU325", "from mmcv.parallel import MMDataParallel, collate\n"),
    ("NPU325", "from mmcv.parallel.distributed import MMDistributedDataParallel\n"),
    ("NPU325", "import mmcv\nm = mmcv.parallel.MMDataParallel(m, device_ids=[0])\n"),
    ("NPU324", HF + "a = TrainingArguments('o', tf32=True)\n"),
    ("NPU324", HF + "a = TrainingArguments('o', optim='paged_adamw_32bit')\n"),
    ("NPU324", HF + "m = AutoModel.from_pretrained('x', load_in_4bit=True)\n"),
    ("NPU324", HF + "m = AutoModel.from_pretrained('x', attn_implementation='flash_attention_2')\n"),
    ("NPU324", DIFFUSERS + "pipe.enable_xformers_memory_efficient_attention()\n"),
    ("NPU324", "import torch\nfrom accelerate import Accelerator\na = Accelerator(mixed_precision='fp8')\n"),
    ("NPU324", HF + "m = AutoModel.from_pretrained('THUDM/chatglm-6b').quantize(8)\n"),
]
SILENT = [
    (
        "NPU319",
        "import torch.nn as nn\nclass DataParallel(nn.Module):\n    pass\nclass Mine(DataParallel):\n    pass\n",
    ),
    ("NPU319", "import torch.nn as nn\nclass Mine(nn.parallel.DistributedDataParallel):\n    pass\n"),
    ("NPU319", "from torch.nn.parallel import replicate, DistributedDataParallel\n"),
    ("NPU319", "import torch\nfrom mine import DataParallel\nclass Mine(DataParallel):\n    pass\n"),
    ("NPU319", "import torch.nn as nn\nprint(isinstance(m, (nn.DataParallel, nn.Module)))\n"),
    ("NPU319", "from torch.nn import Module\nfrom mine.nn.parallel import replicate\nreplicate(m, d)\n"),
    ("NPU312", HEAD + "rank = int(os.environ['LOCAL_RANK'])\nmodel.to(rank)\n"),
    ("NPU312", HEAD + "def worker(rank):\n    model.cuda(rank)\n"),
    ("NPU312", HEAD + "def f(self, rank):\n    self.rank = rank\n    torch.cuda.set_device(self.rank)\n"),
    ("NPU312", HEAD + "args.rank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(args.rank)\n"),
    (
        "NPU312",
        HEAD
        + "args.rank = dist.get_rank()\nif one:\n    args.rank = args.local_rank\ntorch.cuda.set_device(args.rank)\n",
    ),
    ("NPU312", HEAD + "args.rank = dist.get_rank()\ntorch.cuda.set_device(args.rank % torch.cuda.device_count())\n"),
    ("NPU312", HEAD + "torch.cuda.set_device(self.rank)\n"),
    (
        "NPU312",
        HEAD
        + "args.rank = dist.get_rank()\ntorch.cuda.set_device(args.rank)\n\n\ndef other(args):\n    args.rank, n = info()\n",
    ),
    ("NPU312", HEAD + "rank = dist.get_rank()\nx.to(dtype)\n"),
    ("NPU312", HEAD + "rank = dist.get_rank() % 8\nd = torch.device(f'cuda:{rank}')\n"),
    ("NPU315", HEAD + "dist.all_reduce(x, op=dist.ReduceOp.SUM)\n"),
    ("NPU315", HEAD + "dist.all_reduce(x, op=dist.ReduceOp.AVG)\n"),
    ("NPU315", HEAD + "if op == dist.ReduceOp.BAND:\n    pass\n"),
    ("NPU315", HEAD + "t = {'and': dist.ReduceOp.BAND}\n"),
    ("NPU315", "from other import ReduceOp\nx = ReduceOp.BAND\n"),
    ("NPU316", HEAD + "dist.all_reduce(x)\n"),
    ("NPU316", HEAD + "comm.all_to_all_single(out, x)\n"),
    ("NPU317", HEAD + "dist.init_process_group('nccl')\n"),
    ("NPU317", HEAD + "g = dist.new_group(backend='gloo', timeout=timedelta(days=9))\n"),
    ("NPU315", HEAD + "if op == ReduceOp.BOR:\n    op = dist.ReduceOp.BOR\n"),
    ("NPU318", RPC + "o = rpc.TensorPipeRpcBackendOptions(num_worker_threads=8)\n"),
    ("NPU318", HEAD + "os.set_devices([1])\n"),
    ("NPU320", LIGHTNING + "t = pl.Trainer(accelerator='cpu')\n"),
    ("NPU320", LIGHTNING + "t = pl.Trainer(accelerator=NPUAccelerator())\n"),
    ("NPU320", LIGHTNING + "t = Other(accelerator='gpu')\n"),
    ("NPU321", RAY + "@ray.remote(num_cpus=1)\ndef f():\n    pass\n"),
    ("NPU321", RAY + "@ray.remote(num_gpus=0)\ndef f():\n    pass\n"),
    ("NPU321", RAY + "c = ScalingConfig(num_workers=2, use_gpu=False)\n"),
    ("NPU321", "import torch\nserver = Server(num_gpus=2)\n"),
    ("NPU321", RAY + "kinds = {'GPU': 1}\nname = table['GPU']\nprint('GPU', other.get('GPU'))\n"),
    ("NPU321", RAY + "ray.init(resources={'NPU': 8})\n"),
    ("NPU321", "import torch\nc = ScalingConfig(resources_per_worker={'GPU': 1})\n"),
    ("NPU322", "import torch\nfrom megatron.core import mpu\n"),
    (
        "NPU322",
        "import mindspeed.megatron_adaptor\nfrom megatron.core import mpu\nif __name__ == '__main__':\n    f()\n",
    ),
    ("NPU323", "import torch\nfrom deepspeed.ops.adam import FusedAdam\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.lion import DeepSpeedCPULion\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.transformer import DeepSpeedTransformerConfig\n"),
    ("NPU323", "import torch\nfrom deepspeed.ops.op_builder import FusedAdamBuilder, AsyncIOBuilder\n"),
    ("NPU323", "import torch\nimport deepspeed\no = deepspeed.ops.adam.FusedAdam(p)\n"),
    ("NPU325", "from mmcv.parallel import collate, scatter\n"),
    ("NPU325", "from .parallel import MMDataParallel\n"),
    ("NPU325", "from mmcv.parallel import MMDataParallel\nfrom mmcv.device.npu import NPUDataParallel\n"),
    ("NPU324", HF + "a = TrainingArguments('o', tf32=False)\n"),
    ("NPU324", HF + "a = TrainingArguments('o', optim='adamw_torch')\n"),
    ("NPU324", "import torch\nfrom accelerate import Accelerator\na = Accelerator(mixed_precision='bf16')\n"),
    ("NPU324", HF + "m = AutoModel.from_pretrained('THUDM/glm').quantize(8)\n"),
    ("NPU324", HF + "m = AutoModel.from_pretrained('x', attn_implementation='sdpa')\n"),
    ("NPU324", "import torch\na = Settings(tf32=True)\n"),
]


@pytest.mark.parametrize(("code", "text"), FIRES)
def test_fires(code: str, text: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(("code", "text"), SILENT)
def test_silent(code: str, text: str) -> None:
    assert code not in codes(text)


def test_averages_are_refused_by_the_releases_for_one_pytorch_only() -> None:
    text = HEAD + "dist.all_reduce(x, op=dist.ReduceOp.AVG)\n"
    refused = [
        release
        for release in ("2.1.0.post17", "2.2.0.post2", "2.3.1.post6")
        if "NPU315" in codes(text, release=release)
    ]
    assert refused == ["2.2.0.post2"]


def test_a_collective_is_named_once_a_file() -> None:
    text = HEAD + "dist.all_to_all_single(a, b)\ndist.all_to_all_single(c, d)\ndist.reduce_scatter_tensor(a, b)\n"
    assert codes(text).count("NPU316") == 2


def test_taking_the_cpu_in_silence_is_a_warning_and_a_missing_gpu_an_error() -> None:
    def severity(value: str) -> Severity:
        found = findings(f"{LIGHTNING}t = pl.Trainer(accelerator='{value}')\n")
        return next(item.severity for item in found if item.code == "NPU320")

    assert severity("auto") is Severity.WARNING
    assert severity("gpu") is Severity.ERROR


def test_ray_keeps_what_resources_there_are() -> None:
    text = RAY + "@ray.remote(num_gpus=1, resources={'x': 1})\ndef f():\n    pass\n"
    assert output(text, unsafe=True) == text


def test_ray_takes_any_number() -> None:
    assert 'ray.init(resources={"NPU": len(cards)})' in output(RAY + "ray.init(num_gpus=len(cards))\n", unsafe=True)


def test_xformers_that_is_asked_for_first_is_no_error() -> None:
    text = DIFFUSERS + "if is_xformers_available():\n    pipe.enable_xformers_memory_efficient_attention()\n"
    assert [item.severity for item in findings(text) if item.code == "NPU324"] == [Severity.INFO]


@pytest.mark.parametrize(
    ("package", "text"),
    [
        ("lightning", LIGHTNING + "t = pl.Trainer(accelerator='gpu')\n"),
        ("ray", RAY + "ray.init(num_gpus=1)\n"),
        ("megatron", "import torch\nfrom megatron.core import mpu\nif __name__ == '__main__':\n    mpu.run()\n"),
        ("deepspeed", "import torch\nfrom deepspeed.ops.lamb import FusedLamb\n"),
        ("transformers", HF + "a = TrainingArguments('o', tf32=True)\n"),
    ],
)
def test_a_framework_is_not_told_how_to_use_itself(package: str, text: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    assert not {"NPU320", "NPU321", "NPU322", "NPU323", "NPU324"}.intersection(codes(text, root=tmp_path))


LOADED = """import argparse
from transformers import AutoModelForCausalLM
p = argparse.ArgumentParser()
p.add_argument("--load_in_8bit", action="store_true")
p.add_argument("--four", type=bool, default=True)
a = p.parse_args()
m = AutoModelForCausalLM.from_pretrained("x", load_in_8bit=a.load_in_8bit)
n = AutoModelForCausalLM.from_pretrained("x", load_in_4bit=a.four)
o = AutoModelForCausalLM.from_pretrained("x", load_in_4bit=unknown())
def load(eight=False):
    return AutoModelForCausalLM.from_pretrained("x", load_in_8bit=eight)
"""


def test_an_argument_that_an_option_gives_is_told_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LOADED)
    told = [one for one in findings(LOADED, root=tmp_path) if one.code == "NPU324"]
    assert [(one.start.line, one.severity.value, one.only_with) for one in told] == [
        (7, "warning", "--load_in_8bit"),
        (8, "error", ""),
        (9, "warning", ""),
        (11, "info", ""),
    ]
