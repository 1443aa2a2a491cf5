"""Rates over the zoo: how many faults are found at the right module, and how many sound pairs raise an alarm.

    python -m tools.verify_faults.zoo.rates [--set open|blind|all] [--only NAME] [--simulated | --cuda]
        [--sound] [--write FILE] [--show]

``NPUIFY_ZOO`` names a folder with public projects (see public.py); without it, only models of our own are tried. The
blind set is chosen by the models' names alone. Each fault is planted at one place of each model that can have it, which
the names choose, too. With ``--cuda``, what is held against the sound run on the CPU ran on a CUDA device, so that
every fault has to be told from the rounding of another device's kernels.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from npuify.model import NpuifyError
from npuify.verify.capture.launch import capture
from npuify.verify.capture.settings import Settings
from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.sources.capture import read
from tools.verify_faults.running import capture_all, forked
from tools.verify_faults.zoo.subject import is_blind

PROGRAM = Path(__file__).with_name("train.py")
OWN = (
    "lstm tagger", "gru series", "gan", "translation", "vit", "unet", "vae", "diffusion", "mixture of experts",
    "cached decoder", "graph", "contrast", "waves", "example classifier", "example gpt",
)  # fmt: skip
PUBLIC = (
    "nanoGPT", "minGPT", "Pytorch-UNet", "pytorch-cifar LeNet", "pytorch-cifar MobileNetV2",
    "pytorch-cifar PreActResNet18", "pytorch-cifar ShuffleNetV2", "attention-is-all-you-need", "DiT", "litgpt",
    "guided-diffusion", "examples words LSTM", "examples words GRU", "examples words transformer",
    "examples super resolution", "examples style", "examples gat", "tacotron2", "timm vit", "timm convnext",
    "timm swin", "timm ghostnet", "timm efficientnet", "timm mobilenetv3", "transformers GPT2", "transformers Llama",
    "transformers Qwen2", "transformers Mixtral", "transformers Mamba", "transformers T5", "transformers Bert",
    "transformers Whisper", "diffusers UNet2D", "diffusers AutoencoderKL",
)  # fmt: skip
WAYS = ("another device", "one thread more", "other kernels", "autocast to bfloat16", "bfloat16")
SIMULATED = "simulated NPU"
CUDA_WAYS = ("CUDA", "CUDA with TF32", "autocast to bfloat16", "bfloat16")
SETTINGS = Settings(steps=2)
ROUNDING = 2e-6
"""The largest error of a result that sound pairs in float32 have: what is less cannot be told from rounding."""


_NONE = ("no effect", "too small", "failed")


class Outcome(NamedTuple):
    """What came of one pair."""

    model: str
    blind: bool
    what: str
    """The fault, or the way."""
    fault: bool
    module: str
    result: str
    """``found``, ``elsewhere``, ``missed``, ``no effect``, ``too small``; ``quiet``, ``alarm``; ``failed``."""
    told: str


def simulated(name: str) -> list[Outcome]:
    """The CPU against a simulated NPU, each in a process of its own, as users run them."""
    program = [str(PROGRAM), "--model", name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        captures = {}
        try:
            for device, how in (("cpu", "cpu"), ("npu", "simulated")):
                captures[device] = folder / device
                capture([*program, "--device", device], captures[device], SETTINGS, device=how)
            result = compare(captures["cpu"], captures["npu"])
        except NpuifyError as error:
            return [Outcome(name, is_blind(name), SIMULATED, False, "", "failed", str(error))]
        said = f"largest error {result.worst:.2g}" if result.agrees else _said(result)
        return [Outcome(name, is_blind(name), SIMULATED, False, "", "quiet" if result.agrees else "alarm", said)]


def tried(name: str, cuda: bool = False, sound_only: bool = False) -> list[Outcome]:
    """All pairs of one model that differ in a fault, or in the way of computing; with ``cuda``, in the device, too."""
    blind = is_blind(name)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        told = folder / "census.json"
        warm = _warm(name)
        done = forked([{"environment": {}, "arguments": [str(PROGRAM), "--model", name, "--census", str(told)]}], warm)
        if not told.is_file():
            return [Outcome(name, blind, "census", False, "", "failed", done.stderr[-600:])]
        known = json.loads(told.read_text())
        wanted = {"": [str(PROGRAM), "--model", name]}
        ways = [way for way in (CUDA_WAYS if cuda else WAYS) if way != "bfloat16" or known["half"]]
        other = [str(PROGRAM), "--model", name, *(["--device", "cuda"] if cuda else [])]
        for way in ways:
            wanted[way] = [*other, "--way", way]
        for fault, module, what in () if sound_only else known["plan"]:
            wanted[fault] = [*other, "--fault", fault, "--module", module, "--what", what]
        failures: dict[str, str] = {}
        captures = capture_all(wanted, folder, SETTINGS, warm=warm, failures=failures, cuda=cuda)
        if "" not in captures:
            return [Outcome(name, blind, "sound", False, "", "failed", failures.get("", ""))]
        found = [_sound(name, blind, way, captures, failures.get(way, "")) for way in ways]
        if sound_only:
            return found
        sound = captures.get("CUDA") if cuda else None
        found += [_fault(name, blind, one, captures, sound) for one in known["plan"]]
        return found


def _warm(name: str) -> list[str]:
    if name.startswith("transformers"):
        return ["transformers.modeling_utils"]
    return ["diffusers.models.modeling_utils"] if name.startswith("diffusers") else []


def _sound(name: str, blind: bool, way: str, captures: dict[str, Path], why: str) -> Outcome:
    if way not in captures:
        return Outcome(name, blind, way, False, "", "failed", why.strip()[-400:])
    try:
        result = compare(captures[""], captures[way], allow=["same-device"])
    except NpuifyError as error:
        return Outcome(name, blind, way, False, "", "alarm", str(error))
    fresh = [
        max((one.error for one in result.points if one.direction == way and one.error > 10 * one.before), default=0.0)
        for way in ("forward", "backward")
    ]
    said = f"largest error {result.worst:.2g}, not grown from another {fresh[0]:.2g} and {fresh[1]:.2g} (backward)"
    if not result.agrees:
        said = f"{_said(result)}; {said}"
    return Outcome(name, blind, way, False, "", "quiet" if result.agrees else "alarm", said)


def _fault(name: str, blind: bool, planted: list[str], captures: dict[str, Path], sound: Path | None) -> Outcome:
    from tools.verify_faults.zoo.plant import EXPECTED

    fault, module, _ = planted
    if fault not in captures:
        return Outcome(name, blind, fault, True, module, "failed", "the program failed")
    try:
        result = compare(captures[""], captures[fault], allow=["same-device"])
    except NpuifyError as error:
        return Outcome(name, blind, fault, True, module, "elsewhere", str(error))
    expected = EXPECTED[fault]
    first = result.first
    if fault == "float64 lost" and first is None:
        first = next((one for one in result.differences if one.kind == "float64-lost"), None)
    if first is None:
        same = _identical(captures[""], captures[fault])
        usual = 0.0 if sound is None else 2 * compare(captures[""], sound, allow=["same-device"]).worst
        small = "too small" if result.worst < max(ROUNDING, usual) else "missed"
        return Outcome(name, blind, fault, True, module, "no effect" if same else small, f"worst {result.worst:.2g}")
    words = " ".join([first.message, *(one.text for one in first.explanations)])
    right = first.kind in expected.kinds and expected.words in words and _at(first.name, fault, module)
    return Outcome(name, blind, fault, True, module, "found" if right else "elsewhere", _said(result))


def _at(name: str, fault: str, module: str) -> bool:
    if module != "the program":
        return name == module
    if fault == "data order off":
        return "." not in name
    if fault == "loss not divided":
        return name == module
    return name.startswith(("the optimizer", "optimizer "))


def _said(result: Any) -> str:
    first = result.first
    if first is None:
        return "agree"
    where = f" ({first.where})" if first.where else ""
    return f"{first.kind} at {first.name}, step {first.step}{where}: {first.message}"


def _identical(a: Path, b: Path) -> bool:
    """Whether both captures hold the same bytes of results, gradients and parameters: nothing was planted at all."""
    left, right = (_values(read(one).ranks[0]) for one in (a, b))
    return left == right


def _values(rank: Any) -> list[Any]:
    found: list[Any] = [(call.name, [(one.norm, one.mean, _bytes(one)) for one in call.outputs]) for call in rank.calls]
    return found + [
        (value.name, value.when, value.tensor.norm, _bytes(value.tensor)) for value in rank.values if value.tensor
    ]


def _bytes(tensor: Any) -> bytes:
    values = tensor.load() if tensor.load is not None else None
    return values.tobytes() if values is not None else b""


def summary(outcomes: list[Outcome]) -> list[str]:
    """Both rates, of the open and of the blind set, and by fault."""
    lines = []
    for blind in (False, True):
        own = [one for one in outcomes if one.blind is blind]
        if not own:
            continue
        faults = [one for one in own if one.fault and one.result not in _NONE]
        sound = [one for one in own if not one.fault and one.result in ("quiet", "alarm")]
        count = {word: sum(one.result == word for one in own) for word in ("found", "elsewhere", "missed", *_NONE)}
        alarms = sum(one.result == "alarm" for one in sound)
        lines.append(
            f"{'blind' if blind else 'open '} set: {len({one.model for one in own})} models; faults: "
            f"{count['found']} of {len(faults)} found at their module, {count['elsewhere']} told of another, "
            f"{count['missed']} missed ({count['no effect']} more changed no bit, {count['too small']} less than "
            f"rounding does); sound pairs: {alarms} alarms in {len(sound)}; "
            f"{sum(one.result == 'failed' for one in own)} failed"
        )
    by: dict[str, list[str]] = defaultdict(list)
    for one in outcomes:
        if one.result not in _NONE:
            by[one.what].append(one.result)
    for what, results in sorted(by.items()):
        good = sum(word in ("found", "quiet") for word in results)
        lines.append(f"  {what:24} {good:3} of {len(results)}")
    return lines


def main() -> int:
    """Exit code 1 where a sound pair raised an alarm, or a fault was not found at its module."""
    parser = argparse.ArgumentParser(prog="python -m tools.verify_faults.zoo.rates")
    parser.add_argument("--set", choices=("open", "blind", "all"), default="all")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--own", action="store_true", help="models of our own only")
    parser.add_argument("--simulated", action="store_true", help="only the CPU against a simulated NPU")
    parser.add_argument("--cuda", action="store_true", help="the CPU against a CUDA device, sound and with faults")
    parser.add_argument("--sound", action="store_true", help="sound pairs only, no faults")
    parser.add_argument("--show", action="store_true", help="also print what was right")
    parser.add_argument("--write", type=Path, help="write each outcome into this file, as JSON lines")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    import os

    names = options.only or [*OWN, *([] if options.own or "NPUIFY_ZOO" not in os.environ else PUBLIC)]
    names = [name for name in names if options.set == "all" or is_blind(name) == (options.set == "blind")]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(
            simulated if options.simulated else partial(tried, cuda=options.cuda, sound_only=options.sound), names
        ):
            outcomes += found
            for one in found:
                if options.show or one.result not in ("found", "quiet", "no effect", "too small"):
                    print(f"{one.result:9} {one.model:26} {one.what:22} {one.module:40} {one.told}", flush=True)
            if options.write:
                with options.write.open("a", encoding="utf-8") as lines:
                    lines.writelines(json.dumps(one._asdict()) + "\n" for one in found)
            good = sum(one.result in ("found", "quiet") for one in found)
            print(f"          {found[0].model}: {good} of {len(found)}", flush=True)
    print("\n".join(summary(outcomes)))
    return int(any(one.result in ("alarm", "missed", "elsewhere", "failed") for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
