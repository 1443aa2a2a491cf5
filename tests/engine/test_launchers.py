"""Launchers, configurations and containers: golden files, and what ties them to the project's Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify import knowledge
from npuify.engine.scan import scan
from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.rewrite.plan import plan

from ..harness import RELEASE, findings, migrated, output, worker

DATA = Path(__file__).parent.parent / "data" / "launchers"
GOLDEN = sorted(path for path in DATA.rglob("*") if ".in" in path.suffixes)
TORCH = knowledge.load(RELEASE).torch
NO_CACHE = Options(cache=False, jobs=1)


def _target(path: Path) -> str:
    return path.relative_to(DATA).as_posix().replace(".in", "", 1)


def _expected(path: Path) -> str:
    return path.with_name(path.name.replace(".in", ".out", 1)).read_text("utf-8")


@pytest.mark.parametrize("path", GOLDEN, ids=_target)
class TestGolden:
    def test_result(self, path: Path) -> None:
        assert output(path.read_text("utf-8"), unsafe=True, name=_target(path)) == _expected(path)

    def test_second_run_changes_nothing(self, path: Path) -> None:
        assert migrated(_expected(path), unsafe=True, name=_target(path)).raw is None

    def test_line_ends_of_windows_stay(self, path: Path) -> None:
        result = migrated(path.read_text("utf-8").replace("\n", "\r\n").encode(), unsafe=True, name=_target(path))
        assert not result.errors
        assert result.raw is not None
        # What is put into a script as new lines follows the script that npuify wrote, not the one it read.
        assert result.raw.decode().replace("\r\n", "\n") == _expected(path)
        assert result.raw.decode().count("\r\n") >= path.read_text("utf-8").count("\n")

    def test_byte_order_mark_and_missing_last_line_end_stay(self, path: Path) -> None:
        if path.name.startswith("job.in.slurm"):
            pytest.skip("a byte order mark before a shebang is an error of its own")
        raw = b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n")
        result = migrated(raw, unsafe=True, name=_target(path))
        assert result.raw is not None
        assert result.raw.startswith(b"\xef\xbb\xbf")
        assert result.raw.removeprefix(b"\xef\xbb\xbf").decode() == _expected(path).rstrip("\n")

    def test_an_ignore_comment_silences(self, path: Path) -> None:
        if path.suffix == ".json":
            pytest.skip("JSON has no comments")
        text = f"# npuify: ignore-file\n{path.read_text('utf-8')}"
        assert output(text, unsafe=True, name=_target(path)) == text


def test_golden_files_are_there() -> None:
    assert {_target(path).rpartition("/")[2] for path in GOLDEN} >= {
        "Dockerfile",
        "Makefile",
        "compose.yaml",
        "default_config.yaml",
        "ds_config.json",
        "gpu.yml",
        "job.slurm",
        "job.yml",
        "justfile",
        "local.env",
        "settings.ini",
        "settings.toml",
        "train.sh",
        "train.yaml",
    }


UNCHANGED = {
    "words in messages": ("run.sh", 'echo "use --device cuda and --backend nccl"\n'),
    "paths and addresses": ("run.sh", "cp -r runs/cuda /data/nccl:0\ncurl https://nccl.example/cuda:0\n"),
    "another variable": ("run.sh", "export MY_CUDA_DIR=x CUDATYPE=y\n"),
    "variables that stay": ("run.sh", "export CUDA_DEVICE_MAX_CONNECTIONS=1 MASTER_ADDR=x\n"),
    "options that take no device": ("run.sh", "python train.py --name cuda --tag nccl --gpus 8 --device 0\n"),
    "help in a document": ("run.sh", "cat <<EOF\nexport CUDA_LAUNCH_BLOCKING=1\n--backend nccl\nEOF\n"),
    "torchrun itself": ("run.sh", "torchrun --nproc_per_node=8 train.py\npython -m torch.distributed.launch t.py\n"),
    "accelerate's own option": ("run.sh", "accelerate launch --multi_gpu --num_processes 8 train.py\n"),
    "keys that name no device": ("c.yaml", "name: cuda\npath: runs/cuda\nkernel: nccl-tests\nversion: cuda:0\n"),
    "texts": ("c.yaml", "help: >\n  device: cuda\n  backend: nccl\ntext: 'device: cuda'\n"),
    "tags": ("c.yaml", "tags: [nccl, cuda]\n"),
    "JSON texts": ("c.json", '{"note": "device: cuda", "names": ["cuda", "nccl"], "device_name": "cuda card"}\n'),
    "a record of a run": ("results/run.json", '{"device": "cuda:0"}\n'),
    "how Horovod is built": (
        "run.sh",
        "HOROVOD_GPU_OPERATIONS=NCCL pip install x\nexport HOROVOD_GPU_ALLREDUCE=NCCL\n",
    ),
    "an image for the CPU": ("Dockerfile", "FROM pytorch/pytorch:2.1-cpu\nFROM ubuntu:22.04\n"),
    "no YAML at all": ("c.yaml", "device: cuda\n  - [\n"),
    "a list of words": ("c.toml", 'names = ["cuda", "nccl"]\ntitle = "device = cuda"\n'),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_stays(case: str) -> None:
    name, text = UNCHANGED[case]
    assert output(text, name=name) == text
    if name != "results/run.json":
        assert output(text, unsafe=True, name=name) == text


CHANGED = {
    "a value with blanks": ("export CUDA_VISIBLE_DEVICES='0, 1'\n", "export ASCEND_RT_VISIBLE_DEVICES='0,1'\n"),
    "no device at all": ("CUDA_VISIBLE_DEVICES='' python t.py\n", "ASCEND_RT_VISIBLE_DEVICES='' python t.py\n"),
    "a default": ("G=${CUDA_VISIBLE_DEVICES:-0}\n", "G=${ASCEND_RT_VISIBLE_DEVICES:-0}\n"),
    "an unset": ("unset CUDA_VISIBLE_DEVICES\n", "unset ASCEND_RT_VISIBLE_DEVICES\n"),
    "env": ("env CUDA_LAUNCH_BLOCKING=1 python t.py\n", "env ASCEND_LAUNCH_BLOCKING=1 python t.py\n"),
    "a backend in a variable": ('B="nccl"\npython t.py --backend $B\n', 'B="hccl"\npython t.py --backend $B\n'),
    "a backend in a case": (
        'case "$BACKEND" in nccl) x ;; gloo) y ;; esac\n',
        'case "$BACKEND" in hccl) x ;; gloo) y ;; esac\n',
    ),
    "a script in a document": (
        "x=$(cat <<'END'\n#!/bin/bash\nexport CUDA_LAUNCH_BLOCKING=1\nEND\n)\n",
        "x=$(cat <<'END'\n#!/bin/bash\nexport ASCEND_LAUNCH_BLOCKING=1\nEND\n)\n",
    ),
    "a loop": (
        "for b in nccl gloo; do python t.py --backend $b; done\n",
        "for b in hccl gloo; do python t.py --backend $b; done\n",
    ),
    "an override of Hydra's": (
        "fairseq-hydra-train distributed_training.distributed_backend=nccl\n",
        "fairseq-hydra-train distributed_training.distributed_backend=hccl\n",
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_changes_safely(case: str) -> None:
    before, after = CHANGED[case]
    assert output(before, name="run.sh") == after


FOUND = {
    "Slurm's options": ("run.sh", "srun -p part --gres=gpu:8 python t.py\n", "NPU710"),
    "Slurm's options in a variable": ("run.sh", 'sbatch_args="$sbatch_args --gpus-per-node=1 --mem=0"\n', "NPU710"),
    "Slurm's directives": ("run.sh", "#!/bin/sh\n#SBATCH --gpus-per-node=8\n", "NPU710"),
    "Ray": ("run.sh", "ray start --head --num-gpus 8\n", "NPU710"),
    "a module of CUDA": ("run.sh", "module load cuda/12.1\n", "NPU712"),
    "a compiler": ("run.sh", "nvcc -o x x.cu\n", "NPU709"),
    "Horovod's launcher": ("run.sh", "horovodrun -np 4 python train.py\n", "NPU709"),
    "a question to nvidia-smi": ("run.sh", "nvidia-smi --query-gpu=memory.used --format=csv\n", "NPU708"),
    "a device by its UUID": ("run.sh", "export CUDA_VISIBLE_DEVICES=GPU-8932f937\n", "NPU702"),
    "a toolkit": ("run.sh", "export CUDA_HOME=/usr/local/cuda\n", "NPU703"),
    "Lightning": ("c.yaml", "trainer:\n  accelerator: gpu\n", "NPU733"),
    "apex in DeepSpeed": ("ds.json", '{"amp": {"enabled": true}}', "NPU733"),
    "FP8": ("c.yaml", "mixed_precision: fp8\n", "NPU733"),
    "an image": ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:24.01-py3\n", "NPU720"),
    "Docker by a variable": ("run.sh", "docker run --gpus $GPUS image\n", "NPU711"),
    "a runner": (".github/workflows/x.yml", "jobs:\n  a:\n    runs-on: [self-hosted, gpu]\n", "NPU723"),
}


@pytest.mark.parametrize("case", FOUND)
def test_is_found_and_left_to_a_person(case: str) -> None:
    name, text, code = FOUND[case]
    found = [finding for finding in findings(text, name=name) if finding.code == code]
    assert len(found) == 1
    assert found[0].safety is Safety.MANUAL
    assert found[0].advice
    assert output(text, unsafe=True, name=name) == text


class TestVariables:
    def test_all_places_of_a_file_change_or_none(self) -> None:
        text = "export CUDA_VISIBLE_DEVICES=MIG-0\npython t.py --gpus $CUDA_VISIBLE_DEVICES\n"
        assert output(text, unsafe=True, name="run.sh") == text

    def test_a_default_that_cannot_be_translated_keeps_the_name(self) -> None:
        text = "docker run -e NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES:-all} image\n"
        assert output(text, unsafe=True, name="run.sh") == text
        assert any("all" in finding.advice for finding in findings(text, name="run.sh"))

    def test_places_of_one_variable_are_as_safe_as_the_least(self) -> None:
        text = "export CUDA_VISIBLE_DEVICES=1,0\necho $CUDA_VISIBLE_DEVICES\n"
        assert output(text, name="run.sh") == text
        assert "ASCEND_RT_VISIBLE_DEVICES=0,1\necho $ASCEND" in output(text, unsafe=True, name="run.sh")


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_P2P_NET_CHUNKSIZE",
        "NCCL_IGNORE_DISABLED_P2P",
        "NCCL_GRAPH_MIXING_SUPPORT",
        "NCCL_IB_PCI_RELAXED_ORDERING",
        "NCCL_TREE_THRESHOLD",
        "NCCL_LAUNCH_MODE",
        "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
    ],
)
def test_a_rare_variable_of_nccl_is_told_of(name: str) -> None:
    text = f"export {name}=1\ntorchrun train.py\n"
    (found,) = findings(text, name="run.sh")
    assert (found.code, found.subject, found.edits) == ("NPU703", name, ())
    (found,) = findings(f'import os\nos.environ["{name}"] = "1"\n')
    assert (found.code, found.subject, found.edits) == ("NPU701", name, ())


def test_a_flight_recorders_pipe_has_a_name_on_ascend() -> None:
    text = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/pipe TORCH_NCCL_TRACE_CPP_STACK=1 python t.py\n"
    assert output(text, name="run.sh") == text.replace("NCCL", "HCCL")


@pytest.mark.parametrize("name", ["NCCL_ROOT", "NCCL_VERSION", "NCCL_BACKEND", "NCCL_HOME"])
def test_what_no_nccl_reads_is_passed_over(name: str) -> None:
    assert not findings(f"export {name}=x\npython train.py\n", name="run.sh")


def test_a_variable_of_a_container_stays_a_string() -> None:
    """Kubernetes refuses a number for it."""
    text = "kind: Pod\nspec:\n  containers:\n    - env:\n        - name: NCCL_DEBUG\n          value: INFO\n"
    assert output(text, unsafe=True, name="job.yaml").endswith('- name: HCCL_ENTRY_LOG_ENABLE\n          value: "1"\n')


def test_what_make_fills_in_is_unknown() -> None:
    text = "train:\n\tCUDA_VISIBLE_DEVICES=$(GPU) python train.py --gpus=$(shell nproc)x\n"
    assert output(text, unsafe=True, name="Makefile") == text.replace("CUDA_VISIBLE", "ASCEND_RT_VISIBLE")


def test_a_device_whose_number_is_filled_in() -> None:
    text = 'trainer: {device: "cuda:${oc.env:LOCAL_RANK,0}", dist_backend: nccl}\n'
    after = text.replace("cuda", "npu").replace("nccl", "hccl")
    assert output(text, name="conf/a.yaml") == after
    assert output(after, name="conf/a.yaml") == after


class TestOverrides:
    """``key=value`` is looked up in the program's own files of settings and registered dataclasses."""

    HEAD = (
        "import hydra\nfrom dataclasses import dataclass\nfrom enum import Enum\n"
        "from hydra.core.config_store import ConfigStore\n"
        "class Kind(Enum):\n    cuda = 1\n    cpu = 2\n"
        "@dataclass\nclass Trainer:\n    device: str = 'cuda'\n"
        "@dataclass\nclass Model:\n    device: Kind = Kind.cpu\n"
        "@dataclass\nclass Config:\n    trainer: Trainer\n    model: Model\n"
        "ConfigStore.instance().store(name='config', node=Config)\n"
    )
    MAIN = "@hydra.main(config_path='conf', config_name='config')\ndef main(cfg): ...\nmain()\n"

    def launcher(self, root: Path, text: str, files: dict[str, str]) -> str:
        for name, content in {**files, "run.sh": text}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, "utf-8")
        result, contents = plan(root, NO_CACHE)
        self.left = [finding for finding in result.left if finding.file == "run.sh"]
        return contents.get("run.sh", text.encode()).decode()

    @pytest.mark.parametrize(
        ("text", "changes"),
        [
            ("python train.py trainer.device=cuda:1\n", True),
            ("python train.py +other.device=cuda\n", False),
            ("python other.py trainer.device=cuda\n", False),
            ("dd device=cuda\npython train.py device=x\n", False),
        ],
    )
    def test_files_of_settings(self, tmp_path: Path, text: str, changes: bool) -> None:
        files = {
            "train.py": f"import hydra\n{self.MAIN}",
            "other.py": "import sys\n",
            "conf/trainer/ddp.yaml": "device: cuda\n",
            "conf/config.yaml": "defaults:\n  - trainer: ddp\n",
        }
        assert self.launcher(tmp_path, text, files) == (text.replace("cuda", "npu") if changes else text)

    def test_a_package_that_the_file_names(self, tmp_path: Path) -> None:
        files = {"a/train.py": f"import hydra\n{self.MAIN}", "a/conf/x/y.yaml": "# @package _global_\ndevice: cuda\n"}
        done = self.launcher(tmp_path, "python a/train.py device=cuda x.device=cuda\n", files)
        assert done == "python a/train.py device=npu x.device=cuda\n"

    @pytest.mark.parametrize("own", [True, False])
    def test_registered_dataclasses(self, tmp_path: Path, own: bool) -> None:
        files = (
            {"train.py": self.HEAD + self.MAIN}
            if own
            else {"settings.py": self.HEAD, "train.py": "import hydra, settings\n" + self.MAIN}
        )
        text = "python train.py trainer.device=cuda\npython train.py model.device=cuda\n"
        assert self.launcher(tmp_path, text, files) == text.replace("trainer.device=cuda", "trainer.device=npu")
        assert [(one.code, one.start.line) for one in self.left] == [("NPU706", 2)]
        assert "accepts cuda, cpu" in self.left[0].message

    def test_another_program_tells_nothing(self, tmp_path: Path) -> None:
        files = {"train.py": f"import hydra\n{self.MAIN}", "more/run.py": self.HEAD + self.MAIN}
        text = "python train.py model.device=cuda\n"
        assert self.launcher(tmp_path, text, files) == text
        assert [one.code for one in self.left] == ["NPU705"]


