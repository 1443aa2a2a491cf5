"""Made-up data in the forms in which public programs read theirs. Each maker is given the folder of the program."""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import struct
import subprocess
import sys
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
    above = folder.parent.parent / "data"
    here = (folder / "data", folder / "data" / "mnist", folder / "datasets" / "MNIST", folder / "store/datasets/MNIST")
    for root in (folder.parent / "data", folder.parent / "mnist-data", above, above / "mnist", *here):
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


@maker
def cifar(folder: Path) -> None:
    """CIFAR-10's and CIFAR-100's files, 8 pictures in each, wherever the programs look for them."""
    drawn = numpy.random.default_rng(8)
    above = folder.parent.parent / "data"
    others = ("CIFAR10", "data.cifar10", "data-cifar10", "datasets", "cifar10")
    for root in (folder.parent / "data", above, folder / "data", *(folder / name for name in others)):
        ten, hundred = root / "cifar-10-batches-py", root / "cifar-100-python"
        for made, names in (
            (ten, [*(f"data_batch_{one}" for one in range(1, 6)), "test_batch"]),
            (hundred, ["train", "test"]),
        ):
            made.mkdir(parents=True, exist_ok=True)
            for name in names:
                pixels = drawn.integers(256, size=(8, 3072)).astype(numpy.uint8)
                labels = [int(one) for one in drawn.integers(10, size=8)]
                said = {"data": pixels, "labels": labels, "fine_labels": labels, "coarse_labels": labels}
                (made / name).write_bytes(pickle.dumps(said))
        (ten / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcdefghij")}))
        (hundred / "meta").write_bytes(pickle.dumps({"fine_label_names": [f"c{one}" for one in range(100)]}))


@maker
def cora(folder: Path) -> None:
    """A citation network in the form of Cora's files: 1540 papers of 24 words, in 7 classes."""
    drawn = numpy.random.default_rng(9)
    kinds = ("Theory", "Cases", "Genes", "Nets", "Odds", "Rules", "Reward")
    papers = [
        "\t".join([str(1000 + one), *map(str, drawn.integers(2, size=24)), kinds[drawn.integers(7)]])
        for one in range(1540)
    ]
    cites = [f"{1000 + one}\t{1000 + drawn.integers(1540)}" for one in range(1540) for _ in range(2)]
    for made in (folder / "data" / "cora", folder.parent / "data" / "cora", folder / "cora"):
        made.mkdir(parents=True, exist_ok=True)
        (made / "cora.content").write_text("\n".join(papers) + "\n")
        (made / "cora.cites").write_text("\n".join(cites) + "\n")


@maker
def zipped_words(folder: Path) -> None:
    """PyTorchZeroToAll's: names with countries, and lines of text, both zipped."""
    drawn = numpy.random.default_rng(10)
    made = folder / "data"
    made.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 60), ("test", 20)):
        with gzip.open(made / f"names_{part}.csv.gz", "wt", newline="") as file:
            rows = ([WORDS[drawn.integers(8)].title(), f"Land{drawn.integers(4)}"] for _ in range(count))
            csv.writer(file).writerows(rows)
    with gzip.open(made / "shakespeare.txt.gz", "wt") as file:
        file.writelines(" ".join(WORDS[one] for one in drawn.integers(8, size=3)) + "\n" for _ in range(8))


@maker
def names(folder: Path) -> None:
    """makemore's: a word on each line; its test set takes a tenth."""
    drawn = numpy.random.default_rng(11)
    letters = numpy.array(list("abcdefgh"))
    lines = ("".join(drawn.choice(letters, size=drawn.integers(2, 8))) for _ in range(80))
    (folder / "names.txt").write_text("\n".join(lines))


