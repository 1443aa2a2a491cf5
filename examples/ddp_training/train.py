"""Entry point of every process; start it with torchrun (see scripts/train.sh)."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

from ddp_training import checkpoint, config, distributed, hardware
from ddp_training.data import build_loader
from ddp_training.model import Tagger


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides")
    parser.add_argument("--fresh", action="store_true", help="do not go on from the last checkpoint")
    args = parser.parse_args()
    settings = config.load(args.config, args.overrides)
    train = settings.train

    world = distributed.setup(settings.distributed.backend, train.device, settings.distributed.timeout_minutes)
    torch.manual_seed(train.seed + world.rank)
    torch.cuda.manual_seed(train.seed + world.rank)
    info = hardware.probe()
    if world.is_main:
        print(f"{settings.name}: {hardware.summary(info)}", flush=True)

    model = Tagger(settings.model)
    if train.sync_batchnorm:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    on_gpu = world.device.type == "cuda"
    if on_gpu:
        model = model.cuda(world.local_rank)
        model = DDP(model, device_ids=[world.local_rank], output_device=world.local_rank)
    else:
        model = DDP(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=train.lr)
    first = 0 if args.fresh else checkpoint.load(settings.output, model, optimizer, world)

    loader, sampler = build_loader(settings)
    batches = endless(loader, sampler)
    started = time.perf_counter()
    for step in range(first, train.steps):
        tokens, tags = (t.to(world.device, non_blocking=True) for t in next(batches))
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if (step + 1) % train.log_every == 0 or step + 1 == train.steps:
            average = distributed.mean(loss)
            if on_gpu:
                torch.cuda.synchronize(world.device)
            if world.is_main:
                print(f"step {step + 1} loss {average:.4f} {time.perf_counter() - started:.1f} s", flush=True)
        if (step + 1) % train.save_every == 0 or step + 1 == train.steps:
            checkpoint.save(settings.output, model, optimizer, step + 1, world)

    if world.is_main:
        record = {**info.row(), "steps": train.steps}
        record["cuda_peak_bytes"] = torch.cuda.max_memory_allocated() if on_gpu else 0
        Path(settings.output, "run.json").write_text(json.dumps(record, indent=2), encoding="utf-8")
    distributed.cleanup()


if __name__ == "__main__":
    main()
