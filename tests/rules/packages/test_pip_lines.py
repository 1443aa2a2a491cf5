"""What scripts, Dockerfiles and workflows install with pip and conda."""

from __future__ import annotations

import pytest

from npuify.model import Safety

from ...harness import findings, output

TORCH = "torch==2.14.0 torch-npu==2.14.0"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pip install torch\n", f"pip install {TORCH}\n"),
        ("pip install torch && python train.py\n", f"pip install {TORCH} && python train.py\n"),
        ("python3 -m pip install -U torch numpy\n", f"python3 -m pip install -U {TORCH} numpy\n"),
        ("pip3 install 'torch==1.13'  # comment\n", "pip3 install 'torch==2.14.0' torch-npu==2.14.0  # comment\n"),
        ("sudo pip install nvidia-cudnn-cu12 tqdm\n", "sudo pip install tqdm\n"),
        ("pip install deepspeed==0.9.5\n", 'pip install "deepspeed>=0.12.6"\n'),
        ("pip install flash-attn xformers -r more.txt\n", "pip install -r more.txt\n"),
        ("uv pip install torch --torch-backend=cu121\n", f"uv pip install {TORCH} --torch-backend=cpu\n"),
        ("uv pip install torch --torch-backend cu128 -U\n", f"uv pip install {TORCH} --torch-backend cpu -U\n"),
        (
            "pip install torch==1.9.0+cu111 -f https://download.pytorch.org/whl/torch_stable.html\n",
            f"pip install {TORCH} -f https://download.pytorch.org/whl/cpu/torch_stable.html\n",
        ),
        ("pip install tqdm \\\n  nvidia-cudnn-cu12 \\\n  rich\n", "pip install tqdm \\\n  rich\n"),
        (
            "pip install tqdm --extra-index-url https://wheels.example/whl/cu118\n",
            "pip install tqdm --extra-index-url https://wheels.example/whl/cpu\n",
        ),
        ('bash -c "pip install torch && make"\n', f'bash -c "pip install {TORCH} && make"\n'),
        ("pip --no-cache-dir install torch\n", f"pip --no-cache-dir install {TORCH}\n"),
        ("uv add torch tqdm\n", f"uv add {TORCH} tqdm\n"),
        (
            "uv add 'torch>=2.0' deepspeed==0.9.5 --dev\n",
            "uv add 'torch==2.14.0' torch-npu==2.14.0 \"deepspeed>=0.12.6\" --dev\n",
        ),
        ("uv --quiet add xformers rich\n", "uv --quiet add rich\n"),
        ("poetry add torch@^2.1 onnxruntime-gpu@1.16.0\n", f"poetry add {TORCH} onnxruntime-cann\n"),
        ('poetry add "torch@latest" rich@13.0\n', 'poetry add "torch==2.14.0" torch-npu==2.14.0 rich@13.0\n'),
        ("poetry add --group dev xformers@0.0.22 black\n", "poetry add --group dev black\n"),
        ("pipenv install torch==2.1.0 nvidia-cudnn-cu12\n", f"pipenv install {TORCH}\n"),
        ("pdm add torch\n", f"pdm add {TORCH}\n"),
        ("conda create -y -n x python=3.8\n", "conda create -y -n x python=3.10\n"),
        ('conda create -n x "python=3.7" numpy\n', 'conda create -n x "python=3.10" numpy\n'),
        ("mamba install -c conda-forge rich cudnn\n", "mamba install -c conda-forge rich\n"),
    ],
)
@pytest.mark.parametrize(("name", "head"), [("install.sh", ""), ("Dockerfile", "FROM ubuntu\nRUN ")])
def test_edited(before: str, after: str, name: str, head: str) -> None:
    assert output(head + before, unsafe=True, name=name) == head + after
    assert output(head + after, unsafe=True, name=name) == head + after