@maker
def clouds(folder: Path) -> None:
    """pointnet.pytorch's: clouds of points in two classes, with a part for each point, as ShapeNet has them."""
    drawn = numpy.random.default_rng(12)
    root = folder / "made"
    for category in ("0001", "0002"):
        for name in ("points", "points_label"):
            (root / category / name).mkdir(parents=True)
        for number in range(8):
            numpy.savetxt(root / category / "points" / f"c{number}.pts", drawn.normal(size=(40, 3)))
            numpy.savetxt(root / category / "points_label" / f"c{number}.seg", drawn.integers(1, 5, size=40), fmt="%d")
    (root / "synsetoffset2category.txt").write_text("Airplane\t0001\nChair\t0002\n")
    (root / "train_test_split").mkdir()
    for part, numbers in (("train", range(6)), ("val", range(6, 8)), ("test", range(6, 8))):
        named = [f"shape_data/{category}/c{number}" for category in ("0001", "0002") for number in numbers]
        (root / "train_test_split" / f"shuffled_{part}_file_list.json").write_text(json.dumps(named))


@maker
def paired_pictures(folder: Path) -> None:
    """PyTorch-GAN's: pictures side by side, and in two sets, and a plain folder, below data/made of the project."""
    drawn = numpy.random.default_rng(13)
    root = folder.parent.parent / "data" / "made"
    for part, count in (("train", 3), ("test", 1), ("val", 6)):
        for number in range(count):
            _picture(root / part / f"{number}.jpg", drawn, (128, 64))
            _picture(root / part / "A" / f"{number}.jpg", drawn, (64, 64))
            _picture(root / part / "B" / f"{number}.jpg", drawn, (64, 64))
    for number in range(5):
        _picture(root / f"{number}.jpg", drawn, (64, 64))


@maker
def zipped_bytes(folder: Path) -> None:
    """Where the programs of lucidrains look for enwik8: 4000 bytes of words."""
    drawn = numpy.random.default_rng(14)
    (folder / "data").mkdir(exist_ok=True)
    made = " ".join(WORDS[one] for one in drawn.integers(8, size=1000)).encode()[:4000]
    (folder / "data" / "enwik8.gz").write_bytes(gzip.compress(made))


@maker
def pairs_of_pictures(folder: Path) -> None:
    """SRCNN-pytorch's: small and large grey pictures in HDF5 files."""
    import h5py

    drawn = numpy.random.default_rng(15)
    with h5py.File(folder / "train.h5", "w") as file:
        file["lr"], file["hr"] = (drawn.integers(256, size=(12, 20, 20)).astype(numpy.float32) for _ in range(2))
    with h5py.File(folder / "eval.h5", "w") as file:
        for name in ("lr", "hr"):
            for number in range(2):
                file[f"{name}/{number}"] = drawn.integers(256, size=(20, 20)).astype(numpy.float32)


@maker
def boxes(folder: Path) -> None:
    """ssd.pytorch's: VOC's folders of two years, of pictures with a box, and weights for its base network."""
    import torch

    drawn = numpy.random.default_rng(16)
    for year in ("2007", "2012"):
        root = folder / "VOCdevkit" / f"VOC{year}"
        for name in ("Annotations", "ImageSets/Main"):
            (root / name).mkdir(parents=True)
        for number in range(4):
            _picture(root / "JPEGImages" / f"{number}.jpg", drawn, (80, 60))
            corners = zip(("xmin", "ymin", "xmax", "ymax"), (10, 12, 50, 48), strict=True)
            said = "".join(f"<{name}>{value}</{name}>" for name, value in corners)
            said = f"<object><name>dog</name><difficult>0</difficult><bndbox>{said}</bndbox></object>"
            (root / "Annotations" / f"{number}.xml").write_text(f"<annotation>{said}</annotation>")
        (root / "ImageSets" / "Main" / "trainval.txt").write_text("0\n1\n2\n3\n")
    torch.manual_seed(17)
    layers, before = {}, 3
    sizes = [(0, 64), (2, 64), (5, 128), (7, 128), (10, 256), (12, 256), (14, 256), (17, 512), (19, 512), (21, 512)]
    for place, width in [*sizes, (24, 512), (26, 512), (28, 512), (31, 1024), (33, 1024)]:
        made = torch.nn.Conv2d(before, width, 1 if place == 33 else 3)
        layers[f"{place}.weight"], layers[f"{place}.bias"] = made.weight.data, made.bias.data
        before = width
    (folder / "weights").mkdir(exist_ok=True)
    torch.save(layers, folder / "weights" / "vgg16_reducedfc.pth")