class TestOptionsOfTheProject:
    """An option is looked up in the declarations of the program that the launcher starts."""

    def project(self, root: Path, program: str, launcher: str) -> dict[str, str]:
        (root / "train.py").write_text(program, "utf-8")
        (root / "run.sh").write_text(launcher, "utf-8")
        _, contents = plan(root, NO_CACHE)
        return {name: raw.decode() for name, raw in contents.items()}

    PROGRAM = (
        "import argparse\nimport torch\nimport torch.distributed as dist\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--device', default='cuda', choices=['cuda', 'cpu'])\n"
        "parser.add_argument('--dist-backend', default='nccl', choices=['nccl', 'gloo'])\n"
        "args = parser.parse_args()\n"
        "if args.dist_backend == 'nccl':\n    dist.init_process_group(args.dist_backend)\n"
        "x = torch.zeros(2, device=args.device)\n"
    )

    @pytest.mark.parametrize(("device", "left"), [("npu", []), ("npu:0", ["NPU706"])])
    def test_what_a_program_takes_is_judged_after_its_migration(
        self, tmp_path: Path, device: str, left: list[str]
    ) -> None:
        """``npu:0`` is an answer to the input's ``cuda:0`` no more, once the choices are those of the output."""
        program = self.PROGRAM.replace("choices=['cuda', 'cpu'])", "choices=['cuda', 'cuda:0'])  # npuify: ignore")
        for choices, expected in ((program, ["NPU706"]), (self.PROGRAM, left)):
            (tmp_path / "train.py").write_text(choices, "utf-8")
            (tmp_path / "run.sh").write_text(f"python train.py --device {device}\n", "utf-8")
            result, _ = plan(tmp_path, NO_CACHE)
            assert [one.code for one in result.left if one.file == "run.sh"] == expected

    def test_declarations_are_those_of_the_migrated_program(self, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text(self.PROGRAM, "utf-8")
        of_npu = self.PROGRAM.replace("cuda", "npu").replace("nccl", "hccl").encode()
        for content, takes in ((of_npu, True), (self.PROGRAM.encode(), False)):
            options = worker(tmp_path).options_of({"train.py": content}, is_migrated=True)
            use = options.use("--device", "npu", "npu", "train.py", "")
            assert use is not None
            assert (use.takes, use.will_take) == (takes, takes)

    def test_launcher_and_program_change_together(self, tmp_path: Path) -> None:
        done = self.project(tmp_path, self.PROGRAM, "python train.py --device cuda --dist-backend nccl\n")
        assert done["run.sh"] == "python train.py --device npu --dist-backend hccl\n"
        assert "choices=['npu', 'cpu']" in done["train.py"]
        assert "choices=['hccl', 'gloo']" in done["train.py"]
        assert "args.dist_backend == 'hccl'" in done["train.py"]

    def test_a_program_that_will_not_take_the_value_is_found(self, tmp_path: Path) -> None:
        program = (
            "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device', choices=['gpu0'])\n"
        )
        done = self.project(tmp_path, program, "python train.py --device cuda\n")
        assert "run.sh" not in done
        found = [one for one in scan([tmp_path], NO_CACHE).findings if one.code == "NPU706"]
        assert [one.file for one in found] == ["run.sh"]
        assert "train.py:3" in found[0].message

    def test_choices_for_a_numbered_device_are_migrated_once(self, tmp_path: Path) -> None:
        done = self.project(
            tmp_path,
            self.PROGRAM.replace("'cuda'", "'cuda:0'"),
            "python train.py --device=cuda:0 --dist-backend nccl\n",
        )
        assert done["run.sh"] == "python train.py --device=npu:0 --dist-backend hccl\n"
        result, _ = plan(tmp_path, NO_CACHE)
        assert not [one for one in result.left if one.code == "NPU706"]

    FIELDS = (
        "from dataclasses import dataclass, field\nfrom typing import Literal\nimport torch\n"
        "from transformers import HfArgumentParser\n@dataclass\nclass Arguments:\n    device: str = 'cuda'\n"
        "    dist_backend: Literal['nccl', 'gloo'] = 'nccl'\n"
        "    place: str = field(default='cpu', metadata={'choices': ['cpu', 'gpu']})\n"
        "(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()\n"
        "torch.distributed.init_process_group(args.dist_backend)\nx = torch.zeros(2, device=args.device)\n"
    )

    def test_fields_of_a_dataclass_are_options(self, tmp_path: Path) -> None:
        # The options of another program are not this one's.
        (tmp_path / "other.py").write_text(
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--device', choices=['gpu0'])\n"
        )
        done = self.project(tmp_path, self.FIELDS, "python train.py --device cuda --dist-backend nccl\n")
        assert done["run.sh"] == "python train.py --device npu --dist-backend hccl\n"
        assert "dist_backend: Literal['hccl', 'gloo'] = 'hccl'" in done["train.py"]

    def test_a_field_that_will_not_take_the_value_is_found(self, tmp_path: Path) -> None:
        fields = self.FIELDS.replace("device: str = 'cuda'", "device: Literal['gpu0', 'gpu1'] = 'gpu0'")
        done = self.project(tmp_path, fields, "python train.py --device cuda\n")
        assert "run.sh" not in done
        found = [one for one in scan([tmp_path], NO_CACHE).findings if one.code == "NPU706"]
        assert ["train.py:7" in one.message for one in found] == [True]

    def test_a_field_that_no_parser_reads_needs_a_look(self, tmp_path: Path) -> None:
        fields = "from dataclasses import dataclass\n@dataclass\nclass A:\n    device: str = 'cuda'\n"
        done = self.project(tmp_path, fields, "python train.py --device cuda\n")
        assert "run.sh" not in done

    def test_a_half_migrated_project_is_found(self, tmp_path: Path) -> None:
        program = (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('--backend', choices=['mpi', 'gloo'])\n"
        )
        self.project(tmp_path, program, "python train.py --backend hccl\n")
        assert "NPU706" in [one.code for one in scan([tmp_path], NO_CACHE).findings]

    def test_an_option_of_an_unknown_program_needs_a_look(self, tmp_path: Path) -> None:
        done = self.project(tmp_path, "print(1)\n", "python other.py --device cuda\n")
        assert not done
        found = [one for one in scan([tmp_path], NO_CACHE).findings if one.code == "NPU705"]
        assert [one.safety for one in found] == [Safety.REVIEW]

    def test_the_declaration_nearest_to_the_launcher_counts(self, tmp_path: Path) -> None:
        for name, choices in (("a", "['cuda', 'cpu']"), ("b", "['gpu0']")):
            folder = tmp_path / name
            folder.mkdir()
            (folder / "tool.py").write_text(
                "import argparse, torch\np = argparse.ArgumentParser()\n"
                f"p.add_argument('--device', choices={choices})\nx = torch.ones(1, device=p.parse_args().device)\n"
            )
            (folder / "run.sh").write_text("python tool.py --device cuda\n")
        _, contents = plan(tmp_path, NO_CACHE)
        assert contents["a/run.sh"] == b"python tool.py --device npu\n"
        assert "b/run.sh" not in contents

    def test_a_program_for_several_kinds_of_device_keeps_its_launchers(self, tmp_path: Path) -> None:
        (tmp_path / "devices.py").write_text(
            "import torch\ndef is_npu_available():\n    return hasattr(torch, 'npu')\nUSE = torch.cuda.is_available()\n"
        )
        done = self.project(tmp_path, self.PROGRAM, "CUDA_VISIBLE_DEVICES=0 python train.py --dist-backend nccl\n")
        assert "run.sh" not in done

    AUTO = Options(cache=False, jobs=1, style="auto")

    def test_transfer_to_npu_translates_what_a_launcher_passes(self, tmp_path: Path) -> None:
        self.project(tmp_path, self.PROGRAM, "")
        launcher = "python train.py --device cuda --dist-backend nccl\n"
        (tmp_path / "run.sh").write_text(launcher, "utf-8")
        result, contents = plan(tmp_path, self.AUTO)
        assert "run.sh" not in contents
        assert not [one for one in result.left if one.file == "run.sh"]

    def test_a_container_starts_the_program_with_what_it_takes(self, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text(self.PROGRAM, "utf-8")
        (tmp_path / "Dockerfile").write_text(
            'CMD ["python", "train.py", "--device", "cuda", "--dist-backend", "nccl"]\n', "utf-8"
        )
        _, contents = plan(tmp_path, NO_CACHE)
        assert contents["Dockerfile"] == b'CMD ["python", "train.py", "--device", "npu", "--dist-backend", "hccl"]\n'


class TestInstallations:
    """``pip install`` in scripts and recipes is judged as a file of requirements is."""

    def test_a_set_is_installed_together(self) -> None:
        text = f"pip install torch=={TORCH} numpy && echo pip install torch\n"
        wanted = f"pip install torch=={TORCH} torch-npu=={RELEASE} numpy && echo pip install torch\n"
        assert output(text, name="run.sh") == wanted
        assert output(f"RUN {text}", name="Dockerfile") == f"RUN {wanted}"

    def test_a_script_that_pins_another_torch_needs_a_look(self) -> None:
        (found,) = findings("pip install torch==2.1.0\n", name="run.sh")
        assert (found.code, found.safety) == ("NPU601", Safety.REVIEW)

    def test_torch_npu_is_found_beside_the_index_of_torch(self) -> None:
        text = f"pip install torch=={TORCH} --index-url https://download.pytorch.org/whl/cu128\n"
        wanted = (
            f"pip install torch=={TORCH} torch-npu=={RELEASE} --extra-index-url https://download.pytorch.org/whl/cpu\n"
        )
        assert output(text, name="run.sh") == wanted

    def test_packages_are_reported_where_they_stand(self) -> None:
        found = findings("# pip install apex\npip install -U \\\n  apex\npip install $WHAT apex\n", name="run.sh")
        places = [(one.code, one.start.line, one.start.column) for one in found]
        assert places == [("NPU606", 3, 3), ("NPU606", 4, 19)]

    def test_other_commands_are_left(self) -> None:
        assert not findings("apt-get install -y pip apex\n", name="run.sh")


class TestEmbeddedPython:
    def test_double_quotes_inside_are_kept(self) -> None:
        text = 'python -c "import torch; torch.cuda.set_device(0); print(torch.cuda.is_available())"\n'
        wanted = (
            'python -c "import torch_npu; import torch; torch.npu.set_device(0); print(torch.npu.is_available())"\n'
        )
        assert output(text, name="run.sh") == wanted

    def test_what_the_shell_expands_is_left(self) -> None:
        text = 'python -c "import torch; torch.cuda.set_device($X)"\n'
        assert output(text, unsafe=True, name="run.sh") == text

    def test_places_are_those_of_the_script(self) -> None:
        text = "# first\npython - <<'EOF'\nimport torch\ntorch.cuda.synchronize()\nEOF\n"
        found = [finding for finding in findings(text, name="run.sh") if finding.code.startswith("NPU1")]
        assert [(one.start.line, one.start.column) for one in found] == [(4, 1)]


class TestLineEnds:
    def test_a_shebang_with_a_carriage_return_is_found(self) -> None:
        for name, severity in (("run.sh", Severity.ERROR), ("train.py", Severity.WARNING)):
            found = findings(b"#!/usr/bin/env x\r\necho 1\r\n".replace(b"echo 1", b"pass"), name=name)
            assert [(one.code, one.severity) for one in found] == [("NPU740", severity)]

    def test_python_without_a_shebang_is_not(self) -> None:
        assert not findings(b"import os\r\n", name="train.py")

    def test_they_are_mended_where_asked(self, tmp_path: Path) -> None:
        (tmp_path / "run.sh").write_bytes(b"#!/bin/sh\r\nCUDA_VISIBLE_DEVICES=0 python a.py\r\n")
        (tmp_path / "a.py").write_bytes(b"print(1)\r\n")
        (tmp_path / "notes.txt").write_bytes(b"stay\r\n")
        (tmp_path / "c.yaml").write_bytes(b"device: cuda\r\n")
        result, contents = plan(tmp_path, Options(cache=False, jobs=1, normalize_newlines=True))
        assert contents == {
            "run.sh": b"#!/bin/sh\nASCEND_RT_VISIBLE_DEVICES=0 python a.py\n",
            "a.py": b"print(1)\n",
            "c.yaml": b"device: npu\r\n",
        }
        assert not [one for one in result.left if one.code == "NPU740"]
        assert [change.file for change in result.changes if change.code == "NPU740"] == ["a.py", "run.sh"]
        _, contents = plan(tmp_path, NO_CACHE)
        assert contents["run.sh"].count(b"\r\n") == 2


def test_big_files_of_data_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text('{"device": "cuda", "x": "' + "y" * 300_001 + '"}')
    result = scan([tmp_path], NO_CACHE)
    assert not result.findings
    assert result.bytes_seen == 0


class TestVariablesOfRecipes:
    """Variables of Makefiles and justfiles that hold devices, backends and options."""

    PROGRAM = (
        "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument('--backend', choices=['nccl'])\n"
        "p.add_argument('--device')\na = p.parse_args()\ntorch.distributed.init_process_group(a.backend)\n"
        "torch.ones(1).to(a.device)\n"
    )

    def _root(self, tmp_path: Path) -> Path:
        (tmp_path / "train.py").write_text(self.PROGRAM)
        return tmp_path

    def test_makefile(self, tmp_path: Path) -> None:
        text = (
            "BACKEND ?= nccl\ndevice := cuda:1  # cuda\nARGS = --backend nccl --device cuda\nNAME = cuda\nWHAT = cuda\n"
            "CUDA_DEVICE_ORDERS = nccl\n\ntrain:\n\tpython train.py --backend $(BACKEND) --device=$(device) $(ARGS) "
            "--out $(NAME)\n\techo $(WHAT)\n"
        )
        wanted = (
            text.replace("?= nccl", "?= hccl")
            .replace("cuda:1", "npu:1")
            .replace("--backend nccl --device cuda", "--backend hccl --device npu")
        )
        assert output(text, name="Makefile", root=self._root(tmp_path)) == wanted

    def test_justfile(self, tmp_path: Path) -> None:
        text = (
            'gpu := "0"\nbackend := "nccl"\ndevice := env_var_or_default("DEVICE", "cuda")\ntitle := "cuda"\n\n'
            "train backend=\"nccl\" device='cuda:0' *args:\n"
            "    CUDA_VISIBLE_DEVICES={{gpu}} python train.py --backend {{backend}} --device {{ device }} {{args}}\n"
        )
        wanted = (
            text.replace('"nccl"', '"hccl"')
            .replace('"DEVICE", "cuda"', '"DEVICE", "npu"')
            .replace("'cuda:0'", "'npu:0'")
            .replace("CUDA_VISIBLE_DEVICES={{", "ASCEND_RT_VISIBLE_DEVICES={{")
        )
        assert output(text, name="justfile", root=self._root(tmp_path)) == wanted

    def test_comparisons_go_with_what_they_compare(self, tmp_path: Path) -> None:
        text = (
            "BACKEND ?= nccl\nifeq ($(BACKEND), nccl)\nX = 1\nelse ifneq (${BACKEND},nccl)\nX = 2\nendif\n"
            'ifeq "$(BACKEND)" "nccl"\nX = 3\nendif\nifeq ($(TITLE),cuda)\nX = 4\nendif\n\n'
            "train:\n\tpython train.py --backend $(BACKEND)\n"
        )
        assert output(text, name="Makefile", root=self._root(tmp_path)) == text.replace("nccl", "hccl")
        text = (
            'backend := "nccl"\nargs := if backend == "nccl" { "-x" } else { "-y" }\ntitle := if title != "cuda" { "" } else { "a" }\n\n'
            "train:\n    python train.py --backend {{backend}} {{args}}\n"
        )
        assert output(text, name="justfile", root=tmp_path) == text.replace("nccl", "hccl")

    def test_what_just_puts_in_is_told_of_as_unknown(self) -> None:
        found = findings("a:\n    CUDA_VISIBLE_DEVICES={{gpu}} python x.py\n", name="justfile")
        assert [one.code for one in found] == ["NPU702"]
        assert "xxx" not in found[0].message

    def test_recipes_with_a_shebang_are_one_script(self) -> None:
        text = (
            "py:\n    #!/usr/bin/env python3\n    import torch\n    torch.cuda.synchronize()\n\n"
            "sh:\n    #!/usr/bin/env bash\n    if command -v nvidia-smi; then\n        nvidia-smi\n    fi\n\n"
            "other:\n    #!/usr/bin/env node\n    nvidia-smi\n\n"
            "put-in:\n    #!/usr/bin/env python3\n    import torch\n    torch.cuda.set_device({{gpu}})\n"
        )
        wanted = (
            text.replace("cuda.sync", "npu.sync")
            .replace("-v nvidia-smi", "-v npu-smi")
            .replace("        nvidia-smi", "        npu-smi info")
        )
        assert output(text, name="justfile", unsafe=True) == wanted


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("docker run --device /dev/nvidia0 image", "NPU711", "/dev/nvidia0"),
        ("docker run -v /usr/lib/x86_64-linux-gnu/libcuda.so.1:/x image", "NPU711", "libcuda.so.1"),
        ("podman run --device nvidia.com/gpu=all image", "NPU711", "nvidia.com/gpu"),
        ("apptainer exec --nv a.sif python a.py", "NPU711", "--nv"),
        ("sudo singularity run docker://nvcr.io/nvidia/pytorch:24.01-py3", "NPU720", "nvcr.io/nvidia/pytorch"),
        ("docker run --rm nvidia/cuda:12.1.1-base-ubuntu22.04 bash", "NPU720", "nvidia/cuda"),
        ("srun --container-image=nvcr.io#nvidia/pytorch:24.01-py3 bash", "NPU720", "nvcr.io/nvidia/pytorch"),
        (
            "sudo apt-get install -y git cuda-toolkit-12-1 libnccl-dev=2.1+cuda12",
            "NPU709",
            "cuda-toolkit-12-1, libnccl",
        ),
        ("wget -q https://developer.download.nvidia.com/compute/cuda/repos/a.deb", "NPU709", "downloaded from NVIDIA"),
    ],
)
def test_what_of_nvidia_commands_ask_for(line: str, code: str, text: str) -> None:
    (found,) = findings(f"{line}\n", name="run.sh")
    assert (found.code, found.edits) == (code, ())
    assert text in found.message


