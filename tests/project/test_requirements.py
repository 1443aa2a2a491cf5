from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from npuify.project import torch_requirement
from npuify.project.requirements import _from_conda, _from_poetry, _specifier

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.core


def found(root: Path, **files: str) -> tuple[str, str, int] | None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    requirement = torch_requirement(root)
    return None if requirement is None else (requirement.specifier, requirement.file, requirement.line)


def test_nothing_asked(tmp_path: Path) -> None:
    assert found(tmp_path) is None
    assert (
        found(tmp_path, requirements_DOT_txt="numpy\ntorchvision==0.16\ntorch-scatter==2.1\npytorch-lightning\n")
        is None
    )


@pytest.mark.parametrize(
    ("requirement", "specifier"),
    [
        ("torch", ""),
        ("torch==2.1.0", "==2.1.0"),
        ("Torch == 2.1.0", "==2.1.0"),
        ("torch===2.1.0", "==2.1.0"),
        ("torch==2.1.0+cu118", "==2.1.0"),
        ("torch==2.1.*", "==2.1.*"),
        ("torch~=2.3", "~=2.3"),
        ("torch>=2.0,<2.4", ">=2.0,<2.4"),
        ("torch >=2.0, !=2.1.1", ">=2.0,!=2.1.1"),
        ("torch (>=2.0)", ">=2.0"),
        ("torch[opt]>=2.0", ">=2.0"),
        ("torch>=2.0 ; sys_platform == 'linux'", ">=2.0"),
        ("torch>=2.0 # newest", ">=2.0"),
        ("torch==2.1.0 --hash=sha256:00", "==2.1.0"),
        ("torch @ file:///wheels/torch-2.1.0%2Bcu118-cp310-cp310-linux_x86_64.whl", "==2.1.0"),
        ("torch @ git+ssh://example/pytorch", ""),
        ("torchvision==0.16", None),
        ("torch-npu==2.1.0", None),
        ("torch_npu==2.1.0", None),
        ("pytorch==2.1.0", None),
        ("torch==banana", None),
        ("torch ==", None),
        ("torch is what we use", None),
    ],
)
def test_one_requirement(requirement: str, specifier: str | None) -> None:
    assert _specifier(requirement) == specifier


def test_requirements_file_with_line(tmp_path: Path) -> None:
    text = "# comment\n-r other.txt\nnumpy==1.26 \\\n    --hash=sha256:00\ntorch==2.1.0 \\\n    --hash=sha256:11\n"
    assert found(tmp_path, requirements_DOT_txt=text) == ("==2.1.0", "requirements.txt", 5)


def test_a_pin_wins_over_an_earlier_loose_requirement(tmp_path: Path) -> None:
    files = {"requirements_DOT_txt": "torch\n", "pyproject_DOT_toml": '[project]\ndependencies = [\n "torch<2.4",\n]\n'}
    assert found(tmp_path, **files) == ("<2.4", "pyproject.toml", 3)


def test_the_first_loose_requirement_where_none_pins(tmp_path: Path) -> None:
    files = {"requirements_DOT_txt": "torch>=1.8\n", "setup_DOT_py": "setup(install_requires=['torch>=2'])\n"}
    assert found(tmp_path, **files) == (">=1.8", "requirements.txt", 1)


def test_what_tests_and_documentation_need_says_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, requirements__docs_DOT_txt="torch==2.9\n", requirements_dev_DOT_txt="torch==1.0\n") is None
    assert found(tmp_path, requirements__base_DOT_txt="torch==2.3\n") == ("==2.3", "requirements/base.txt", 1)


@pytest.mark.parametrize(
    ("text", "specifier", "line"),
    [
        ('[project]\ndependencies = ["numpy", "torch==2.3.1"]\n', "==2.3.1", 2),
        ('[project.optional-dependencies]\ntrain = [\n  "torch~=2.3.0",\n]\n', "~=2.3.0", 3),
        ('[dependency-groups]\ngpu = [{include-group = "x"}, "torch<2.5"]\n', "<2.5", 2),
        ('[tool.poetry.dependencies]\npython = "^3.10"\ntorch = "^2.1"\n', ">=2.1,<3", 3),
        ('[tool.poetry.dependencies]\ntorch = {version = "2.1.0", source = "x"}\n', "==2.1.0", 2),
        ('[tool.poetry.dependencies.torch]\nversion = "~2.1.2"\n', "", 0),
        ('[tool.poetry.group.gpu.dependencies]\ntorch = [{version = "*"}, {version = "<2"}]\n', "", 2),
    ],
)
def test_pyproject(tmp_path: Path, text: str, specifier: str, line: int) -> None:
    result = found(tmp_path, pyproject_DOT_toml=text)
    if line:
        assert result == (specifier, "pyproject.toml", line)
    else:
        assert result == (">=2.1.2,<2.2", "pyproject.toml", 0)