@maker
def texts_with_labels(folder: Path) -> None:
    """LSTM-Classification-pytorch's: a file for each text, lists of them and of their labels."""
    drawn = numpy.random.default_rng(18)
    for part, count in (("train", 15), ("test", 10)):
        (folder / "data" / f"{part}_txt").mkdir(parents=True, exist_ok=True)
        for number in range(count):
            words = " ".join(WORDS[one] for one in drawn.integers(8, size=12))
            (folder / "data" / f"{part}_txt" / f"{number}.txt").write_text(words)
        listed = "".join(f"{number}.txt\n" for number in range(count))
        (folder / "data" / f"{part}_txt.txt").write_text(listed)
        labels = "".join(f"{one}\n" for one in drawn.integers(8, size=count))
        (folder / "data" / f"{part}_label.txt").write_text(labels)


@maker
def spoken(folder: Path) -> None:
    """Conv-TasNet's: mixtures of two voices and each voice, as WAV files, and lists of them."""
    from scipy.io import wavfile

    drawn = numpy.random.default_rng(19)
    (folder / "made").mkdir()
    for name in ("mix", "s1", "s2"):
        listed = []
        for number in range(4):
            path = folder / "made" / f"{name}{number}.wav"
            wavfile.write(path, 8000, drawn.normal(scale=0.1, size=1700).astype(numpy.float32))
            listed.append([f"made/{path.name}", 1700])
        (folder / "made" / f"{name}.json").write_text(json.dumps(listed))


@maker
def checkpoint_of_letters(folder: Path) -> None:
    """nanoGPT's: weights of a small model as its train.py saves them, and the letters that it knows."""
    import torch

    said = {"block_size": 16, "vocab_size": 9, "n_layer": 1, "n_head": 2, "n_embd": 16, "dropout": 0.0, "bias": True}
    make = (
        "import torch; from model import *; torch.manual_seed(2); torch.save(GPT(GPTConfig(**%r)).state_dict(), 'w.pt')"
    )
    subprocess.run([sys.executable, "-c", make % said], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "out").mkdir()
    model = torch.load(folder / "w.pt")
    torch.save({"model_args": said, "model": model, "config": {"dataset": "made"}}, folder / "out" / "ckpt.pt")
    letters = "\nabcdefgh"
    (folder / "data" / "made").mkdir(parents=True)
    known = {"stoi": {one: at for at, one in enumerate(letters)}, "itos": dict(enumerate(letters))}
    (folder / "data" / "made" / "meta.pkl").write_bytes(pickle.dumps(known))


@maker
def hourly(folder: Path) -> None:
    """LTSF-Linear's: a table of a value for each hour, in seven columns."""
    drawn = numpy.random.default_rng(20)
    values = drawn.normal(size=(240, 7)).cumsum(axis=0)
    rows = [",".join(["date", *(f"c{one}" for one in range(6)), "OT"])]
    for hour, row in enumerate(values):
        rows.append(f"2016-07-{1 + hour // 24:02} {hour % 24:02}:00:00," + ",".join(f"{one:.4f}" for one in row))
    for name in ("data/made.csv", "datasets/made.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("\n".join(rows) + "\n")


@maker
def visits(folder: Path) -> None:
    """SASRec's: a user and a thing on each line, in order of time."""
    drawn = numpy.random.default_rng(21)
    lines = (f"{user} {thing}\n" for user in range(1, 25) for thing in drawn.integers(1, 200, size=8))
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "made.txt").write_text("".join(lines))


def _sound(path: Path, drawn: numpy.random.Generator, rate: int, length: int) -> None:
    from scipy.io import wavfile

    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, rate, (drawn.normal(scale=0.1, size=length) * 32767).astype(numpy.int16))


