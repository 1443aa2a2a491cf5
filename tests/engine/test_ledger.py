"""The ledger: every place that concerns CUDA is edited, reported, or cleared with a reason."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.engine.ledger import other_files
from npuify.engine.ledger.reasons import REASONS
from npuify.engine.ledger.unknown import RULE as UNKNOWN
from npuify.engine.ledger.vocabulary import Occurrence, occurrences
from npuify.engine.scan import scan
from npuify.migration import migrate
from npuify.model import State
from npuify.options import STYLES, Options
from npuify.project import find_files
from npuify.report import json_schema, render_migration, render_scan
from npuify.source.notebook.cells import read_notebook
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from npuify.model import LedgerEntry, ScanResult

ROOT = Path(__file__).parents[2]
OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)


CODE = {
    "python",
    "stub",
    "cython",
    "native",
    "cuda",
    "shell",
    "docker",
    "make",
    "just",
    "unit",
    "cmake",
    "yaml",
    "json",
    "toml",
    "ini",
    "env",
}


def scanned(root: Path, files: dict[str, str], **options: object) -> ScanResult:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return scan([root], msgspec.structs.replace(OPTIONS, **options))


def ledger(root: Path, text: str, name: str = "program.py", **options: object) -> list[tuple[str, str, str]]:
    """Word, state and code or reason of each place."""
    result = scanned(root, {name: text}, **options)
    return [(entry.word, entry.state.value, entry.by) for entry in result.ledger]


def unaccounted(root: Path, result: ScanResult) -> list[str]:
    """Files of code and settings of which the ledger has not exactly one entry for each place."""
    by_file: dict[str, list[LedgerEntry]] = {}
    for entry in result.ledger:
        by_file.setdefault(entry.file, []).append(entry)
    failed = {error.file for error in result.errors}
    code = {file.relative for file in find_files([root], kinds=CODE)} - failed
    wrong = []
    for relative in sorted(code | set(by_file)):
        entries = by_file.get(relative, [])
        try:
            text = Text((root / relative).read_bytes())
        except UnreadableText:
            continue
        if relative.endswith(".ipynb") or [entry.by for entry in entries] == ["data-file"]:
            continue
        places = [text.position(place.start) for place in occurrences(text.data, text.lower)]
        if places != [(entry.line, entry.column) for entry in entries]:
            wrong.append(relative)
    return wrong


class TestFiles:
    def test_code_and_settings_of_every_kind_are_accounted_for(self, tmp_path: Path) -> None:
        names = (
            *("a.py", "a.pyi", "a.pyx", "a.cu", "a.cuh", "a.cpp", "a.h", "a.sh", "Dockerfile", "Makefile", "justfile"),
            *("CMakeLists.txt", "a.yaml", ".pre-commit-config.yaml", "a.json", "a.toml", "pytest.ini", "a.cfg", ".env"),
        )
        text = {"a.json": '{"gpu": "a GPU"}', "a.toml": 'gpu = "a GPU"'}
        result = scanned(tmp_path, {name: text.get(name, "gpu = 'a GPU'\n") for name in names})
        assert {entry.file for entry in result.ledger} == set(names) - {error.file for error in result.errors}
        assert unaccounted(tmp_path, result) == []

    def test_code_that_is_compiled(self, tmp_path: Path) -> None:
        entries = ledger(tmp_path, "// for a GPU\n#include <cuda.h>\ncudaStream_t s;\n", "a.cu")
        assert [by for _, _, by in entries] == ["comment", "native-source", "native-source"]

    def test_a_file_of_data_is_named_and_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "vocabulary.json").write_text(json.dumps({f"gpu{i}": i for i in range(30_000)}))
        result = scanned(tmp_path, {"a.py": "import torch\n"})
        assert [(entry.file, entry.by) for entry in result.ledger] == [("vocabulary.json", "data-file")]

    def test_what_cannot_be_read_is_searched(self, tmp_path: Path) -> None:
        program = "# 训练\nimport torch\nx = torch.ones(2).cuda()  # 放到显卡\n"
        (tmp_path / "train.py").write_bytes(program.encode("gbk"))
        (tmp_path / "declared.py").write_bytes(f"# coding: gbk\n{program}".encode("gbk"))
        (tmp_path / "run.sh").write_bytes("# 训练\nexport CUDA_VISIBLE_DEVICES=0\n".encode("gbk"))
        cell = {"cell_type": "code", "source": ["x = torch.ones(2).cuda()"], "metadata": {}, "outputs": []}
        (tmp_path / "cut_off.ipynb").write_text(json.dumps({"cells": [cell, cell]})[:150])
        result = scanned(tmp_path, {})
        assert [(one.file, one.code, one.start.line) for one in result.findings] == [
            ("cut_off.ipynb", "NPU190", 1),
            ("declared.py", "NPU110", 4),
            ("run.sh", "NPU191", 2),
            ("train.py", "NPU190", 3),
        ]
        assert [(error.file, "coding: gbk" in error.advice) for error in result.errors] == [
            ("cut_off.ipynb", False),
            ("run.sh", False),
            ("train.py", True),
        ]
        assert [(entry.file, entry.word) for entry in result.ledger] == [
            ("cut_off.ipynb", "cuda"),
            ("declared.py", "cuda"),
            ("run.sh", "CUDA_VISIBLE_DEVICES"),
            ("train.py", "cuda"),
        ]

    def test_templates_of_programs_are_searched(self, tmp_path: Path) -> None:
        lines = ["import torch", "# on a GPU", "use_cuda = {{ cuda }}", "x = torch.ones({{ n }}).cuda()", "d = 'cuda'"]
        template, page = "\n".join(lines), "<p>A GPU with torch.cuda</p>\n"
        script = "export CUDA_VISIBLE_DEVICES={{ gpus }}\npython train.py --device cuda:0\n"
        result = scanned(tmp_path, {"train.py.j2": template, "run.sh.tmpl": script, "page.html.j2": page})
        assert [(one.file, one.code, one.start.line) for one in result.findings] == [
            ("run.sh.tmpl", "NPU190", 1),
            ("run.sh.tmpl", "NPU191", 2),
            ("train.py.j2", "NPU190", 4),
            ("train.py.j2", "NPU190", 5),
        ]
        assert unaccounted(tmp_path, result) == []

    @pytest.mark.parametrize(
        ("line", "is_code"),
        [
            ("exec('x = torch.ones(2).cuda()')", True),
            ("y = eval(\"torch.ones(3, device='cuda')\")", True),
            ("exec(compile('z = torch.zeros(1).cuda()', 'made', 'exec'))", True),
            ("subprocess.run([sys.executable, '-c', 'import torch; torch.cuda.is_available()'])", True),
            ("timeit.timeit('torch.cuda.synchronize()', setup='import torch')", True),
            ("subprocess.run(f\"{sys.executable} -c 'import torch; torch.cuda.init()'\", shell=True)", True),
            ("open('gen.py', 'w').write('import torch\\nprint(torch.ones(1).cuda())\\n')", True),
            ("text = string.Template('with torch.cuda.device($i): pass')", True),
            ("table = {'fn': 'lambda t: t.cuda()'}", True),
            ("exec('x = make(device=\"cuda\")')", True),
            ("sys.stdout.write('torch.cuda is slow: 3 cuda calls')", False),
            ("print('torch.cuda.is_available() is False')", False),
            ("raise ValueError('call x.cuda() first')", False),
            ("subprocess.run(['cat', 'out/cuda.txt'])", False),
        ],
    )
    def test_code_in_strings_is_told(self, line: str, is_code: bool, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"import subprocess, sys, timeit, torch\n{line}\n")
        assert {state == "reported" for word, state, _ in entries if word == "cuda"} == {is_code}

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("name = 'torch.cuda.amp'\nmodule = import_module(name)", True),
            ("import_module('.cuda', package='torch')", True),
            ("import_module('torch.{}'.format('cuda'))", True),
            ("import_module('.cuda', package=__package__)", False),
            ("import_module(f'{__package__}.cuda')", False),
            ("import_module('ops.cuda')", False),
            ("import_module('torch.backends.cudnn')", False),
        ],
    )
    def test_modules_imported_by_name_are_told(self, line: str, told: bool, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"from importlib import import_module\n{line}\n")
        assert {state == "reported" for _, state, _ in entries} == {told}

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("sys.modules['apex'] = fake", True),
            ("sys.modules.update({'torch.cuda': None})", True),
            ("patch.dict('sys.modules', {'apex': fake})", True),
            ("there = 'apex' in sys.modules", False),
            ("names = {'apex': 1}", False),
        ],
    )
    def test_what_is_put_in_the_place_of_a_module_is_told(self, line: str, told: bool, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"import sys\nfrom unittest.mock import patch\n\nfake = object()\n{line}\n")
        assert {state == "reported" for _, state, _ in entries} == {told}

    @pytest.mark.parametrize(
        ("line", "state"),
        [
            ("def f(m):\n    move = getattr(m, 'cuda')\n    return move()", "edited"),
            ("def f(m):\n    return getattr(m, 'cuda')", "reported"),
            ("def f(m):\n    return [getattr(one, 'cuda', None) for one in m]", "reported"),
            ("def f(args):\n    return getattr(args, 'cuda', False)", "cleared"),
            ("def f(args):\n    if getattr(args, 'cuda', None):\n        return 1", "cleared"),
        ],
    )
    def test_a_method_that_is_asked_for_by_its_name(self, line: str, state: str, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"import torch\n{line}\n", unsafe=True)
        assert {one for word, one, _ in entries if word == "cuda"} == {state}

    def test_a_guard_stands_for_its_own_import(self, tmp_path: Path) -> None:
        guarded = "try:\n    from triton.other import a\nexcept ImportError:\n    a = None\n"
        entries = ledger(tmp_path, f"import triton\nimport triton.language.extra as extra\n{guarded}")
        assert [state for word, state, _ in entries if word == "triton"] == ["reported", "reported", "cleared"]


class TestStates:
    def test_what_is_edited_reported_and_cleared(self, tmp_path: Path) -> None:
        text = (
            "import torch\n"
            "use_cuda = torch.cuda.is_available()  # with CUDA\n"
            "print('CUDA is there', use_cuda)\n"
            "torch.cuda.set_sync_debug_mode(1)\n"
        )
        found = ledger(tmp_path, text)
        assert found[:5] == [
            ("use_cuda", "cleared", "own-name"),
            ("cuda", "edited", "NPU101"),
            ("CUDA", "cleared", "comment"),
            ("CUDA", "cleared", "text"),
            ("use_cuda", "cleared", "own-name"),
        ]
        assert found[5][1] in ("edited", "reported")

    @pytest.mark.parametrize(
        ("line", "word", "reason"),
        [
            ('"""Trains on CUDA."""', "CUDA", "docstring"),
            ("parser.add_argument('--use-cuda')", "cuda", "option-name"),
            ("open('/usr/local/cuda/version.txt')", "cuda", "path"),
            ("table = {'cuda_hours': 1}", "cuda_hours", "key"),
            ("raise RuntimeError('cuda is missing')", "cuda", "text"),
            ("flags = ['-DWITH_CUDA=1']", "DWITH_CUDA", "build-flag"),
            ("def gpu_count(): ...", "gpu_count", "own-name"),
            ("args.gpu_id = 3", "gpu_id", "unknown-to-torch"),
            ("from .cuda_tools import x", "cuda_tools", "own-module"),
        ],
    )
    def test_reasons(self, line: str, word: str, reason: str, tmp_path: Path) -> None:
        assert (word, "cleared", reason) in ledger(tmp_path, f"{line}\n")

    def test_a_member_of_the_projects_own_class(self, tmp_path: Path) -> None:
        text = (
            "import torch\nclass Box:\n    def cuda(self):\n        return self\n\nbox = Box()\nbox.cuda()\n"
            "torch.cuda.init()\n"
        )
        entries = ledger(tmp_path, text)
        assert ("cuda", "cleared", "own-member") in entries

    def test_a_name_is_told_of_where_its_package_is(self, tmp_path: Path) -> None:
        text = "from apex.normalization import FusedLayerNorm\nimport apex\nprint(apex.__version__)\n"
        states = {state for _, state, by in ledger(tmp_path, text)}
        assert states <= {"reported", "edited"}

    def test_a_flag_called_like_a_package(self, tmp_path: Path) -> None:
        text = "class Config:\n    def __init__(self, **given):\n        self.flash_attn = given.get('flash_attn', True)\n\n\ndef fast(config):\n    return config.flash_attn\n"
        entries = ledger(tmp_path, text)
        assert [(word, state) for word, state, _ in entries] == [("flash_attn", "cleared")] * 3

    @pytest.mark.parametrize(
        "text",
        [
            "'device=cuda'.split('=')[1]",
            "json.loads('{\"device\": \"cuda\"}')['device']",
            "' cuda cpu'.split()[0]",
            "('cpu,cuda'.rsplit)(',', 1)[-1]",
        ],
    )
    def test_a_text_that_code_takes_apart_is_told_of(self, text: str, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"import json\nimport torch\ntorch.ones(1).to({text})\n")
        assert ("cuda", "reported", UNKNOWN.code) in entries

    @pytest.mark.parametrize("text", ["'cuda_0'.replace('_', ':')", "'cuda@0'.translate({64: 58})"])
    def test_a_text_that_a_device_may_be_made_of_is_told_of(self, text: str, tmp_path: Path) -> None:
        entries = ledger(tmp_path, f"import torch\nkind = {text}\ntorch.ones(1).to(kind)\n")
        assert [state for word, state, by in entries if word.startswith("cuda")] == ["reported"]
        entries = ledger(tmp_path, f"import torch\nprint({text})\n")
        assert [state for word, state, by in entries if word.startswith("cuda")] == ["cleared"]

    @pytest.mark.parametrize(
        ("made", "got", "other"),
        [
            ("class Kind(Enum):\n    cuda = 1\n", "list(Kind)[0].name", "Kind.cuda.value"),
            ("Kind = namedtuple('Kind', 'cuda cpu')(1, 0)\n", "Kind._fields[0]", "Kind[0]"),
            ("Kind = namedtuple(( 'Kind' ), 'cuda cpu')(1, 0)\n", "Kind._fields[0]", "Kind[0]"),
            ("class Kind(Enum):\n    cuda = 1\ntorch.ones(1, device='cuda')\n", "next(iter(Kind)).name", "Kind(1)"),
            (
                "p = ArgumentParser()\np.add_argument('--cuda', action='store_true')\n",
                "next(name for name, value in vars(p.parse_args()).items() if value)",
                "[(name, value) for name, value in vars(p.parse_args()).items()]",
            ),
        ],
        ids=["enum", "namedtuple", "namedtuple in parentheses", "enum beside a device", "option"],
    )
    def test_a_name_that_becomes_a_text_is_told_of(self, made: str, got: str, other: str, tmp_path: Path) -> None:
        imports = "from argparse import ArgumentParser\nfrom collections import namedtuple\nfrom enum import Enum\nimport torch\n"
        for use, expected in ((got, [("reported", UNKNOWN.code)]), (other, [])):
            entries = ledger(tmp_path, f"{imports}{made}print(torch.ones(1).to({use}))\n")
            assert [(state, by) for word, state, by in entries if by == UNKNOWN.code] == expected

    def test_words_that_something_is_sought_in_are_told_of(self, tmp_path: Path) -> None:
        for text, state in (
            ("x.device.type in 'cuda mps'", "reported"),
            ("print('cuda mps')", "cleared"),
            ("print('in', 'cuda mps')", "cleared"),
        ):
            entries = ledger(tmp_path, f"import torch\nx = torch.ones(1)\ny = {text}\n")
            assert [found for word, found, by in entries if word == "cuda"] == [state]

    def test_a_guarded_import(self, tmp_path: Path) -> None:
        text = "try:\n    import cupy\nexcept ImportError:\n    cupy = None\nprint(cupy)\n"
        assert all(by != UNKNOWN.code for _, _, by in ledger(tmp_path, text))

    def test_what_a_comment_silences(self, tmp_path: Path) -> None:
        entries = ledger(tmp_path, "import torch\ntorch.cuda.init()  # npuify: ignore\n")
        assert ("cuda", "cleared", "suppressed") in entries

    def test_what_the_automatic_style_leaves_to_the_run(self, tmp_path: Path) -> None:
        text = "import torch\nif __name__ == '__main__':\n    torch.cuda.synchronize()\n"
        assert ("cuda", "cleared", "at-run-time") in ledger(tmp_path, text, style="auto")

    @pytest.mark.parametrize(
        ("name", "text", "word", "reason"),
        [
            ("a.sh", "# with CUDA\necho on CUDA\n", "CUDA", "comment"),
            ("a.sh", "echo on CUDA\n", "CUDA", "message"),
            ("a.sh", "NUM_GPUS=8 ./x\n", "NUM_GPUS", "own-name"),
            ("a.sh", "python a.py --num-gpus 8\n", "gpus", "option-name"),
            ("a.yaml", "name: tests on CUDA\n", "CUDA", "text"),
            ("a.yaml", "gpu_count: 8\n", "gpu_count", "setting"),
            ("requirements.txt", "torch==2.1\nnvidia-nccl-cu12==2.1 ; sys_platform == 'linux'\n", "nccl", "locked"),
        ],
    )
    def test_other_files(self, name: str, text: str, word: str, reason: str, tmp_path: Path) -> None:
        found = ledger(tmp_path, text, name)
        assert any(one == word and (by == reason or state != "cleared") for one, state, by in found), found


class TestUnknown:
    def test_is_reported(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, {"a.py": "import faiss\nindex = faiss.Kmeans(3, gpu=True)\n"})
        assert [(one.code, one.subject) for one in result.findings] == [(UNKNOWN.code, "gpu")]

    def test_keeps_the_verdict_from_saying_that_it_runs(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, {"a.py": "import torch\nimport faiss\nindex = faiss.Kmeans(3, gpu=True)\n"})
        assert json.loads(render_scan(result, "json"))["verdict"]["level"] == "review"

    def test_can_be_silenced(self, tmp_path: Path) -> None:
        text = "import faiss\nindex = faiss.Kmeans(3, gpu=True)  # npuify: ignore[NPU191]\n"
        assert scanned(tmp_path, {"a.py": text}).findings == ()

    def test_stays_known_after_a_migration(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text(
            "import torch, faiss\nt = torch.zeros(1).cuda()\ni = faiss.Kmeans(3, gpu=True)\n"
        )
        result = migrate(tmp_path, None, OPTIONS, mode="diff")
        assert UNKNOWN.code in {one.code for one in result.left}

    def test_a_text_of_many_lines_is_one_place(self, tmp_path: Path) -> None:
        text = 'SOURCE = """\n#include <cuda.h>\n__global__ void k() {}\n// cuda again\n"""\nbuild(SOURCE)\n'
        result = scanned(tmp_path, {"a.py": text})
        assert len([one for one in result.findings if one.code == UNKNOWN.code]) <= 1
        assert len(result.ledger) == 2