@pytest.mark.parametrize(
    "line",
    [
        "docker run -v /data/cuda:/data image",
        "docker run --name a:cuda12 image",
        "apt-get install -y libcurl4 nvidiasomething barracuda",
        "apt-get remove cuda-toolkit-12-1",
        "wget https://example.org/nvidia.com/cuda.run",
    ],
)
def test_what_only_looks_like_it(line: str) -> None:
    found = findings(f"{line}\n", name="run.sh")
    assert not found


def test_files_of_the_host_that_manifests_give_to_containers() -> None:
    compose = (
        "services:\n  a:\n    image: x\n    devices: ['/dev/nvidia0:/dev/nvidia0', /dev/sda]\n    volumes:\n"
        "      - /usr/local/nvidia:/n:ro\n      - ./cuda:/cuda\n    healthcheck:\n      test: [CMD, nvidia-smi]\n"
    )
    found = [(one.code, one.start.line, one.edits) for one in findings(compose, name="compose.yaml")]
    assert found == [("NPU721", 4, ()), ("NPU721", 6, ()), ("NPU708", 9, ())]
    pod = "kind: Pod\nspec:\n  volumes:\n  - name: a\n    hostPath: {path: /dev/nvidia0}\n  - name: b\n    hostPath: {path: /gpu}\n"
    assert [(one.code, one.start.line) for one in findings(pod, name="pod.yaml")] == [("NPU722", 5)]
    assert not findings("tool:\n  path: /usr/local/cuda\n", name="settings.yaml")


