"""Images a second."""

import argparse
import time

import torch

from detector.engine import load_model
from detector.images import blobs


def measure(model, images, repeats):
    def wait():
        if images.is_cuda:
            torch.cuda.synchronize(images.device)

    with torch.inference_mode():
        for _ in range(3):
            model(images)
        wait()
        started = time.perf_counter()
        for _ in range(repeats):
            model(images)
        wait()
    return repeats * len(images) / (time.perf_counter() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="weights/cuda/blobs.pt")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--device-id", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=50)
    args = parser.parse_args()

    name = args.device if args.device == "cpu" else args.device + ":" + str(args.device_id)
    device = torch.device(name)
    for half in (False, True) if device.type == "cuda" else (False,):
        model = load_model(args.weights, device, half)
        images = blobs(16).to(device)
        images = images.half() if half else images
        precision = "float16" if half else "float32"
        print("{} on {}: {:.0f} images/s".format(precision, "cuda:{}".format(args.device_id) if images.is_cuda else "cpu", measure(model, images, args.repeats)))


if __name__ == "__main__":
    main()
