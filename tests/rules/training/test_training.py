"""Training practice and many cards: each rule fires on its case, and is silent on right code."""

from __future__ import annotations

import pytest

from npuify import knowledge
from npuify.model import Severity

from ...harness import codes, findings

HEAD = "import os\nimport time\nimport torch\nimport torch.distributed as dist\nfrom torch import nn\n"
LOADER = "from torch.utils.data import DataLoader, DistributedSampler\n"

FIRES = {
    "NPU310": ["model = nn.DataParallel(model)\n", "from torch.nn import DataParallel\nm = DataParallel(model)\n"],
    "NPU311": [
        "def setup(rank):\n    dist.init_process_group('gloo')\n    torch.cuda.set_device(rank)\n",
        (
            "def setup(rank):\n    try:\n        dist.init_process_group('gloo')\n    except RuntimeError:\n"
            "        raise SystemExit(1)\n    torch.cuda.set_device(rank)\n"
        ),
    ],
    "NPU121": [
        "torch.load('x', map_location={'cuda:0': 'cuda:1'})\n",
        "table = {'cuda:0': 'cuda:1'} if many else None\ntorch.load('x', map_location=table)  # map_location={\n",
        "def table():\n    return {'cuda:0': 'cuda:1'}\ntorch.load('x', map_location=table())  # map_location={\n",
    ],
    "NPU312": [
        "rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
        "rank = int(os.environ['RANK'])\nm = nn.parallel.DistributedDataParallel(m, device_ids=[rank])\n",
        "torch.cuda.set_device(int(os.environ['RANK']))\n",
    ],
    "NPU313": ["import argparse\np = argparse.ArgumentParser()\np.add_argument('--local_rank', type=int)\n"],
    "NPU314": ["import horovod.torch as hvd\n", "from horovod import torch as hvd\n"],
    "NPU817": [
        "def norm(model):\n    n = 0.0\n    for p in model.parameters():\n        n += p.grad.data.norm(2).item() ** 2\n    return n\n",
        "def norm(params):\n    return [p.grad.abs().max().item() for p in params]\n",
        "def norm(m):\n    return sum(float(p.grad.norm()) for p in m.parameters() if p.grad is not None)\n",
        (
            "def norm(m):\n    n = 0.0\n    for _, p in filter(None, m.named_parameters()):\n        g = p.grad.norm()\n"
            "        n += g.item()\n    return n\n"
        ),
    ],
    "NPU819": [
        "net = torch.jit.load('net.pt')\n",
        "from torch.jit import load\nnet = load('net.pt', map_location='cpu').cuda()\n",
        "def one(path):\n    return torch.jit.load(path, 'cuda'), torch.jit.load(path)\n",
    ],
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
        "f = lambda b: torch.stack(b).cuda()\nloader = DataLoader(data, num_workers=4, collate_fn=f)\n",
        (
            "class Data:\n    def collate(self, batch):\n        return torch.stack(batch).cuda()\n"
            "    def loader(self):\n        return DataLoader(self, num_workers=4, collate_fn=self.collate)\n"
        ),
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
        "for x in loader:\n    sched.step()\n    scaler.scale(loss).backward()\n    scaler.step(opt)\n",
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
        (
            "def check(loader, net):\n    net.eval()\n    net(loader.cuda())\n\n\ndef main(model):\n    model.train()\n"
            "    for epoch in range(3):\n        loss.backward()\n        check(loader, model)\n"
        ),
    ],
    "NPU810": [
        (
            "def f(model, optimizer, epoch, x):\n    x.cuda()\n    optimizer.step()\n"
            "    torch.save({'model': model.state_dict(), 'epoch': epoch}, 'x.pt')\n"
        ),
        (
            "def f(model, optimizer, scaler, epoch, x):\n    x.cuda()\n    scaler.step(optimizer)\n"
            "    scaler.update()\n    state = {'state_dict': model.state_dict(), 'optimizer': optimizer.state_dict(),\n"
            "             'epoch': epoch}\n    torch.save(state, 'x.pt')\n"
        ),
    ],
    "NPU811": [
        (
            "def f(model, optimizer, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        loss.backward()\n        optimizer.step()\n"
        ),
        (
            "def f(model, optimizer, loader):\n    for i, x in enumerate(loader):\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        loss.backward()\n        if (i + 1) % 4 == 0:\n"
            "            optimizer.step()\n"
        ),
        (
            "def f(model, optimizer, scaler, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        scaler.scale(loss).backward()\n        scaler.step(optimizer)\n        scaler.update()\n"
        ),
    ],
    "NPU812": [
        (
            "def f(model, optimizer, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
            "        total += loss.item()\n        history.append(loss.detach().cpu().numpy())\n"
        ),
        (
            "def f(model, optimizer, scaler, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        scaler.scale(loss).backward()\n        scaler.step(optimizer)\n"
            "        scaler.update()\n        print(loss.item(), x.max().item())\n"
        ),
    ],
    "NPU813": [
        "def f(model):\n    model.cuda()\n    return torch.optim.AdamW(model.parameters(), lr=1e-3)\n",
    ],
    "NPU814": ["m = nn.parallel.DistributedDataParallel(m, find_unused_parameters=True)\n"],
    "NPU815": ["torch.cuda.manual_seed_all(1)\ntorch.cuda.manual_seed(1)\n"],
    "NPU816": [
        "os.sched_setaffinity(0, {1, 2})\ntorch.zeros(1).cuda()\n",
        "import psutil\npsutil.Process().cpu_affinity([1, 2])\n",
    ],
}