def test_health_checks_of_dockerfiles() -> None:
    text = "FROM a\nHEALTHCHECK --interval=5s CMD nvidia-smi || exit 1\nHEALTHCHECK NONE\n"
    assert output(text, name="Dockerfile", unsafe=True) == text.replace("nvidia-smi", "npu-smi info")


class TestNamesOfPythonInSettings:
    def test_names_of_torch_cuda(self) -> None:
        text = (
            "a: {_target_: torch.cuda.synchronize}\nb: {_target_: torch.cuda.no_such_thing}\ntext: torch.cuda.is great\n"
            "c: mytorch.cuda.synchronize\n"
        )
        wanted = text.replace("_target_: torch.cuda.sync", "_target_: torch_npu.npu.sync")
        assert output(text, name="config.yaml") == wanted

    def test_names_of_packages_that_an_npu_lacks(self) -> None:
        text = "a:\n  _target_: apex.optimizers.FusedAdam\nb:\n  _target_: torch.optim.Adam\nc: apex.com\n"
        found = [(one.code, one.start.line) for one in findings(text, name="config.yaml")]
        assert found[:1] == [("NPU733", 2)]
        assert ("NPU733", 4) not in found

    def test_values_that_stand_in_for_a_variable(self) -> None:
        text = 'device: ${oc.env:DEV,cuda:0}\nbackend: "${oc.env:B, nccl}"\ntitle: ${oc.env:T,cuda}\n'
        wanted = text.replace("DEV,cuda:0", "DEV,npu:0").replace("B, nccl", "B, hccl")
        assert output(text, name="config.yaml") == wanted

    def test_numbered_devices_under_other_keys_are_told_of(self) -> None:
        text = "where: [cuda:0, cuda:1]\nwords: [cuda]\n"
        assert [(one.code, one.start.column, one.edits) for one in findings(text, name="config.yaml")] == [
            ("NPU731", 9, ()),
            ("NPU731", 17, ()),
        ]