class TestEveryPlace:
    @pytest.mark.parametrize("style", STYLES)
    @pytest.mark.parametrize("folder", ["examples", "tests/cases", "tests/data"])
    def test_has_one_entry(self, folder: str, style: str) -> None:
        root = ROOT / folder
        result = scan([root], msgspec.structs.replace(OPTIONS, style=style))
        assert unaccounted(root, result) == []
        assert all(entry.by in REASONS for entry in result.ledger if entry.state is State.CLEARED)
        assert all(entry.by.startswith("NPU") for entry in result.ledger if entry.state is not State.CLEARED)

    def test_of_damaged_files_too(self, tmp_path: Path) -> None:
        chance = random.Random(7)
        sources = sorted((ROOT / "examples").rglob("*.py"))
        for number, source in enumerate(sources):
            raw = source.read_bytes()
            at, size = chance.randrange(len(raw) + 1), chance.randrange(30)
            (tmp_path / f"f{number}.py").write_bytes(raw[:at] + raw[at + size :])
        result = scan([tmp_path], OPTIONS)
        assert unaccounted(tmp_path, result) == []

    def test_of_a_notebook(self, tmp_path: Path) -> None:
        cells = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
            for source in ("import torch\nt = torch.zeros(1).cuda()  # CUDA", "!nvidia-smi", "x = (\ntorch.cuda")
        ]
        text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
        assert read_notebook(text.encode()).is_python
        entries = ledger(tmp_path, text, "a.ipynb")
        assert [word for word, _, _ in entries] == ["cuda", "CUDA", "nvidia", "cuda"]


