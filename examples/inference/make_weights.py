"""Trains the detector for a moment and saves its weights."""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F

from detector.images import blobs
from detector.model import BlobNet


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", default="weights/cuda/blobs.pt")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--gpu", type=int, default=0)
    args = parser.parse_args()
    if torch.cuda.is_available():
        torch.set_default_device(f"cuda:{args.gpu}")
    torch.manual_seed(0)
    model = BlobNet()
    if torch.cuda.is_available():
        model.cuda(args.gpu)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(args.steps):
        images = blobs(8, seed=step).to(next(model.parameters()).device)
        target = (F.avg_pool2d(images, 4) > 0.6).float()
        loss = F.binary_cross_entropy(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    Path(args.output).parent.mkdir(parents=True, exist_ok=True)
    torch.save({"channels": 16, "model": model.state_dict()}, args.output)
    print(f"loss {loss.item():.4f}, saved {args.output}")


if __name__ == "__main__":
    main()
