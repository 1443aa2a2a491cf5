"""Nothing that a person is told in Chinese is an English sentence: findings, reports, explanations, help, errors."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer.testing
from tools.catalogs.domains import COMMENTED, files_with_texts

import npuify
from npuify import api
from npuify.cli.common.language import run_in_language
from npuify.cli.common.program import _COMMANDS, program
from npuify.distribute.codes import CODES
from npuify.engine.ledger.reasons import REASONS
from npuify.knowledge.third_party.replacements import families
from npuify.language import phrase, plural, speaking
from npuify.options import Options
from npuify.report import render_scan
from npuify.report.answers import render_explanation, render_rules
from npuify.run.patches import PATCHES
from npuify.scripts.template import in_language

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).resolve().parents[1] / "cases"

_CODE = re.compile(
    r"(?:npuify|python|pip|git|bash|docker|torchrun) [^\u4e00-\u9fff，。；：（）]*|`+[^`\n]*`+|\"[^\"\n]*\"|'[^'\n]*'|“[^”\n]*”|</?\w[^>]*>|\([^()\u4e00-\u9fff]*\)|\[[^\[\]\u4e00-\u9fff]*\]|[^\s`]*[_./=\\<>(){}\[\]*#$@|][^\s`]*"
    r"|(?<!\w)--?[\w-]+|[A-Za-z]*\d\w*"
)
"""What is no prose: code between backticks and quotes, markup, paths, calls, options, numbers."""
_SENTENCE = re.compile(r"(?<![\w-])[A-Za-z]?[a-z]+(?:,? [a-z]+){2,}(?![\w-])")
"""Three English words in a row, of which only the first may have a capital letter."""

_NAMES = re.compile("dual batch overlap")
"""Names of things that stay in English."""


def english_in(text: str) -> list[str]:
    """The pieces of a text that read as English prose."""
    return _SENTENCE.findall(_NAMES.sub("¦", _CODE.sub(" ¦ ", text)))


def english_lines(text: str, *, code: str = "") -> Iterator[str]:
    """The lines of a text with English prose in them, without those of ``code``."""
    known = {line.strip() for line in code.splitlines()}
    for line in text.splitlines():
        # Markdown marks brackets that are none of its own.
        if line.strip() not in known and english_in(re.sub(r"\\([\[\]])", r"\1", line)):
            yield line


def test_english_is_seen() -> None:
    assert english_in("这里 it has no effect 在 NPU 上")
    assert english_in("use autocast and GradScaler")
    assert not english_in("请使用 `torch.cuda.is_available()`，或 torch.npu.amp 的 GradScaler")
    assert not english_in("batch、loss、checkpoint、rank")


@pytest.fixture
def chinese() -> Iterator[None]:
    with speaking("zh"):
        yield


def written_cases(folder: Path) -> None:
    """Write the file of each case of the rules to a folder of its own."""
    for number, case in enumerate(sorted(CASES.glob("*/*.in.*"))):
        place = folder / f"{case.parent.name}_{number}"
        place.mkdir()
        (place / case.name.replace(".in.", ".")).write_bytes(case.read_bytes())


def test_findings_and_reports(tmp_path: Path) -> None:
    folder = tmp_path
    written_cases(folder)
    result = npuify.scan([folder], Options(cache=False, jobs=1, language="zh"))
    assert result.findings
    said = {text for one in result.findings for text in (one.message, one.advice)}
    wrong = {f"{one.code}: {text}" for one in result.findings for text in (one.message, one.advice) if english_in(text)}
    assert not wrong, f"{len(wrong)} of {len(said)}:\n" + "\n".join(sorted(wrong))
    code = "\n".join(path.read_text("utf-8", "replace") for path in folder.rglob("*.*") if path.is_file())
    for format in ("text", "markdown"):
        assert not list(english_lines(render_scan(result, format), code=code)), format
    page = re.sub(r"<(script|style)\b.*?</\1>|<(pre|code)\b.*?</\2>", " ", render_scan(result, "html"), flags=re.DOTALL)
    assert not list(english_lines(html.unescape(re.sub(r"<[^>]+>", "\n", page)), code=code))


def test_codes_of_a_conversion(chinese: None) -> None:
    texts = {code: (one.summary, one.explanation) for code, one in CODES.items()}
    assert not {code: text for code, both in texts.items() for text in both if phrase(text) == text}


def test_patches(chinese: None) -> None:
    said = {patch.name: phrase(patch.summary) for patch in PATCHES}
    assert not {name: text for name, text in said.items() if english_in(text) or text.isascii()}


def test_reasons_for_which_a_place_is_cleared(chinese: None) -> None:
    for one in REASONS.values():
        said = (plural(f"{{count}} {one.one}", f"{{count}} {one.many}", 2), phrase(one.many), phrase(one.text))
        assert not [text for text in said if text.isascii()], one


@pytest.mark.parametrize("kind", COMMENTED)
def test_comments_of_written_files(kind: str, chinese: None) -> None:
    """Of launch scripts, of a new project and of a guide: no comment is in English."""
    files = [path for path in files_with_texts() if path.suffix == kind]
    assert files
    for path in files:
        left = [line.partition("# ")[2] for line in in_language(path.read_text("utf-8")).splitlines() if "# " in line]
        assert not [text for text in left if english_in(text) and "shellcheck" not in text], path


JSON = (
    "doctor --format json",
    "launch train.py --cards 8 --format json",
    "distribute . -o ../made --entry train.py --format json",
    "checklist . --format json",
    "diagnose run.log --format json",
    "verify loss one.log two.log --format json",
)
"""Command lines whose JSON holds texts, and names their language."""
OF_A_PROJECT = {
    "train.py": "import torch\nfrom torch.utils.data import DataLoader\nmodel = torch.nn.Linear(2, 1).cuda()\n"
    "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor x, y in DataLoader([(torch.ones(2), torch.ones(1))]):\n"
    "    loss = (model(x.cuda()) - y.cuda()).sum()\n    loss.backward()\n    optimizer.step()\n",
    "run.log": 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB\n",
    "one.log": "".join(f"step {step} loss {3 / (step + 1):.4f}\n" for step in range(60)),
    "two.log": "".join(f"step {step} loss {3 / (step + 1) + step / 100:.4f}\n" for step in range(60)),
}


@pytest.mark.parametrize("line", JSON)
def test_json_of_commands(
    line: str, chinese: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name, text in OF_A_PROJECT.items():
        (project / name).write_text(text)
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "argv", ["npuify", *line.split()])
    with pytest.raises(SystemExit):
        run_in_language(program(line.split()[0]))
    document = json.loads(capsys.readouterr().out)
    assert document["language"] == "zh"
    wrong = [text for text in _english_texts(document) if not text.startswith(NO_TEXTS)]
    assert not wrong


NO_TEXTS = (
    "commands:",
    "files:",
    "run.sh:",
    "env.sh:",
    "excerpt:",
    "exception:",
    "text:",
    "kind:",
    "state:",
    "meaning:",
)
"""Keys of JSON whose values are commands, files, states, and what a program or the vendor wrote."""


def test_rules(chinese: None) -> None:
    assert not list(english_lines(render_rules(api.rules(), "text")))


NAMES = (
    "torch.cuda.Event", "torch.cuda.synchronize", "torch.backends.cudnn.allow_tf32", "torch.nn.Linear", "NCCL_DEBUG",
    "CUDA_VISIBLE_DEVICES", "EI0002", "507015", "ERR00100", "deepspeed", "sglang", "vllm==0.18.0", "flash_attn", "apex",
    "--attention-backend", "--page-size", "tf.keras.layers.CuDNNLSTM", "hvd.rank", "NPU350", "xgboost",
)  # fmt: skip


def test_explanations(chinese: None) -> None:
    wrong = {}
    for name in (*NAMES, *CODES, *families(), *[rule.code for rule in api.rules()]):
        text = render_explanation(npuify.explain(name), "text")
        # Not the code of a rule's example, nor a comment in a command; a source is quoted as it is called.
        lines = [
            line
            for line in english_lines(text)
            if not line.startswith("      ")
            and not line.strip().startswith("export ")
            and "来源" not in line
            and "已与此比较" not in line
        ]
        if lines:
            wrong[name] = lines
    assert not wrong


@pytest.mark.parametrize("command", [f"{one.group} {one.name}".split() for one in _COMMANDS] + [[]], ids=" ".join)
def test_help(command: list[str], chinese: None) -> None:
    wanted = command[0] if command else ""
    # Its help lists the commands, in the language in which it is imported.
    sys.modules.pop("npuify.cli.schema", None)
    done = typer.testing.CliRunner().invoke(program(wanted), [*command, "--help"])
    assert done.exit_code == 0
    assert "用法" in done.output
    assert not list(english_lines(done.output))


@pytest.mark.parametrize(
    "line",
    [
        "scan no/such/folder",
        "scan . --torch-npu 99.1",
        "explain no.such.name",
        "launch no_such_program.py --cards 8",
        "verify loss no.log such.log",
        "verify compare no such",
        "doctor --facts no-such-file",
        "diagnose no-such-log",
        "checklist no/such/project",
        "scaffold training no/such/project --name 1",
    ],
)
def test_errors(
    line: str, chinese: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["npuify", *line.split()])
    with pytest.raises(SystemExit) as done:
        run_in_language(program(line.split()[0]))
    assert done.value.code
    assert not list(english_lines(capsys.readouterr().err))


OTHER_KINDS = {
    "requirements.txt": "torch==2.1.0\ntorchaudio\nflash-attn\ntensorflow-gpu==2.4\nbitsandbytes\nvllm==0.11.0\npycuda\nmmcv-full\n",
    "environment.yml": "dependencies:\n  - pytorch=2.1\n  - pytorch-cuda=11.8\n  - pip:\n    - apex\n",
    "Dockerfile": "FROM nvidia/cuda:12.1.0-devel-ubuntu22.04\nENV CUDA_HOME=/usr/local/cuda TORCH_CUDA_ARCH_LIST=8.0\n"
    "RUN wget https://developer.download.nvidia.com/x.run && pip install flash-attn torch==2.1.0\n",
    "run.sh": "export NCCL_DEBUG=INFO CUDA_VISIBLE_DEVICES=0,GPU-1 CUDA_LAUNCH_BLOCKING=1\nnvidia-smi -L\n"
    "srun --gres=gpu:8 python train.py --device cuda\ndocker run --gpus all image python train.py\nnsys profile python train.py\n"
    "pip install $PACKAGES torch==2.1.0 $MORE\n",
    "compose.yaml": "services:\n  train:\n    image: nvcr.io/nvidia/tritonserver:24.01-py3\n    runtime: nvidia\n    deploy:\n      resources:\n"
    "        reservations:\n          devices:\n            - driver: nvidia\n              count: 1\n              capabilities: [gpu]\n",
    "job.yaml": "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - name: a\n      image: pytorch/pytorch\n      resources:\n"
    "        limits:\n          nvidia.com/gpu: 1\n",
    "CMakeLists.txt": "find_package(CUDA REQUIRED)\n",
    "ds_config.json": '{"train_batch_size": 8, "optimizer": {"type": "OneBitAdam"}, "fp16": {"enabled": true}, "zero_optimization": {"stage": 3}}',
    "broken.py": "import torch\ndef f(:\ntorch.cuda.synchronize()\n",
    "ops/setup.py": "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n"
    "setup(name='ops', ext_modules=[CUDAExtension('ops', ['ops.cu'])])\n",
    "ops/ops.cu": "#include <torch/extension.h>\n__global__ void k(float* x) { x[threadIdx.x] += 1; }\n"
    "torch::Tensor twice(torch::Tensor x) { k<<<1, 32>>>(x.data_ptr<float>()); return x; }\n"
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice", &twice); }\n',
    "train.py": "import ops\nimport tensorflow as tf\nimport torch\nfrom apex import amp\nprint(tf.config.list_physical_devices('GPU'), tf.GPUOptions())\n"
    "x = torch.ones(2).cuda()\nprint(ops.twice(x), amp)\n",
}


def test_files_of_all_kinds(tmp_path: Path) -> None:
    for name, text in OTHER_KINDS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    result = npuify.scan([tmp_path], Options(cache=False, jobs=1, language="zh"))
    found = {one.file for one in result.findings}
    assert found >= OTHER_KINDS.keys() - {"ds_config.json"}
    with speaking("zh"):
        whole = json.loads(render_scan(result, "json"))
    assert not "\n".join(sorted(set(_english_texts(whole))))


def _english_texts(value: object, key: str = "") -> Iterator[str]:
    """Texts of JSON in English; code, sources, names and places are none."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _english_texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _english_texts(item, key)
    elif isinstance(value, str) and key not in ("before", "after", "source", "code", "subject", "diff"):
        if english_in(value) or (
            value.count(" ") > 2 and value.isascii() and key in ("message", "advice", "why", "what")
        ):
            yield f"{key}: {value}"