@pytest.mark.parametrize(
    "text",
    [
        'echo "pip install torch"\n',
        "# pip install torch\n",
        "pip install -r requirements.txt\n",
        "pip uninstall -y torch\n",
        # The pair is made by two lines.
        "pip install torch==2.1.0\npip install torch-npu==2.1.0.post17\n",
        "pip install -e .\npip install ./torch\n",
        "pip install --no-binary flash-attn --upgrade-strategy eager tqdm\n",
        "uv sync --extra cuda\nuv lock\nuv run --with torch train.py\npoetry install\npipenv install\npoetry add rich\n",
        "poetry add git+https://github.com/me/torch-tools.git@master\n",
        "conda install cmake ninja\nconda activate torch\nconda create -n torch python=3.10\nconda remove xformers\n",
        "conda env create -f environment.yml\nconda install -c pytorch -n xformers rich\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert not [one for one in findings(text, name="install.sh") if one.code.startswith("NPU60")]


def test_a_version_that_the_shell_fills_in_is_left_to_a_person() -> None:
    found = [one for one in findings("pip install torch==${VERSION} tqdm\n", name="install.sh") if one.code == "NPU601"]
    assert [(one.safety, one.edits) for one in found] == [(Safety.MANUAL, ())]


@pytest.mark.parametrize(
    "text",
    [
        "pip install nvidia-cublas-cu12 nvidia-cudnn-cu12\n",
        "pip install flash-attn xformers && echo done\n",
        "pip install --no-cache-dir nvidia-nccl-cu12 flash-attn  # both\n",
    ],
)
def test_pip_is_never_left_with_nothing_to_install(text: str) -> None:
    """That is an error of pip's, and ends a script and the making of an image."""
    assert output(text, unsafe=True, name="install.sh") == text
    found = [one for one in findings(text, name="install.sh") if one.code == "NPU607"]
    assert len(found) == 2
    assert all(one.safety is Safety.MANUAL and one.advice.endswith("it installs nothing else") for one in found)


def test_a_list_of_words_is_never_left_with_nothing_to_install() -> None:
    text = 'FROM x\nRUN ["pip", "install", "nvidia-cublas-cu12", "nvidia-nccl-cu12"]\n'
    assert output(text, unsafe=True, name="Dockerfile") == text


def test_the_last_continued_argument_takes_its_backslash_along() -> None:
    """A backslash that stayed would make the next instruction a part of this one."""
    before = "FROM ubuntu\nRUN pip install tqdm \\\n    nvidia-cudnn-cu12\nRUN nvidia-smi || true\n"
    assert "RUN pip install tqdm\nRUN " in output(before, unsafe=True, name="Dockerfile")


def test_a_comment_between_continued_lines_stays() -> None:
    before = "FROM ubuntu\nRUN pip install tqdm \\\n    # for CUDA\n    nvidia-cudnn-cu12\n"
    assert output(before, unsafe=True, name="Dockerfile") == before
    (found,) = [one for one in findings(before, name="Dockerfile") if one.code == "NPU607"]
    assert found.safety is Safety.MANUAL


def test_workflows_are_told_of() -> None:
    text = "jobs:\n  test:\n    runs-on: windows-latest\n    steps:\n      - run: pip install torch torchvision==0.9\n"
    name = ".github/workflows/test.yml"
    assert output(text, unsafe=True, name=name) == text
    assert [one.code for one in findings(text, name=name)] == ["NPU601", "NPU602"]


@pytest.mark.parametrize(
    "line", ["conda install -y pytorch==1.12 cudatoolkit=11.3 -c pytorch\n", "mamba install conda-forge::pytorch\n"]
)
def test_torch_of_conda_is_left_to_a_person(line: str) -> None:
    (found,) = [one for one in findings(line, name="install.sh") if one.code == "NPU601"]
    assert found.safety is Safety.MANUAL
    assert "torch-npu" in found.advice


def test_what_stands_beside_condas_torch_is_left_to_a_person_as_well() -> None:
    line = "conda install pytorch==1.12.1 torchvision==0.13.1 cudatoolkit=11.3 xformers -c pytorch -c xformers\n"
    assert output(line, unsafe=True, name="install.sh") == line
    found = [(one.code, one.safety) for one in findings(line, name="install.sh")]
    assert found == [("NPU601", Safety.MANUAL), ("NPU607", Safety.MANUAL)]


def test_conda_is_never_left_with_nothing_to_install() -> None:
    line = "conda install -y -c nvidia cuda-nvcc=12.1 cudnn\n"
    assert output(line, unsafe=True, name="install.sh") == line
    assert [one.code for one in findings(line, name="install.sh")] == ["NPU607", "NPU607"]


def test_a_python_that_the_shell_fills_in_is_not_judged() -> None:
    assert not findings("conda create -n x python=$PYTHON\n", name="install.sh")


@pytest.mark.parametrize(
    "text",
    [
        "pip install \xff\n",
        "conda install \xff 'torch\n",
        "poetry add torch@ @1.2\n",
        "uv add torch@\n",
        "pip install 'torch\n",
        "pip install torch[\\\n",
        "pip install \\",
        "pip install $(cat x) torch;\n",
    ],
)
def test_broken_lines_do_no_harm(text: str) -> None:
    result = output(text, unsafe=True, name="install.sh")
    assert output(result, unsafe=True, name="install.sh") == result


LISTS = [
    ('["pip", "install", "torch==2.1.0", "tqdm"]', '["pip", "install", "torch==2.14.0", "torch-npu==2.14.0", "tqdm"]'),
    ('["python3","-m","pip","install","onnxruntime-gpu"]', '["python3","-m","pip","install","onnxruntime-cann"]'),
    ('["pip", "install", "tqdm", "nvidia-cudnn-cu12"]', '["pip", "install", "tqdm"]'),
    (
        '[ "pip3", "install",\\\n  "nvidia-cudnn-cu12", "tqdm" ]',
        '[ "pip3", "install",\\\n  "nvidia-cudnn-cu12", "tqdm" ]',
    ),
    ('["pip", "install", "a b", "torch"]', '["pip", "install", "a b", "torch"]'),
    ('["pip", "install", "torch"', '["pip", "install", "torch"'),
    ('["pip", "install", "torch==${X}"]', '["pip", "install", "torch==${X}"]'),
    ('["pip", "install", "nvidia-cudnn-cu12"]', '["pip", "install", "nvidia-cudnn-cu12"]'),
    ('["pip", "install", "torch==2.1.0"]', '["pip", "install", "torch==2.14.0", "torch-npu==2.14.0"]'),
    ('["uv", "add", "torch", "tqdm"]', '["uv", "add", "torch==2.14.0", "torch-npu==2.14.0", "tqdm"]'),
    ('["poetry", "add", "-n", "rich", "xformers"]', '["poetry", "add", "-n", "rich"]'),
    ('["bash", "-c", "pip install torch"]', f'["bash", "-c", "pip install {TORCH}"]'),
]


@pytest.mark.parametrize(("before", "after"), LISTS)
def test_a_list_of_words(before: str, after: str) -> None:
    head = "FROM ubuntu\nRUN "
    assert output(f"{head}{before}\nWORKDIR /x\n", unsafe=True, name="Dockerfile") == f"{head}{after}\nWORKDIR /x\n"
    assert output(f"{head}{after}\n", unsafe=True, name="Dockerfile") == f"{head}{after}\n"


def test_a_version_that_the_file_gives_a_variable() -> None:
    before = (
        "ARG TORCH_VERSION=2.1.0\nFROM ubuntu\nARG TORCH_VERSION=2.1.0\nARG TV='0.16.0'\n"
        "RUN pip install torch==${TORCH_VERSION}+cu121 torchvision==$TV --index-url https://download.pytorch.org/whl/cu121\n"
        'RUN pip install "torch==${TORCH_VERSION}" tqdm\n'
    )
    after = (
        "ARG TORCH_VERSION=2.1.0\nFROM ubuntu\nARG TORCH_VERSION=2.14.0\nARG TV='0.16.0'\n"
        "RUN pip install torch==${TORCH_VERSION} torch-npu==2.14.0 torchvision==$TV "
        "--extra-index-url https://download.pytorch.org/whl/cpu\n"
        'RUN pip install "torch==${TORCH_VERSION}" torch-npu==2.14.0 tqdm\n'
    )
    assert output(before, unsafe=True, name="Dockerfile") == after
    assert output(after, unsafe=True, name="Dockerfile") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("V=2.1.0\npip install torch==$V\n", "V=2.14.0\npip install torch==$V torch-npu==2.14.0\n"),
        ("V=2.1.0\nV=2.2.0\npip install torch==$V\n", ""),
        ("V=$1\npip install torch==${V}\n", ""),
        ("V=2.1.0\npip install torch==${V}.post1\n", ""),
        ('V=2.1.0\npip install "torch>=$V"\n', ""),
    ],
)
def test_a_version_that_a_script_gives_a_variable(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="install.sh") == (after or before)
    assert output(before, name="install.sh") == before