def test_what_a_workflow_puts_in_is_unknown() -> None:
    text = "jobs:\n  a:\n    steps:\n      - run: sudo apt-get install cuda-toolkit-${{ matrix.cuda }}\n"
    (found,) = findings(text, name=".github/workflows/a.yml")
    assert found.message == "NVIDIA packages are installed: cuda-toolkit-…"


@pytest.mark.parametrize("value", ["gpu", "cuda"])
def test_lightnings_accelerator_is_no_name_of_a_device(value: str) -> None:
    text = f"trainer:\n  accelerator: {value}\n"
    (found,) = findings(text, name="config.yaml")
    assert (found.code, found.start.line, found.edits) == ("NPU733", 2, ())


def test_scripts_among_the_arguments_of_a_container(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TestVariablesOfRecipes.PROGRAM)
    text = (
        "kind: Pod\nspec:\n  containers:\n  - command: [/bin/bash, -c]\n    args:\n    - |\n"
        "      export NCCL_SOCKET_IFNAME=eth0\n      python train.py --backend nccl --device cuda\n"
        "  - command: [sh, -c]\n    args: ['cd /src && CUDA_LAUNCH_BLOCKING=1 python train.py --device cuda']\n"
        "  - command: [program]\n    args: ['what does python do with --device cuda?']\n"
    )
    wanted = (
        text.replace("NCCL_SOCKET", "HCCL_SOCKET")
        .replace("--backend nccl --device cuda", "--backend hccl --device npu")
        .replace(
            "CUDA_LAUNCH_BLOCKING=1 python train.py --device cuda",
            "ASCEND_LAUNCH_BLOCKING=1 python train.py --device npu",
        )
    )
    assert output(text, name="pod.yaml", root=tmp_path) == wanted


