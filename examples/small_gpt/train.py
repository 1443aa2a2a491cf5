"""Trains the GPT on one GPU."""

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import argparse
import gc
import time

import torch

from data import ALPHABET, Batches
from model import GPT, GPTConfig
from precision import allow_tf32, autocast_for, make_scaler, pick_dtype


def is_out_of_memory(error: RuntimeError) -> bool:
    """Older PyTorch versions raise a plain RuntimeError."""
    return "CUDA out of memory" in str(error) or "CUBLAS_STATUS_ALLOC_FAILED" in str(error)


def free_memory(device_type):
    gc.collect()
    if device_type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.ipc_collect()


def train_step(model, batches, batch_size, optimizer, scaler, context):
    x, y = batches.next(batch_size)
    with context:
        _, loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda, cuda:1 or cpu")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--out", default="out/cuda-gpt")
    args = parser.parse_args()

    device_type = "cuda" if "cuda" in args.device else "cpu"
    torch.manual_seed(args.seed)
    if device_type == "cuda":
        torch.cuda.manual_seed(args.seed)
        allow_tf32()
        name = torch.cuda.get_device_name(args.device)
        print(f"training on {name}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}")
    dtype = pick_dtype(device_type)
    context = autocast_for(device_type, dtype)
    scaler = make_scaler(dtype)

    config = GPTConfig(len(ALPHABET), args.block, args.layers, args.heads, args.width)
    raw_model = GPT(config).to(args.device)
    optimizer = raw_model.make_optimizer(args.lr, device_type)
    model = raw_model if args.no_compile else torch.compile(raw_model, mode="max-autotune")
    batches = Batches(args.block, args.device, args.seed)

    batch_size = args.batch_size
    clock = time.time()
    step = 0
    while step < args.steps:
        try:
            loss = train_step(model, batches, batch_size, optimizer, scaler, context)
        except torch.cuda.OutOfMemoryError:
            batch_size = max(1, batch_size // 2)
            print(f"out of CUDA memory: batch size is now {batch_size}")
            free_memory(device_type)
            continue
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            batch_size = max(1, batch_size // 2)
            free_memory(device_type)
            continue
        step += 1
        if step % 50 == 0 or step == args.steps:
            if device_type == "cuda":
                torch.cuda.synchronize()
                memory = torch.cuda.max_memory_allocated(args.device) / 2**20
            else:
                memory = 0.0
            print(f"step {step} loss {loss.item():.4f} {time.time() - clock:.1f} s {memory:.0f} MiB")

    os.makedirs(args.out, exist_ok=True)
    torch.save({"config": vars(config), "model": raw_model.state_dict()}, os.path.join(args.out, "model.pt"))
    print(f"saved {args.out}/model.pt")


if __name__ == "__main__":
    main()