@maker
def voices(folder: Path) -> None:
    """hifi-gan's: WAV files, and lists of their names with texts."""
    drawn = numpy.random.default_rng(22)
    for part, count in (("train", 4), ("test", 1)):
        for number in range(count):
            _sound(folder / "made" / f"{part}{number}.wav", drawn, 22050, 8500)
        (folder / "made" / f"{part}.txt").write_text("\n".join(f"{part}{one}|said" for one in range(count)))


@maker
def speakers(folder: Path) -> None:
    """SincNet's: WAV files in lists, and whose they are."""
    drawn = numpy.random.default_rng(23)
    whose = {}
    for part, count in (("train", 6), ("test", 2)):
        for number in range(count):
            name = f"/{part}{number}.wav"
            _sound(folder / "made" / name[1:], drawn, 16000, 9600)
            whose[name] = number % 4
        (folder / "made" / f"{part}.scp").write_text("".join(f"/{part}{one}.wav\n" for one in range(count)))
    numpy.save(folder / "made" / "labels.npy", numpy.array(whose, dtype=object), allow_pickle=True)


@maker
def graphs(folder: Path) -> None:
    """powerful-gnns': rings with a chord, each node with a tag and its neighbours."""
    drawn = numpy.random.default_rng(24)
    lines = ["40"]
    for number in range(40):
        size = int(drawn.integers(4, 8))
        lines.append(f"{size} {number % 2}")
        near = {one: {(one + 1) % size, (one - 1) % size} for one in range(size)}
        near[0].add(2)
        near[2].add(0)
        for node, others in near.items():
            lines.append(" ".join(map(str, [node % 3, len(others), *sorted(others)])))
    path = folder / "dataset" / "MADE" / "MADE.txt"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")


@maker
def charges(folder: Path) -> None:
    """egnn's: places and speeds of five charges over time, with products of their charges."""
    drawn = numpy.random.default_rng(26)
    root = folder / "n_body_system" / "dataset"
    for part in ("train", "valid", "test"):
        for name in ("loc", "vel"):
            numpy.save(root / f"{name}_{part}_charged5_initvel1small.npy", drawn.normal(size=(12, 49, 3, 5)))
        numpy.save(root / f"edges_{part}_charged5_initvel1small.npy", drawn.choice([-1.0, 1.0], size=(12, 5, 5)))
        numpy.save(root / f"charges_{part}_charged5_initvel1small.npy", drawn.choice([-1.0, 1.0], size=(12, 5, 1)))


@maker
def shards_of_tokens(folder: Path) -> None:
    """llama2.c's: files of 16-bit tokens of a vocabulary of 64."""
    drawn = numpy.random.default_rng(27)
    made = folder / "data" / "tok64"
    made.mkdir(parents=True)
    for number in range(2):
        drawn.integers(64, size=2000).astype(numpy.uint16).tofile(made / f"data{number:02}.bin")


@maker
def lines_with_labels(folder: Path) -> None:
    """Chinese-Text-Classification-Pytorch's: a text and the number of its class on each line."""
    drawn = numpy.random.default_rng(28)
    made = folder / "THUCNews" / "data"
    made.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 16), ("dev", 8), ("test", 8)):
        lines = (
            f"{' '.join(WORDS[one] for one in drawn.integers(8, size=6))}\t{number % 3}" for number in range(count)
        )
        (made / f"{part}.txt").write_text("\n".join(lines) + "\n")
    (made / "class.txt").write_text("a\nb\nc\n")
    (made / "vocab.pkl").unlink(missing_ok=True)
    (folder / "THUCNews" / "saved_dict").mkdir(exist_ok=True)


@maker
def blocks_of_pictures(folder: Path) -> None:
    """pytorch-vdsr's: pairs of small pictures in an HDF5 file."""
    import h5py

    drawn = numpy.random.default_rng(29)
    with h5py.File(folder / "train.h5", "w") as file:
        file["data"], file["label"] = (drawn.random(size=(6, 1, 16, 16)).astype(numpy.float32) for _ in range(2))


