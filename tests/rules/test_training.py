"""Training practice and many cards: each rule fires on its case, and is silent on right code."""

from __future__ import annotations

import pytest

from npuify import knowledge
from npuify.model import Severity

from .harness import codes, findings

HEAD = "import os\nimport time\nimport torch\nimport torch.distributed as dist\nfrom torch import nn\n"
LOADER = "from torch.utils.data import DataLoader, DistributedSampler\n"

FIRES = {
    "NPU310": ["model = nn.DataParallel(model)\n", "from torch.nn import DataParallel\nm = DataParallel(model)\n"],
    "NPU311": [
        "def setup(rank):\n    dist.init_process_group('gloo')\n    torch.cuda.set_device(rank)\n",
    ],
    "NPU312": [
        "rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
        "rank = int(os.environ['RANK'])\nm = nn.parallel.DistributedDataParallel(m, device_ids=[rank])\n",
        "torch.cuda.set_device(int(os.environ['RANK']))\n",
    ],
    "NPU313": ["import argparse\np = argparse.ArgumentParser()\np.add_argument('--local_rank', type=int)\n"],
    "NPU314": ["import horovod.torch as hvd\n", "from horovod import torch as hvd\n"],
    "NPU801": [
        "def f(model, x):\n    t = time.time()\n    y = model(x.cuda())\n    took = time.time() - t\n    return took\n",
        (
            "def f(self, loss):\n    self.t = time.perf_counter()\n    loss.cuda().backward()\n"
            "    return time.perf_counter() - self.t\n"
        ),
    ],
    "NPU802": [
        "loader = DataLoader(data, pin_memory=True)\n",
        "loader = DataLoader(data, num_workers=0, pin_memory=True)\n",
    ],
    "NPU803": [
        (
            "def collate(batch):\n    return torch.stack(batch).cuda()\n"
            "loader = DataLoader(data, num_workers=4, collate_fn=collate)\n"
        ),
        "loader = DataLoader(data, num_workers=4, collate_fn=lambda b: torch.stack(b).to(device))  # cuda\n",
    ],
    "NPU804": [
        (
            "def step(scaler, loss, model, optimizer):\n    scaler.scale(loss).backward()\n"
            "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n"
        ),
        (
            "def step(scaler, loss, model, optimizer, clip):\n    scaler.scale(loss).backward()\n    if clip:\n"
            "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n    scaler.step(optimizer)\n"
        ),
    ],
    "NPU805": [
        "for epoch in range(3):\n    scheduler.step()\n    for x in loader:\n        optimizer.step()\n",
        "for x in loader:\n    lr_scheduler.step()\n    loss.backward()\n    optimizer.step()\n",
    ],
    "NPU806": [
        "sampler = DistributedSampler(train_set)\nfor epoch in range(3):\n    pass\n",
        "sampler = DistributedSampler(train_set, shuffle=True)\nfor epoch in range(3):\n    pass\n",
    ],
    "NPU807": ["state = torch.load('x.pt')\n", "state = torch.load('x.pt', weights_only=True)\n"],
    "NPU808": [
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP\n"
            "def main(model):\n    model = DDP(model)\n    torch.save(model.state_dict(), 'x.pt')\n"
        ),
    ],
    "NPU809": [
        (
            "def main(model):\n    model.train()\n    for epoch in range(3):\n        loss.backward()\n"
            "        model.eval()\n        check(model)\n"
        ),
    ],
}