def test_an_index_stays_where_its_build_for_cuda_stays() -> None:
    line = "pip install torch==${V}+cu121 --index-url https://download.pytorch.org/whl/cu121\n"
    assert output(line, unsafe=True, name="install.sh") == line


def test_an_image_whose_tag_is_a_variable() -> None:
    text = "ARG BASE=nvidia/cuda\nARG TAG=12.1.0-devel-ubuntu22.04\nFROM ${BASE}:${TAG} AS x\nFROM $OTHER\n"
    found = [one for one in findings(text, name="Dockerfile") if one.code == "NPU720"]
    assert [(one.start.line, one.subject) for one in found] == [(1, "nvidia/cuda"), (3, "nvidia/cuda")]


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch==1.4.0+cpu torchvision==0.5.0+cpu -f https://download.pytorch.org/whl/torch_stable.html\n",
        "pip install torch==2.0.1 torchaudio==2.0.2 --index-url https://download.pytorch.org/whl/cu118\n",
    ],
)
def test_what_belongs_to_torch_waits_for_it(text: str) -> None:
    assert output(text, name="install.sh") == text
    assert "torch==2.14.0 torch-npu==2.14.0" in output(text, unsafe=True, name="install.sh")


_PLUGIN = (
    "pip install vllm-ascend==0.23.0 --extra-index-url https://download.pytorch.org/whl/cpu "
    "--extra-index-url https://mirrors.huaweicloud.com/ascend/repos/pypi"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # To a shell, a bound without quotes is a redirection: what follows belongs to the first call all the same.
        (
            'pip install vllm>=0.4.1 rich "numpy<2.0.0"\n',
            f'pip install vllm==0.23.0>=0.4.1 rich "numpy<2.0.0" && {_PLUGIN}\n',
        ),
        (
            "pip install vllm > log.txt 2>&1 && make\n",
            f"pip install vllm==0.23.0 > log.txt 2>&1 && {_PLUGIN} && make\n",
        ),
        ("(pip install vllm >/dev/null)\n", f"(pip install vllm==0.23.0 >/dev/null && {_PLUGIN})\n"),
        ("pip install vllm 2>&1 | tee log\n", "pip install vllm==0.23.0 2>&1 | tee log\n"),
        ("pip install vllm | tee log\n", "pip install vllm==0.23.0 | tee log\n"),
    ],
)
def test_a_second_call_stands_behind_the_whole_first_one(before: str, after: str) -> None:
    assert output(before, unsafe=True, name="install.sh") == after