@maker
def grey_pictures(folder: Path) -> None:
    """DnCNN-PyTorch's: a picture for each key of two HDF5 files."""
    import h5py

    drawn = numpy.random.default_rng(30)
    for part, count in (("train", 6), ("val", 2)):
        with h5py.File(folder / f"{part}.h5", "w") as file:
            for number in range(count):
                file[str(number)] = drawn.random(size=(1, 16, 16)).astype(numpy.float32)


@maker
def ratings(folder: Path) -> None:
    """NCF's: what users took, and for each of them one thing that was taken among nine that were not."""
    drawn = numpy.random.default_rng(31)
    made = folder / "made"
    made.mkdir()
    rows = (f"{user}\t{thing}\t1\t0\n" for user in range(12) for thing in drawn.choice(40, size=5, replace=False))
    (made / "ml-1m.train.rating").write_text("".join(rows))
    rows = ("\t".join([f"({user},{user})", *map(str, range(20, 29))]) + "\n" for user in range(12))
    (made / "ml-1m.test.negative").write_text("".join(rows))


@maker
def sessions(folder: Path) -> None:
    """SR-GNN's: what was looked at in each session, and what came next."""
    drawn = numpy.random.default_rng(33)
    made = folder.parent / "datasets" / "sample"
    made.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 16), ("test", 8)):
        seen = [[int(one) for one in drawn.integers(1, 310, size=drawn.integers(2, 6))] for _ in range(count)]
        after = [int(one) for one in drawn.integers(1, 310, size=count)]
        (made / f"{part}.txt").write_bytes(pickle.dumps((seen, after)))


@maker
def clicks(folder: Path) -> None:
    """GRU4REC-pytorch's: a session, an item and a time on each line, of items that all parts know."""
    drawn = numpy.random.default_rng(34)
    (folder / "made").mkdir(exist_ok=True)
    for part, count in (("train", 40), ("valid", 12)):
        rows = ["SessionID,ItemID,Time"]
        for session in range(count):
            rows += [f"{session},{item},{session * 10 + at}.0" for at, item in enumerate(drawn.integers(1, 30, size=5))]
        if part == "train":
            rows += [f"{count},{item},{9000 + item}.0" for item in range(1, 30)]
        (folder / "made" / f"{part}.txt").write_text("\n".join(rows) + "\n")


@maker
def triples(folder: Path) -> None:
    """A user, a thing and a mark on each line, as caser_pytorch and DeepRecommender read them, and MovieLens' form."""
    drawn = numpy.random.default_rng(35)
    rows = [(user, int(thing)) for user in range(1, 13) for thing in drawn.choice(40, size=14, replace=False)]
    rows += [(13, thing) for thing in range(36)]
    (folder / "data" / "ml-1m").mkdir(parents=True, exist_ok=True)
    (folder / "data" / "ml-1m" / "ratings.dat").write_text("".join(f"{u}::{t}::4::{9000 + t}\n" for u, t in rows))
    for part in ("train", "test"):
        path = folder / "datasets" / "ml1m" / "test" / f"{part}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{user} {thing} 1\n" for user, thing in rows))
        (folder / "made" / part).mkdir(parents=True, exist_ok=True)
        (folder / "made" / part / "part.txt").write_text("".join(f"{u}\t{t}\t{1 + t % 5}\n" for u, t in rows))


@maker
def columns(folder: Path) -> None:
    """LSTNet's and MTGNN's: numbers in columns, a row for each hour."""
    drawn = numpy.random.default_rng(37)
    numpy.savetxt(folder / "made.txt", 1 + drawn.random(size=(160, 8)), delimiter=",", fmt="%.4f")