SILENT = {
    "NPU310": ["m = nn.parallel.DistributedDataParallel(m)\n", "ok = isinstance(model, nn.DataParallel)\n"],
    "NPU311": [
        "def setup(rank):\n    torch.cuda.set_device(rank)\n    dist.init_process_group('gloo')\n",
        "def setup(rank):\n    dist.init_process_group('gloo')\n",
        "def setup():\n    dist.init_process_group('gloo')\n    torch.cuda.set_device(dist.get_rank() % 8)\n",
        (
            "def setup():\n    dist.init_process_group('gloo')\n    rank = dist.get_rank() % 8\n"
            "    torch.cuda.set_device(rank)\n"
        ),
        "def setup(d):\n    dist.init_process_group('gloo', device_id=d)\n    torch.cuda.set_device(d)\n",
    ],
    "NPU312": [
        "rank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(rank)\n",
        "rank = dist.get_rank() % torch.cuda.device_count()\ntorch.cuda.set_device(rank)\n",
        "def worker(rank):\n    torch.cuda.set_device(rank)\n",
        "rank = dist.get_rank()\nif node:\n    rank = int(os.environ['LOCAL_RANK'])\ntorch.cuda.set_device(rank)\n",
    ],
    "NPU313": [
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--local_rank', '--local-rank', type=int)\n",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--local-rank', type=int)\n",
        "import argparse\nimport deepspeed\np = argparse.ArgumentParser()\np.add_argument('--local_rank', type=int)\n",
    ],
    "NPU314": ["import horovod_like\n", "text = 'horovod'\n"],
    "NPU801": [
        (
            "def f(model, x):\n    t = time.time()\n    y = model(x.cuda())\n    torch.cuda.synchronize()\n"
            "    return time.time() - t\n"
        ),
        "def f(model, x):\n    t = time.time()\n    y = model(x.cuda()).item()\n    return time.time() - t\n",
        "def f(path):\n    t = time.time()\n    x = open(path).read()\n    return time.time() - t\n",
    ],
    "NPU802": [
        "loader = DataLoader(data, num_workers=4, pin_memory=True)\n",
        "loader = DataLoader(data, num_workers=args.workers, pin_memory=True)\n",
        "loader = DataLoader(data)\n",
        "loader = DataLoader(data, pin_memory=True, **options)\n",
    ],
    "NPU803": [
        (
            "def collate(batch):\n    return torch.stack(batch)\n"
            "loader = DataLoader(data, num_workers=4, collate_fn=collate)\n"
        ),
        "def collate(batch):\n    return torch.stack(batch).cuda()\nloader = DataLoader(data, collate_fn=collate)\n",
        (
            "def collate(batch):\n    return torch.stack(batch).to(torch.float32)\n"
            "loader = DataLoader(data, num_workers=4, collate_fn=collate)\n"
        ),
    ],
    "NPU804": [
        (
            "def step(scaler, loss, model, optimizer):\n    scaler.scale(loss).backward()\n"
            "    scaler.unscale_(optimizer)\n"
            "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n"
        ),
        (
            "def step(loss, model, optimizer):\n    loss.backward()\n"
            "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n"
        ),
        (
            "def step(scaler, loss, model, optimizer, amp):\n    if amp:\n        scaler.scale(loss).backward()\n"
            "        scaler.step(optimizer)\n    else:\n        loss.backward()\n"
            "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()\n"
        ),
    ],
    "NPU805": [
        "for x in loader:\n    optimizer.step()\n    scheduler.step()\n",
        "for epoch in range(3):\n    for x in loader:\n        optimizer.step()\n    scheduler.step()\n",
        "for t in noise_scheduler.timesteps:\n    x = noise_scheduler.step(y, t, x)\n    optimizer.step()\n",
        "for epoch in range(3):\n    train_one_epoch(model)\n    scheduler.step()\n    swa_optimizer.step()\n",
    ],
    "NPU806": [
        "sampler = DistributedSampler(train_set)\nfor epoch in range(3):\n    sampler.set_epoch(epoch)\n",
        "sampler = DistributedSampler(train_set, shuffle=False)\nfor epoch in range(3):\n    pass\n",
        "val_sampler = DistributedSampler(data)\nfor epoch in range(3):\n    pass\n",
        "sampler = DistributedSampler(train_set)\n",
    ],
    "NPU807": [
        "state = torch.load('x.pt', map_location='cpu')\n",
        "state = torch.load('x.pt', 'cpu')\n",
        "state = torch.load('x.pt', **options)\n",
        "import json\nstate = json.load(open('x'))\n",
    ],
    "NPU808": [
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP\ndef main(model, rank):\n"
            "    model = DDP(model)\n"
            "    if rank == 0:\n        torch.save(model.state_dict(), 'x.pt')\n"
        ),
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP\ndef main(model, rank):\n"
            "    model = DDP(model)\n"
            "    torch.save(model.state_dict(), f'x{rank}.pt')\n"
        ),
        "def main(model):\n    torch.save(model.state_dict(), 'x.pt')\n",
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP\ndef main(model, rank):\n"
            "    model = DDP(model)\n"
            "    if rank != 0:\n        return\n    torch.save(model.state_dict(), 'x.pt')\n"
        ),
    ],
    "NPU809": [
        (
            "def main(model):\n    for epoch in range(3):\n        model.train()\n        loss.backward()\n"
            "        model.eval()\n"
        ),
        (
            "def main(model):\n    model.train()\n    for epoch in range(3):\n        loss.backward()\n"
            "        model.eval()\n"
            "        check(model)\n        model.train()\n"
        ),
        (
            "def main(model):\n    model.train()\n    for epoch in range(3):\n        train_epoch(model)\n"
            "        model.eval()\n"
        ),
        (
            "def main(model, teacher):\n    model.train()\n    for epoch in range(3):\n        teacher.eval()\n"
            "        loss.backward()\n"
        ),
    ],
}


def _text(code: str, text: str) -> str:
    return HEAD + (LOADER if code in ("NPU802", "NPU803", "NPU806") else "") + text


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in FIRES.items() for text in texts])
def test_fires(code: str, text: str) -> None:
    found = [finding for finding in findings(_text(code, text)) if finding.code == code]
    assert len(found) == 1
    assert found[0].severity is not Severity.ERROR
    assert found[0].advice


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in SILENT.items() for text in texts])
def test_is_silent(code: str, text: str) -> None:
    assert code not in codes(_text(code, text))


def test_data_parallel_says_what_the_release_does() -> None:
    text = HEAD + "model = nn.DataParallel(model)\n"
    for release in knowledge.releases():
        if release.has_table:
            patched = "torch.nn.parallel.DataParallel.parallel_apply" in knowledge.load(release.torch_npu).patched
            message = next(f.message for f in findings(text, release=release.torch_npu) if f.code == "NPU310")
            assert ("patches DataParallel" in message) is patched