class TestContinuousIntegration:
    def test_variables_of_jobs(self) -> None:
        text = "variables: {CUDA_VISIBLE_DEVICES: '0'}\ntest:\n  script: [CUDA_VISIBLE_DEVICES=0 python a.py]\n"
        assert output(text, name=".gitlab-ci.yml") == text.replace("CUDA_VIS", "ASCEND_RT_VIS")
        text = "jobs:\n  a:\n    environment:\n      NCCL_SOCKET_IFNAME: eth0\n"
        assert output(text, name=".circleci/config.yml") == text.replace("NCCL", "HCCL")

    def test_actions_and_matrices(self) -> None:
        text = (
            "jobs:\n  a:\n    strategy:\n      matrix:\n        os: [ubuntu-latest, linux.nvidia.gpu]\n"
            "        device: [cuda, cpu]\n        name: [cuda]\n    steps:\n      - uses: Jimver/cuda-toolkit@v1\n"
            "      - uses: docker://nvidia/cuda:12.1.1-base\n      - uses: actions/checkout@v4\n"
        )
        found = [(one.code, one.start.line, one.edits) for one in findings(text, name=".github/workflows/a.yml")]
        assert found == [("NPU723", 5, ()), ("NPU731", 6, ()), ("NPU709", 9, ()), ("NPU720", 10, ())]

    def test_a_container_for_developers(self) -> None:
        text = '{"runArgs": ["--gpus", "all", "--shm-size=1g"],\n "postCreateCommand": "nvidia-smi"}\n'
        found = [(one.code, one.start.line) for one in findings(text, name=".devcontainer/devcontainer.json")]
        assert found == [("NPU721", 1), ("NPU708", 2)]