class TestReports:
    FILES = {"a.py": "import torch\nt = torch.zeros(1).cuda()\nprint('on CUDA', '<cuda>')\n"}  # noqa: RUF012

    def test_counts_stand_in_every_report(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, self.FILES)
        counts = "edited 1 · reported 0 · left alone 2"
        assert counts in render_scan(result, "text")
        assert counts in render_scan(result, "markdown")
        assert counts in render_scan(result, "html")

    def test_the_list_is_asked_for(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, self.FILES)
        assert "Left alone: 1 text" not in render_scan(result, "text")
        assert "a.py:3:11 CUDA" in render_scan(result, "text", ledger=True)

    def test_json(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, self.FILES)
        short, whole = (json.loads(render_scan(result, "json", ledger=ask))["ledger"] for ask in (False, True))
        assert (short["edited"], short["reported"], short["cleared"], short["entries"]) == (1, 0, 2, [])
        assert Counter(one["state"] for one in whole["entries"]) == {"edited": 1, "cleared": 2}
        assert "LedgerEntry" in json_schema()

    def test_lines(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, self.FILES)
        lines = [json.loads(line) for line in render_scan(result, "jsonl", ledger=True).splitlines()]
        assert len([line for line in lines if line["type"] == "ledger"]) == 3

    def test_nothing_of_the_project_is_markup(self, tmp_path: Path) -> None:
        result = scanned(tmp_path, {"<b>cuda.py": "x = '<script>cuda</script>'\n"})
        page = render_scan(result, "html")
        assert "<script>cuda" not in page
        assert "<b>cuda.py" not in page

    def test_a_migration_has_them_too(self, tmp_path: Path) -> None:
        scanned(tmp_path, self.FILES)
        assert "edited 1 · reported 0 · left alone 2" in render_migration(
            migrate(tmp_path, None, OPTIONS, mode="diff"), "text"
        )


