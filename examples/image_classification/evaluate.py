"""Accuracy per class of a checkpoint."""

import argparse

import torch
from torch.utils.data import DataLoader

from data import CLASSES, Shapes
from model import build_model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", nargs="?", default="runs/cuda_baseline/best.pt")
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--size", type=int, default=512)
    args = parser.parse_args()

    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda:0") if use_cuda else torch.device("cpu")
    model = build_model(args.width)
    state = torch.load(args.checkpoint, map_location=lambda storage, loc: storage.cuda(0) if use_cuda else storage)
    model.load_state_dict(state["model"])
    if use_cuda:
        model = model.cuda().half()
    model.eval()

    right = torch.zeros(len(CLASSES))
    total = torch.zeros(len(CLASSES))
    with torch.inference_mode():
        for images, labels in DataLoader(Shapes(args.size, seed=99), batch_size=64):
            images = images.to(device)
            if images.is_cuda:
                images = images.half()
            predicted = model(images).argmax(dim=1).cpu()
            for label in range(len(CLASSES)):
                chosen = labels == label
                total[label] += chosen.sum()
                right[label] += (predicted[chosen] == label).sum()
    for name, value in zip(CLASSES, (right / total).tolist()):
        print(f"{name:10s} {value:.3f}")


if __name__ == "__main__":
    main()