@maker
def sensors(folder: Path) -> None:
    """Graph-WaveNet's and STGCN's: what sensors on roads saw, and how near they are to each other."""
    from scipy import sparse

    drawn = numpy.random.default_rng(38)
    made = folder / "made"
    made.mkdir()
    near = drawn.random(size=(8, 8)).astype(numpy.float32)
    (made / "adj_mx.pkl").write_bytes(pickle.dumps(([str(one) for one in range(8)], {}, near)))
    for part, count in (("train", 12), ("val", 4), ("test", 4)):
        seen = drawn.random(size=(count, 12, 8, 2))
        numpy.savez(made / f"{part}.npz", x=seen, y=seen)
    (folder / "data" / "metr-la").mkdir(parents=True, exist_ok=True)
    near = drawn.random(size=(207, 207))
    sparse.save_npz(folder / "data" / "metr-la" / "adj.npz", sparse.csc_matrix(near * (near > 0.95)))
    seen = drawn.random(size=(160, 207))
    rows = [",".join(str(one) for one in range(207)), *(",".join(f"{one:.4f}" for one in row) for row in seen)]
    (folder / "data" / "metr-la" / "vel.csv").write_text("\n".join(rows) + "\n")


@maker
def tagged_words(folder: Path) -> None:
    """NCRFpp's and named_entity_recognition's: a word and its tag on each line, an empty line between sentences."""
    drawn = numpy.random.default_rng(39)
    tags = ("O", "B-LOC", "E-LOC", "S-PER")
    for part, count in (("train", 24), ("dev", 8), ("test", 8)):
        said = "\n".join(
            "".join(f"{WORDS[one]} {tags[one % 4]}\n" for one in drawn.integers(8, size=7)) for _ in range(count)
        )
        for made in (folder / "sample_data", folder / "ResumeNER"):
            made.mkdir(exist_ok=True)
            (made / f"{part}.bmes").write_text(said + "\n")
            (made / f"{part}.char.bmes").write_text(said + "\n")
    rows = (f"{word} " + " ".join(f"{one:.3f}" for one in drawn.normal(size=50)) for word in WORDS)
    (folder / "sample_data" / "sample.word.emb").write_text("\n".join(rows) + "\n")


@maker
def enlarged(folder: Path) -> None:
    """pytorch-SRResNet's: small pictures in colours and those four times as large, in an HDF5 file."""
    import h5py

    drawn = numpy.random.default_rng(40)
    with h5py.File(folder / "train.h5", "w") as file:
        file["data"], file["label"] = (drawn.random(size=(6, 3, size, size), dtype=numpy.float32) for size in (8, 32))


@maker
def shapes(folder: Path) -> None:
    """dgcnn.pytorch's: ModelNet40's clouds of points, in HDF5 files."""
    import h5py

    drawn = numpy.random.default_rng(41)
    made = folder / "data" / "modelnet40_ply_hdf5_2048"
    made.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        with h5py.File(made / f"ply_data_{part}0.h5", "w") as file:
            file["data"] = drawn.normal(size=(8, 64, 3)).astype(numpy.float32)
            file["label"] = drawn.integers(40, size=(8, 1)).astype(numpy.uint8)


@maker
def rows_of_numbers(folder: Path) -> None:
    """pytorch-flows': the table POWER, of nine columns."""
    drawn = numpy.random.default_rng(42)
    (folder / "data" / "power").mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "data" / "power" / "data.npy", drawn.normal(size=(600, 8)))


@maker
def marked_texts(folder: Path) -> None:
    """Character-level-cnn-pytorch's: a class and a text on each line, quoted."""
    drawn = numpy.random.default_rng(43)
    (folder / "made").mkdir()
    for part in ("train", "test"):
        texts = (" ".join(WORDS[one] for one in drawn.integers(8, size=30)) for _ in range(12))
        (folder / "made" / f"{part}.csv").write_text("".join(f'"{1 + at % 2}","{t}"\n' for at, t in enumerate(texts)))


@maker
def drawings(folder: Path) -> None:
    """QuickDraw's: drawings of each kind of thing, as rows of an array."""
    drawn = numpy.random.default_rng(44)
    (folder / "data").mkdir(exist_ok=True)
    kinds = "apple,book,bowtie,candle,cloud,cup,door,envelope,eyeglasses,guitar,hammer,hat,ice cream,leaf,scissors,star"
    for kind in (*kinds.split(","), "t-shirt", "pants", "lightning", "tree"):
        made = drawn.integers(256, size=(5, 784)).astype(numpy.uint8)
        numpy.save(folder / "data" / f"full_numpy_bitmap_{kind}.npy", made)