def test_the_help_of_an_option_is_text_whatever_the_option_is_given(tmp_path: Path) -> None:
    program = (
        "import argparse\nimport torch\np = argparse.ArgumentParser()\n"
        "p.add_argument('--gpu-id', type=int, help='id(s) for CUDA_VISIBLE_DEVICES')\n"
        "x = torch.ones(1).cuda(p.parse_args().gpu_id)\n"
    )
    found = scanned(tmp_path, {"a.py": program})
    assert [one.code for one in found.findings] == ["NPU110"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\nexec('x = torch.ones(1).cuda()')\n", "exec() runs this text as code"),
        ("import torch\ncode = 'x = torch.ones(1).cuda()'\nexec(code)\n", "exec() runs this text as code"),
        ("import torch\neval('torch.cuda.is_available()')\n", "eval() runs this text as code"),
        ("import torch\nkeep('x = torch.ones(1).cuda()')\n", "what becomes of cuda in this string"),
    ],
)
def test_code_in_a_text_is_told_as_that(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(text)
    (one,) = [one for one in scan([tmp_path], Options(jobs=1, cache=False)).findings if one.code == "NPU191"]
    assert one.message.startswith(said)


class TestSeveralPlaces:
    """Places that one look settles are one finding; the ledger has each of them."""

    def test_a_name_of_a_package(self, tmp_path: Path) -> None:
        text = "import cvlib\n\nif cvlib.cuda.devices():\n    frame = cvlib.cuda.resize(frame)\n"
        result = scanned(tmp_path, {"a.py": text})
        told = [one for one in result.findings if one.code == UNKNOWN.code]
        assert [(one.start.line, one.message) for one in told] == [
            (3, "what cuda stands for is not known; the same on line 4")
        ]
        assert [(one.line, one.state.value) for one in result.ledger] == [(3, "reported"), (4, "reported")]

    def test_a_word_of_a_build(self, tmp_path: Path) -> None:
        text = "option(USE_CUDA ON)\nif(USE_CUDA)\n  message(STATUS cuda)\nendif()\nset(X ${USE_CUDA})\n"
        result = scanned(tmp_path, {"CMakeLists.txt": text})
        told = [(one.subject, one.start.line) for one in result.findings if one.code == UNKNOWN.code]
        assert len(told) == len({subject for subject, _ in told})
        assert unaccounted(tmp_path, result) == []

    def test_what_is_uninstalled(self, tmp_path: Path) -> None:
        text = "RUN pip uninstall -y torch \\\n    apex tensorrt && pip install apex\n"
        entries = ledger(tmp_path, text, "Dockerfile")
        assert [(word, by) for word, _, by in entries if by != "NPU607"][:2] == [
            ("apex", "works-unchanged"),
            ("tensorrt", "works-unchanged"),
        ]


def test_a_device_in_quotes_is_not_cleared_by_its_text(tmp_path: Path) -> None:
    text = "import torch\nd = torch.device('cuda')\nif repr(d.type) == \"'cuda'\":\n    print('(cuda)')\n"
    result = scanned(tmp_path, {"program.py": text})
    assert [(one.code, one.start.line) for one in result.findings if one.start.line > 2] == [("NPU191", 3)]


@pytest.mark.parametrize(
    ("before", "inside", "behind"),
    [(b"a=", b"x-cuda.so", b";b"), (b"", b"cuda", b""), (b"one\n", b"/cuda/y", b"\ntwo"), (b'"', b"A" * 100_000 + b"cuda" + b"B" * 100_000, b'"')],
)  # fmt: skip
def test_the_word_around_a_place_of_a_script(before: bytes, inside: bytes, behind: bytes) -> None:
    """Also in a word as long as a picture in a notebook: it was read letter by letter, backwards and forwards."""
    start = len(before) + inside.index(b"cuda")
    found = other_files._token(before + inside + behind, Occurrence(start, start + 4))
    assert found == (len(before), len(before) + len(inside))
