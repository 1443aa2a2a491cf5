"""Counts the blobs of some images."""

import argparse
import json

import torch

from detector.devices import describe, matching_build, select_devices
from detector.engine import Engine
from detector.images import blobs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="weights/cuda/blobs.pt")
    parser.add_argument("--device", default="cuda:0", help="cpu, cuda, cuda:N, or numbers such as 0,1")
    parser.add_argument("--half", action="store_true", help="float16 (CUDA only)")
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()

    print("torch", torch.__version__, "cuda", torch.version.cuda, "build", matching_build().name)
    devices = select_devices(args.device)
    engines = [Engine(args.weights, device, args.half) for device in devices]
    for device in devices:
        print("using " + describe(device))

    images = blobs(args.images, seed=1)
    maps = []
    for i, piece in enumerate(images.chunk(len(engines))):
        maps.append(engines[i].run(piece, args.batch_size))
    heat = torch.cat(maps)
    counts = (heat.flatten(1) > 0.5).sum(dim=1)
    print(json.dumps({"images": len(images), "mean_hot_cells": counts.float().mean().item(), "cuda": str(devices[0])}))


if __name__ == "__main__":
    main()
