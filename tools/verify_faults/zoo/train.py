"""Trains one model of the zoo for some steps: sound, with a fault (``--fault``), or in another way (``--way``)."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tools.verify_faults.zoo.places import Places
from tools.verify_faults.zoo.plant import Planted, plan, plant

SEED = 5


def subject_of(name: str) -> Any:
    """A model by its name."""
    from tools.verify_faults.zoo import own

    if name in own.SUBJECTS:
        return own.SUBJECTS[name]()
    from tools.verify_faults.zoo import public

    return public.SUBJECTS[name]()


def census(name: str) -> dict[str, Any]:
    """What can be planted in a model, found by one pass through it."""
    torch.manual_seed(SEED)
    places = Places()
    places.install()
    subject = subject_of(name)
    places.know(subject.models)
    batch = [one[: subject.batch] for one in subject.data]
    for _ in subject.losses(subject.models, *batch):
        pass
    size = sum(one.numel() for model in subject.models for one in model.parameters())
    return {"plan": [list(one) for one in plan(name, subject.models, places)], "size": size, "half": subject.half}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--census", default="", help="only find what can be planted, and write it into this file")
    parser.add_argument("--fault", default="")
    parser.add_argument("--module", default="")
    parser.add_argument("--what", default="")
    parser.add_argument("--way", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    if options.census:
        Path(options.census).write_text(json.dumps(census(options.model)), encoding="utf-8")
        return
    train(options)


def train(options: Any) -> None:
    """Some steps, as a program of a user's takes them."""
    fault, way, device = options.fault, options.way, options.device
    if device == "npu":
        import torch_npu  # noqa: F401
    torch.manual_seed(SEED)
    if way == "one thread more":
        torch.set_num_threads(2)
    if way == "other kernels":
        torch.backends.mkldnn.enabled = False
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
    if way == "CUDA with TF32":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    places = Places()
    if options.what:
        places.install()
    subject = subject_of(options.model)
    places.know(subject.models)
    lower = torch.bfloat16 if way == "bfloat16" else torch.float32
    models = [model.to(device).to(lower).train() for model in subject.models]
    if fault:
        plant(Planted(fault, options.module, options.what), models, places)
    rate = subject.rate * (2 if fault == "LR off by two" else 1)
    decay = 0.0 if fault == "weight decay lost" else 0.05
    kind: Any = torch.optim.AdamW if subject.adam else torch.optim.SGD
    how = {} if subject.adam else {"momentum": 0.9}
    optimizers = [kind(model.parameters(), lr=rate, weight_decay=decay, **how) for model in models]
    scaler = torch.amp.GradScaler(device, init_scale=2.0**10, enabled=fault == "scaler not unscaled")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(*subject.data), subject.batch, shuffle=fault != "data order off"
    )
    rounding: Any = contextlib.nullcontext()
    if way == "another device":
        from tools.verify_faults.zoo.noise import Rounding

        rounding = Rounding()
    with rounding:
        for step, rows in zip(range(options.steps), loader, strict=False):
            batch = [one.to(device, lower if one.is_floating_point() else one.dtype) for one in rows]
            with torch.autocast(device, torch.bfloat16, enabled=way == "autocast to bfloat16"):
                losses = subject.losses(models, *batch)
            while True:
                with torch.autocast(device, torch.bfloat16, enabled=way == "autocast to bfloat16"):
                    loss, which = next(losses, (None, 0))
                if loss is None:
                    break
                if fault == "loss not divided":
                    loss = loss * len(batch[0])
                optimizers[which].zero_grad()
                scaler.scale(loss).backward()
                # A scaler that is not unscaled leaves its factor in what is clipped.
                if fault != "clipping lost":
                    nn.utils.clip_grad_norm_(models[which].parameters(), 0.1 if fault != "scaler not unscaled" else 1e9)
                if fault == "scaler not unscaled":
                    optimizers[which].step()
                else:
                    scaler.step(optimizers[which])
                scaler.update() if fault != "scaler not unscaled" else None
                print(f"step {step} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