SILENT = {
    "NPU817": [
        "def count(model):\n    return sum(float(p.numel()) for p in model.parameters() if p.grad is not None)\n",
        "def norm(model):\n    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()\n",
        "def norm(losses, p):\n    for loss in losses:\n        print(loss.item(), p.grad)\n",
        "def norm(args):\n    for p in args.parameters:\n        print(float(args.grad))\n",
    ],
    "NPU819": [
        "net = torch.jit.load('net.pt', map_location='cpu')\n",
        "torch.jit.save(torch.jit.script(net), 'net.pt')\nnet = torch.jit.load('net.pt')\n",
        "import joblib as jit\nnet = jit.load('net.pt')\n",
    ],
    "NPU310": ["m = nn.parallel.DistributedDataParallel(m)\n", "ok = isinstance(model, nn.DataParallel)\n"],
    "NPU311": [
        (
            "def setup(rank):\n    torch.cuda.set_device(rank)\n    try:\n        dist.init_process_group('gloo')\n"
            "    finally:\n        pass\n    torch.cuda.set_device(rank)\n"
        ),
        # A program that is for NPUs already was seen to run.
        "import torch_npu\ndef setup(rank):\n    dist.init_process_group('hccl')\n    torch.npu.set_device(rank)\n",
        "def setup(rank):\n    torch.cuda.set_device(rank)\n    dist.init_process_group('gloo')\n",
        "def setup(rank):\n    dist.init_process_group('gloo')\n",
        "def setup():\n    dist.init_process_group('gloo')\n    torch.cuda.set_device(dist.get_rank() % 8)\n",
        (
            "def setup():\n    dist.init_process_group('gloo')\n    rank = dist.get_rank() % 8\n"
            "    torch.cuda.set_device(rank)\n"
        ),
        "def setup(d):\n    dist.init_process_group('gloo', device_id=d)\n    torch.cuda.set_device(d)\n",
    ],
    "NPU121": [
        "torch.load('x', map_location=lambda storage, _: storage)  # map_location={\n",
        "def f(table):\n    torch.load('x', map_location=table)  # map_location={\n",
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
        "val_sampler = DistributedSampler(a)\nloader = DataLoader(a, collate_fn=f)\nfor epoch in range(3):\n    pass\n",
        # The loader beside the sampler has no epochs to be told of.
        (
            "val_sampler = DistributedSampler(data); loader = DataLoader(data, sampler=val_sampler)\n"
            "for epoch in range(3):\n    pass\n"
        ),
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
        (
            "def check(net):\n    net.eval()\n    net(x.cuda())\n    net.train()\n\n\ndef main(model):\n    model.train()\n"
            "    for epoch in range(3):\n        loss.backward()\n        check(model)\n"
        ),
        (
            "def check(net, other):\n    other.eval()\n    net(x.cuda())\n\n\ndef main(model):\n    model.train()\n"
            "    for epoch in range(3):\n        loss.backward()\n        check(model, teacher)\n"
        ),
    ],
    "NPU810": [
        (
            "def f(model, optimizer, epoch, x):\n    x.cuda()\n    optimizer.step()\n"
            "    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': epoch}, 'x')\n"
        ),
        # Weights alone are not for going on from, and a table that grows later cannot be judged.
        "def f(model, optimizer, x):\n    x.cuda()\n    optimizer.step()\n    torch.save(model.state_dict(), 'x')\n",
        (
            "def f(model, optimizer, x):\n    x.cuda()\n    optimizer.step()\n"
            "    torch.save({'model': model.state_dict()}, 'x')\n"
        ),
        (
            "def f(model, optimizer, epoch, x):\n    x.cuda()\n    optimizer.step()\n"
            "    state = {'model': model.state_dict(), 'epoch': epoch}\n    state['optimizer'] = 1\n"
            "    torch.save(state, 'x')\n"
        ),
        ("def f(model, epoch, x):\n    x.cuda()\n    torch.save({'model': model.state_dict(), 'epoch': epoch}, 'x')\n"),
    ],
    "NPU811": [
        (
            "def f(model, optimizer, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
        ),
        (
            "def f(model, optimizer, loader):\n    for i, x in enumerate(loader):\n        loss = model(x.cuda())\n"
            "        loss.backward()\n        if (i + 1) % 4 == 0:\n            optimizer.step()\n"
            "            optimizer.zero_grad()\n"
        ),
        (
            "def f(model, optimizer, loader):\n    for i, x in enumerate(loader):\n        if i % 4 == 0:\n"
            "            optimizer.zero_grad()\n        loss = model(x.cuda())\n        loss.backward()\n"
            "        if i % 4 == 3:\n            optimizer.step()\n"
        ),
        (
            "def f(model, x):\n    for i in range(3):\n        opt = torch.optim.SGD([x.cuda()], lr=1.0)\n"
            "        model(x).backward()\n        opt.step()\n"
        ),
        (
            "def f(model, optimizer, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        loss.backward()\n        optimizer.step()\n        for p in model.parameters():\n"
            "            p.grad = None\n"
        ),
        "def f(model, opt, x):\n    for i in range(3):\n        model(x.cuda()).backward()\n        opt.step(context)\n",
    ],
    "NPU812": [
        (
            "def f(model, optimizer, loader):\n    for i, x in enumerate(loader):\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n        if i % 100 == 0:\n"
            "            print(loss.item(), x.sum().item())\n"
        ),
        (
            "def f(model, optimizer, loader):\n    for x in loader:\n        loss = model(x.cuda())\n"
            "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
            "        total += loss.item()\n"
        ),
        "def f(model, x):\n    loss = model(x.cuda())\n    loss.backward()\n    return loss.item() + x.sum().item()\n",
    ],
    "NPU813": [
        "def f(model):\n    model.cuda()\n    return Other(model.parameters())\n",
        "from torch.optim import AdamW\ndef f(m):\n    return AdamW(fully_shard(m).parameters())\n",
        "def f(model):\n    model.cuda()\n    return torch.optim.SGD(sparse_params, lr=1.0)\n",
    ],
    "NPU814": [
        "m = nn.parallel.DistributedDataParallel(m)\n",
        "m = nn.parallel.DistributedDataParallel(m, find_unused_parameters=args.unused)\n",
        "m = Strategy(find_unused_parameters=True)\n",
    ],
    "NPU815": ["torch.manual_seed(1)\n", "g = torch.Generator().manual_seed(1)\n"],
    "NPU816": ["import psutil\nn = psutil.Process().cpu_affinity()\n"],
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


@pytest.mark.parametrize("release", ["2.1.0.post17", "2.14.0"])
def test_fused_true_needs_a_kernel_of_the_release(release: str) -> None:
    text = HEAD + "def f(m):\n    m.cuda()\n    return torch.optim.Adam(m.parameters(), fused=True)\n"
    listed = "_fused_adam_" in knowledge.load(release).operators
    assert [item.severity for item in findings(text, release=release) if item.code == "NPU813"] == (
        [] if listed else [Severity.WARNING]
    )
