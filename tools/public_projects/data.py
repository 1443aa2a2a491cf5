"""Made-up data in the forms in which public programs read theirs. Each maker is given the folder of the program."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
MAKERS = {}


def maker(function):
    MAKERS[function.__name__] = function
    return function


@maker
def token_files(folder: Path) -> None:
    """nanoGPT's: 16-bit tokens, as its prepare.py writes them."""
    drawn = numpy.random.default_rng(1)
    for name in ("train", "val"):
        path = folder / "data" / "made" / f"{name}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.integers(64, size=4000).astype(numpy.uint16).tofile(path)


@maker
def text(folder: Path) -> None:
    """A file of words, for programs that learn characters."""
    drawn = numpy.random.default_rng(2)
    (folder / "input.txt").write_text(" ".join(WORDS[place] for place in drawn.integers(len(WORDS), size=600)))


@maker
def sentences(folder: Path) -> None:
    """Three files of lines of words, as word_language_model and the tutorial read them."""
    drawn = numpy.random.default_rng(3)
    for name, lines in (("train", 120), ("valid", 20), ("test", 20)):
        rows = (" ".join(WORDS[place] for place in drawn.integers(len(WORDS), size=9)) for _ in range(lines))
        for path in (folder / "data" / f"{name}.txt", folder / "data" / "wikitext-2" / f"{name}.txt"):
            path.parent.mkdir(parents=True, exist_ok=True)
        made = "\n".join(rows) + "\n"
        (folder / "data" / f"{name}.txt").write_text(made)
        (folder / "data" / "wikitext-2" / f"{name}.txt").write_text(made)


@maker
def mnist(folder: Path) -> None:
    """MNIST's files, 64 digits to train and 16 to test, wherever the programs look for them."""
    drawn = numpy.random.default_rng(4)
    for root in (folder.parent / "data", folder.parent.parent / "data" / "mnist", folder / "data"):
        raw = root / "MNIST" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        for name, count in (("train", 64), ("t10k", 16)):
            pixels = drawn.integers(256, size=(count, 28, 28)).astype(numpy.uint8)
            labels = drawn.integers(10, size=count).astype(numpy.uint8)
            header = struct.pack(">IIII", 2051, count, 28, 28)
            (raw / f"{name}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
            (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())


def _picture(path: Path, drawn: numpy.random.Generator, size: tuple[int, int], levels: int = 256) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0], 3) if levels == 256 else (size[1], size[0])
    Image.fromarray((drawn.integers(levels, size=shape) * (255 // (levels - 1))).astype(numpy.uint8)).save(path)


@maker
def picture_folders(folder: Path) -> None:
    """Pictures in two classes below made/train and made/val, as torchvision's ImageFolder reads them."""
    drawn = numpy.random.default_rng(5)
    for number in range(12):
        _picture(folder / "made" / "train" / f"class{number % 2}" / f"{number:02}.png", drawn, (40, 40))
    for number in range(4):
        _picture(folder / "made" / "val" / f"class{number % 2}" / f"{number:02}.png", drawn, (40, 40))


@maker
def pictures_and_masks(folder: Path) -> None:
    """Pytorch-UNet's: pictures, and black and white masks of the same names."""
    drawn = numpy.random.default_rng(6)
    for number in range(12):
        _picture(folder / "data" / "imgs" / f"p{number:02}.png", drawn, (48, 32))
        _picture(folder / "data" / "masks" / f"p{number:02}.png", drawn, (48, 32), levels=2)


@maker
def picture_folders_and_autoencoder(folder: Path) -> None:
    """Pictures, and a small autoencoder where diffusers looks first for the one that DiT names."""
    import torch
    from diffusers.models import AutoencoderKL

    picture_folders(folder)
    torch.manual_seed(7)
    four = ["DownEncoderBlock2D"] * 4, ["UpDecoderBlock2D"] * 4, [8] * 4
    made = AutoencoderKL(
        down_block_types=four[0],
        up_block_types=four[1],
        block_out_channels=four[2],
        latent_channels=4,
        norm_num_groups=4,
    )
    made.save_pretrained(folder / "stabilityai" / "sd-vae-ft-ema")
