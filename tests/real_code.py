"""Real code for property tests: modules of the standard library and of npuify's own dependencies, with CUDA put in."""

from __future__ import annotations

import ast
import importlib.util
import os
import random
import re
from functools import cache
from pathlib import Path

MODULES = (
    "argparse", "ast", "asyncio.base_events", "calendar", "collections", "configparser", "contextlib",
    "copy", "dataclasses", "difflib", "doctest", "email.header", "enum", "fractions", "functools", "heapq",
    "hypothesis.core", "inspect", "json.encoder", "logging", "optparse", "packaging.version", "pathlib", "pathspec.util",
    "pickle", "pytest", "_pytest.fixtures", "random", "rich.console", "rich.progress", "shutil", "statistics", "string",
    "subprocess", "tarfile", "textwrap", "threading", "tokenize", "traceback", "typer.core", "typing", "unittest.mock",
    "urllib.request", "uuid", "zipfile",
)  # fmt: skip

LINES = (
    "torch.cuda.is_available()",
    "torch.cuda.synchronize(); x.cuda(non_blocking=True)",
    "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')",
    "from torch import cuda",
    "import torch.cuda.amp as amp; scaler = amp.GradScaler()",
    "with torch.cuda.amp.autocast(enabled=True): pass",
    "dist.init_process_group(backend='nccl', init_method=f'tcp://{host}')",
    "torch = None",
    "y = self.x.to('cuda') if x.is_cuda else {'cuda': 1, 'cpu': [torch.cuda.current_device()]}['cuda']",
    "print('on cuda', f'{torch.cuda.device_count()} {x.device.type == \"cuda\"}')",
    "os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
    "try: pass\n{indent}except torch.cuda.OutOfMemoryError as torch: pass",
    "z = [t.cuda() for t in (lambda c=torch.cuda: c.Event())()]  # npuify: ignore[NPU110]",
    "if torch.cuda.get_device_capability()[0] >= 8 and (v := torch.version.cuda): pass",
    "t = torch.cuda.FloatTensor(3).fill_(0); torch.set_default_tensor_type('torch.cuda.FloatTensor')",
    "'''torch.cuda.init()'''; \"\"\"\n'cuda'\ntorch.cuda\"\"\"",
    "torch.backends.cudnn.benchmark = True; torch.manual_seed(0)",
    "训练 = torch.cuda.Stream(); 训练.wait_stream(torch.cuda.current_stream())",
)
"""Statements to put in. ``{indent}`` stands for the blanks before them."""

_BODY = re.compile(r"^([ \t]*)(?:async )?(?:def|class) [^\n]*:[ \t]*\n([ \t]+)", re.MULTILINE)
_HEAD = re.compile(r"^(?:def|class|@)", re.MULTILINE)


ALL = os.environ.get("NPUIFY_TESTS") == "all"
"""Whether whole modules and many seeds are tried (``./check all``); else the beginnings of the modules, with few."""
LENGTH = 400
"""Lines of a module's beginning; the statement at the end is whole."""


@cache
def text_of(module: str) -> str:
    """The source of a module."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    text = Path(spec.origin).read_text("utf-8")
    return text if ALL else beginning(text)


def beginning(text: str) -> str:
    """``text`` up to the end of the statement that its first lines end in."""
    ends = [node.end_lineno or 0 for node in ast.parse(text).body]
    return "".join(text.splitlines(keepends=True)[: next((end for end in ends if end >= LENGTH), None)])


def with_cuda(text: str, chance: random.Random, count: int = 4, lines: tuple[str, ...] = LINES) -> str:
    """``text`` with ``count`` of ``lines`` as first statements of functions and classes, which parses if ``text`` did."""
    bodies = list(_BODY.finditer(text))
    places: list[tuple[int, str]] = [(match.start(2), match.group(2)) for match in bodies]
    chosen = sorted(chance.sample(places, min(count, len(places))), reverse=True)
    for place, indent in chosen:
        line = chance.choice(lines).replace("{indent}", indent)
        # In front of a docstring, too: only its being one is lost.
        text = f"{text[:place]}{indent}{line}\n{text[place:]}"
    head = _HEAD.search(text)
    if head is not None and chance.random() < 0.8:
        start = head.start()
        text = f"{text[:start]}import torch\n{text[start:]}"
    return text


def with_lines(text: str, chance: random.Random, count: int, lines: tuple[str, ...]) -> str:
    """``text`` with ``count`` of ``lines`` at the left margin, in front of functions and classes."""
    for _ in range(count):
        place = chance.choice([match.start() for match in _HEAD.finditer(text)] or [0])
        text = f"{text[:place]}{chance.choice(lines)}\n{text[place:]}"
    return text


def damaged(text: str, chance: random.Random, count: int = 3) -> str:
    """``text`` with lines deleted, swapped, repeated, moved in or cut off; it may no longer parse."""
    lines = text.splitlines(keepends=True)
    for _ in range(count):
        place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        change = chance.randrange(6)
        if change == 0:
            del lines[place]
        elif change == 1:
            lines[place], lines[other] = lines[other], lines[place]
        elif change == 2:
            lines.insert(place, lines[other])
        elif change == 3:
            lines[place] = " " * chance.randrange(5) + lines[place]
        elif change == 4:
            lines[place] = lines[place][: chance.randrange(len(lines[place]) + 1)]
        else:
            lines.insert(place, chance.choice(LINES).replace("{indent}", "") + chance.choice(["\n", "\r\n", "\r", ""]))
    return "".join(lines)