@maker
def letters(folder: Path) -> None:
    """Prototypical-Networks' Omniglot: pictures of letters of alphabets, and which of them are for what."""
    drawn = numpy.random.default_rng(45)
    root = folder.parent / "dataset"
    (root / "splits" / "vinyals").mkdir(parents=True)
    names = [f"Made/character{one:02}" for one in range(6)]
    for name in names:
        for number in range(4):
            _picture(root / "data" / name / f"{number:02}.png", drawn, (28, 28), levels=2)
    listed = "".join(f"{name}/rot{turn:03}\n" for name in names for turn in (0, 90))
    for part in ("train", "trainval", "val", "test"):
        (root / "splits" / "vinyals" / f"{part}.txt").write_text(listed)


@maker
def listed_pictures(folder: Path) -> None:
    """a-PyTorch-Tutorial-to-Super-Resolution's: pictures, and a list of them."""
    drawn = numpy.random.default_rng(47)
    for number in range(8):
        _picture(folder / "made" / f"{number}.png", drawn, (120, 110))
    (folder / "train_images.json").write_text(json.dumps([f"made/{number}.png" for number in range(8)]))


@maker
def classes_of_pictures(folder: Path) -> None:
    """meta-transfer-learning's: pictures in folders, one a class, of three parts."""
    drawn = numpy.random.default_rng(61)
    for part in ("train", "val", "test"):
        for number in range(24):
            _picture(folder / "made" / part / f"class{number % 3}" / f"{number:02}.png", drawn, (92, 92))


@maker
def mixtures(folder: Path) -> None:
    """voicefilter's: a voice to look for, its spectrum and that of a mixture, and weights for its embedder."""
    import torch

    drawn = numpy.random.default_rng(64)
    torch.manual_seed(64)
    made = folder / "made"
    made.mkdir(exist_ok=True)
    for number in range(4):
        for name in ("target", "mixed"):
            _sound(made / f"{number}-{name}.wav", drawn, 16000, 24000)
            torch.save(torch.rand(24, 601), made / f"{number}-{name}.pt")
        (made / f"{number}-dvec.txt").write_text(f"made/{number}-target.wav")
    lstm, linear = torch.nn.LSTM(40, 768, num_layers=3), torch.nn.Linear(768, 256)
    weights = {f"lstm.{name}": one for name, one in lstm.state_dict().items()}
    torch.save(
        {**weights, **{f"proj.linear_layer.{name}": one for name, one in linear.state_dict().items()}}, made / "e.pt"
    )


@maker
def spectra_of_speakers(folder: Path) -> None:
    """autovc's: spectra of what each speaker said, in a list with a vector for the speaker."""
    drawn = numpy.random.default_rng(65)
    made = folder / "spmel"
    listed = []
    for speaker in range(4):
        (made / f"s{speaker}").mkdir(parents=True, exist_ok=True)
        said = [f"s{speaker}/{number}.npy" for number in range(2)]
        for name in said:
            numpy.save(made / name, drawn.random((140, 80)).astype(numpy.float32))
        listed.append([f"s{speaker}", drawn.random(256).astype(numpy.float32), *said])
    (made / "train.pkl").write_bytes(pickle.dumps(listed))


@maker
def listed_voices(folder: Path) -> None:
    """melgan-neurips': WAV files, and lists of them to train and to test."""
    drawn = numpy.random.default_rng(66)
    for root in (folder / "made", folder.parent / "made"):
        for number in range(4):
            _sound(root / f"{number}.wav", drawn, 22050, 12000)
        for name in ("train", "test"):
            (root / f"{name}_files.txt").write_text("".join(f"{number}.wav\n" for number in range(4)))


@maker
def contexts(folder: Path) -> None:
    """LoRA's, for its GPT-2: tokens of a context and of what completes it, on each line."""
    drawn = numpy.random.default_rng(70)
    rows = [{name: drawn.integers(50, size=6).tolist() for name in ("context", "completion")} for _ in range(16)]
    for root in (folder, folder.parent):
        (root / "made.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