@pytest.mark.parametrize(
    ("wanted", "specifier"),
    [
        ("^2.1", ">=2.1,<3"),
        ("^2", ">=2,<3"),
        ("^0.4.1", ">=0.4.1,<0.5"),
        ("~2.1", ">=2.1,<2.2"),
        ("~2", ">=2,<3"),
        ("~=2.1", "~=2.1"),
        ("2.1.*", "==2.1.*"),
        ("2.1.0", "==2.1.0"),
        (">=2.0,<2.4", ">=2.0,<2.4"),
        (">= 2.0", ">=2.0"),
        ("*", ""),
        ({"url": "file:///x/torch-2.1.0-cp310-none-any.whl"}, "==2.1.0"),
        ({"git": "x"}, ""),
        (3, None),
        ("banana", None),
    ],
)
def test_poetry(wanted: object, specifier: str | None) -> None:
    assert _from_poetry(wanted) == specifier


def test_setup_cfg(tmp_path: Path) -> None:
    text = "[metadata]\nname = x\n[options]\ninstall_requires =\n    numpy\n    torch>=1.8,<2\n"
    assert found(tmp_path, setup_DOT_cfg=text) == (">=1.8,<2", "setup.cfg", 6)
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\ngpu = torch==1.13\n")
    assert found(tmp_path) == ("==1.13", "setup.cfg", 2)
    (tmp_path / "setup.cfg").write_text("not a section\n")
    assert found(tmp_path) is None


def test_setup_py_is_read_and_never_run(tmp_path: Path) -> None:
    text = (
        "from setuptools import setup\n"
        "raise SystemExit('this must not run')\n"
        "REQUIRED = ['numpy',\n"
        "            'torch>=1.10,<2.2']\n"
        "setup(install_requires=REQUIRED)\n"
    )
    assert found(tmp_path, setup_DOT_py=text) == (">=1.10,<2.2", "setup.py", 4)
    (tmp_path / "setup.py").write_text("def broken(:\n")
    assert found(tmp_path) is None


ENVIRONMENT = """\
name: x
channels:
  - pytorch
  - nvidia
dependencies:
  - python=3.10
  - {item}
  - torchvision
  - pytorch-cuda=11.7
"""


@pytest.mark.parametrize(
    ("item", "specifier"),
    [
        ("pytorch=2.1", "==2.1.*"),
        ("pytorch=2.1.0", "==2.1.0"),
        ("pytorch==2.1.0", "==2.1.0"),
        ("pytorch==2.1", "==2.1"),
        ("pytorch=2.1.0=py3.10_cuda11.8_cudnn8.7.0_0", "==2.1.0"),
        ("pytorch::pytorch=2.1.*", "==2.1.*"),
        ('"pytorch>=2.0,<2.3"', ">=2.0,<2.3"),
        ("pytorch >= 1.13", ">=1.13"),
        ("pytorch 2.1.*", "==2.1.*"),
        ("pytorch", ""),
        ("pip:\n      - torch==2.0.1+cu118", "==2.0.1"),
    ],
)
def test_conda_environment(tmp_path: Path, item: str, specifier: str) -> None:
    line = 8 if item.startswith("pip") else 7
    text = ENVIRONMENT.format(item=item)
    assert found(tmp_path, environment_DOT_yml=text) == (specifier, "environment.yml", line)


def test_a_channel_is_no_requirement(tmp_path: Path) -> None:
    assert found(tmp_path, environment_DOT_yaml=ENVIRONMENT.format(item="numpy")) is None


def test_pipfile(tmp_path: Path) -> None:
    assert found(tmp_path, Pipfile='[packages]\nnumpy = "*"\ntorch = "==2.2.0"\n') == ("==2.2.0", "Pipfile", 3)
    assert found(tmp_path, Pipfile='[packages]\ntorch = {version = "~=2.2"}\n') == ("~=2.2", "Pipfile", 2)
    assert found(tmp_path, Pipfile='[packages]\ntorch = "*"\n') == ("", "Pipfile", 2)


def test_what_a_dockerfile_pins(tmp_path: Path) -> None:
    text = "FROM a\nRUN apt-get install torch==9 && \\\n    pip3 install numpy \\\n    'torch==2.1.0+cu121' -f x && echo torch==3\n"
    assert found(tmp_path, Dockerfile=text) == ("==2.1.0", "Dockerfile", 4)
    assert found(tmp_path, Dockerfile="FROM a\nRUN pip install torch torch==$V torchvision==0.16\n") is None


def test_for_one_file_its_folder_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "requirements.txt").write_text("torch==2.1.0\n")
    requirement = torch_requirement(tmp_path / "a.py")
    assert requirement is not None and requirement.pins


@given(st.text(max_size=30))
def test_no_text_breaks_it_and_what_comes_out_is_a_specifier(text: str) -> None:
    for specifier in (_specifier("torch" + text), _from_poetry(text), _from_conda(text)):
        if specifier is not None:
            SpecifierSet(specifier)


@given(st.binary(max_size=200))
def test_no_file_breaks_it(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = tmp_path_factory.mktemp("project")
    for name in ("requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "environment.yml", "Pipfile"):
        (root / name).write_bytes(content)
    torch_requirement(root)