class TestVariablesThatBecomeTheSame:
    BOTH = "NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.toml", '[env]\n{} = "0"\n{} = "1"\n'),
            ("a.yaml", "env:\n  {}: '0'\n  {}: '1'\n"),
            ("a.json", '{{"env": {{"{}": "0", "{}": "1"}}}}\n'),
            ("a.env", "{}=0\n{}=1\n"),
            ("a.sh", "export {}=0\nexport {}=1\n"),
        ],
    )
    def test_the_one_that_counts_is_renamed(self, name: str, text: str) -> None:
        for order in (self.BOTH, self.BOTH[::-1]):
            before = text.format(*order)
            after = output(before, name=name)
            assert after == before.replace("TORCH_NCCL_BLOCKING_WAIT", "HCCL_BLOCKING_WAIT")
            (left,) = findings(after, name=name)
            assert (left.subject, left.edits) == ("NCCL_BLOCKING_WAIT", ())
            assert "HCCL_BLOCKING_WAIT is also set here" in left.advice

    def test_what_is_there_already_stays(self) -> None:
        text = (
            "env:\n  CUDA_VISIBLE_DEVICES: '0'\n  ASCEND_RT_VISIBLE_DEVICES: '1'\nother:\n  CUDA_VISIBLE_DEVICES: '2'\n"
        )
        assert output(text, name="a.yaml") == text.replace(
            "CUDA_VISIBLE_DEVICES: '2'", "ASCEND_RT_VISIBLE_DEVICES: '2'"
        )

    def test_scripts_name_one_variable_for_each_command(self) -> None:
        text = "ASCEND_RT_VISIBLE_DEVICES=0 python a.py\nCUDA_VISIBLE_DEVICES=1 python b.py\n"
        assert output(text, name="a.sh") == text.replace("CUDA_VISIBLE", "ASCEND_RT_VISIBLE")
