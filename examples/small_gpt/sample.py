"""Completes a prompt with a trained model."""

import argparse

import torch

from data import decode, encode
from model import GPT, GPTConfig


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", default="out/cuda-gpt/model.pt")
    parser.add_argument("--prompt", default="12+30=")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device; use --device cpu")

    state = torch.load(args.checkpoint, map_location=args.device)
    model = GPT(GPTConfig(**state["config"]))
    model.load_state_dict(state["model"])
    model.eval().to(args.device)
    tokens = torch.tensor([encode(args.prompt)], device=args.device)
    with torch.autocast(device_type=args.device, dtype=torch.bfloat16, enabled=args.device == "cuda"):
        result = model.generate(tokens, args.count)
    print(decode(result[0]))


if __name__ == "__main__":
    main()
