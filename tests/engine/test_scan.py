"""A whole scan: files of every sort, failures, processes, and what a user selects."""

from __future__ import annotations

import ast
import gc
import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from npuify.analysis.project import ProjectIndex
from npuify.engine import prepare, prepared, worker
from npuify.engine import scan as whole_scan
from npuify.engine.catalog import all_rules
from npuify.engine.processes import Processes
from npuify.engine.programs.reach import Reach, Reaches
from npuify.engine.ruleset import RuleSet
from npuify.engine.scan import scan
from npuify.model import Evidence, FileError, NpuifyError, Safety, Severity
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge
from npuify.rules import registry as base
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from npuify.model import Finding, ScanResult
    from npuify.rules.context import PythonFile

OPTIONS = Options(torch_npu="2.14.0", jobs=1, cache=False)
GOOD = "import torch\ntorch.cuda.synchronize()\n"


def scanned(root: Path, files: dict[str, str | bytes], **options: object) -> ScanResult:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return scan([root], msgspec.structs.replace(OPTIONS, **options))


UNPARSED = {
    "broken": ("import torch\nx = torch.cuda.device_count(\n", 2, ""),
    "python 2 print": ("import torch\nprint torch.cuda.device_count()\n", 2, "Python 2"),
    "python 2 except": ("import torch\ntry: torch.cuda.init()\nexcept OSError, e:\n    pass\n", 3, "Python 2"),
    "magics": ("%matplotlib inline\n!pip install torch\nimport torch; torch.cuda.init()\n", 1, "IPython"),
    "tabs": ("import torch\nif x:\n\ttorch.cuda.init()\n        y = 1\n", 4, ""),
    "parentheses": ("x = " + "(" * 5000 + ")" * 5000 + "\nimport torch; torch.cuda.init()\n", 0, ""),
    "brackets": ("import torch\nx = " + "[" * 5000 + "torch.cuda.init()" + "]" * 5000, 0, ""),
    "minus signs": ("import torch; torch.cuda.init()\nx = " + "-" * 50_000 + "1\n", 0, ""),
    "attributes": ("import torch; torch.cuda.init()\nx = a" + ".cuda" * 50_000 + "\n", 0, ""),
    "nul behind the head": (GOOD + "#" * 2000 + "\0\n", 0, ""),
    "merge conflict": ("import torch\n<<<<<<< HEAD\ntorch.cuda.init()\n=======\n>>>>>>> x\n", 2, ""),
}


@pytest.mark.parametrize("kind", UNPARSED)
def test_what_does_not_parse_is_an_error_and_still_searched(kind: str, tmp_path: Path) -> None:
    text, line, advice = UNPARSED[kind]
    result = scanned(tmp_path, {"bad.py": text, "good.py": GOOD})
    (error,) = result.errors
    assert error.file == "bad.py"
    assert "npuify failed" not in error.message
    assert advice in error.advice
    assert error.line == line or not line
    found = {(finding.file, finding.code) for finding in result.findings}
    assert {("bad.py", "NPU190"), ("good.py", "NPU101")} <= found


def test_python_2_advice_is_not_given_for_other_things(tmp_path: Path) -> None:
    result = scanned(tmp_path, {"bad.py": "import torch\nx = torch.cuda.device_count(\n"})
    assert "Python 2" not in result.errors[0].advice


DEEP = {
    "concatenation": "import torch\nx = torch.device(" + " + ".join(["'cuda'"] * 2000) + ")\n",
    "comparison": "import torch\nx = " + " or ".join(["a.device.type == 'cuda'"] * 1000) + "\n",
    "method chain": "import torch\nx = y" + ".cuda()" * 400 + "\n",
    "elif chain": "import torch\nif a: pass\n" + "elif x.device.type == 'cuda': pass\n" * 900,
    "nesting": "import torch\n" + "".join(" " * n + "if x:\n" for n in range(95)) + " " * 95 + "torch.cuda.init()\n",
    "functions": "import torch\n" + "".join(" " * n + "def f():\n" for n in range(95)) + " " * 95 + "torch.cuda.init()\n",
    "aliases": "import torch\na0 = torch.cuda\n" + "".join(f"a{n + 1} = a{n}\n" for n in range(2000)) + "a2000.init()\n",
    "self assignments": "import torch\nx = torch.zeros(1)\n" + "x = x.view(1) + x.cuda() * x\n" * 300,
    "one name many ways": "import torch\n" + "".join(f"c = torch.cuda; c{n} = c\nc{n}.init()\n" for n in range(300)),
}  # fmt: skip


@pytest.mark.parametrize("kind", DEEP)
def test_deep_and_long_code(kind: str, tmp_path: Path) -> None:
    ast.parse(DEEP[kind])
    result = scanned(tmp_path, {"deep.py": DEEP[kind]})
    assert not result.errors
    assert result.findings or kind == "aliases"


def test_large_file(tmp_path: Path) -> None:
    """Two megabytes of functions, a call in each hundredth: in seconds, and every one is found."""
    block = "def f{n}(a, b):\n    '''Adds.'''\n    return {call}, [a + b for _ in range(10)], {{'a': a, 'b': b}}\n\n\n"
    parts = ["import torch\n\n\n"]
    for number in range(22_000):
        parts.append(block.format(n=number, call="torch.cuda.device_count()" if number % 100 == 0 else "a"))
    text = "".join(parts)
    assert len(text) > 2_000_000
    result = scanned(tmp_path, {"large.py": text})
    assert [finding.start.line for finding in result.findings] == [6 + 500 * n for n in range(220)]


def test_files_of_every_sort(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "empty.py": b"",
        "blank.py": b"\n\n \t\n",
        "binary.py": b"\x7fELF\0\0\0cuda" * 20,
        "bad_cookie.py": b"# coding: klingon\nimport torch; torch.cuda.init()\n",
        "not_utf8.py": b"import torch; torch.cuda.init()  # \xff\n",
        "no_cuda.py": b"x = \xff(\n",
        "only_prose.py": '"""About cuda."""  # cuda\n',
        "wide.py": GOOD.encode("utf-16"),
        "wider.py": GOOD.encode("utf-32"),
        "wide_no_mark.py": GOOD.encode("utf-16-be"),
        "noise.py": bytes(range(256)),
        "good.py": GOOD,
    }
    result = scanned(tmp_path, files)
    said = {error.file: error.message for error in result.errors}
    assert sorted(said) == [
        "bad_cookie.py", "binary.py", "noise.py", "not_utf8.py", "wide.py", "wide_no_mark.py", "wider.py"
    ]  # fmt: skip
    assert "UTF-16" in said["wide.py"] and "UTF-32" in said["wider.py"]
    assert all("npuify failed" not in error.message for error in result.errors)
    assert [finding.file for finding in result.findings] == ["bad_cookie.py", "good.py", "not_utf8.py"]
    assert result.files_seen == len(files)
    assert result.bytes_seen >= len(GOOD)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_loops_of_links_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "self.py").symlink_to(tmp_path / "a" / "self.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    result = scanned(tmp_path, {"a/good.py": GOOD})
    assert [finding.file for finding in result.findings] == ["a/good.py"]
    assert result.files_seen == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "locked.py").write_text(GOOD)
    (tmp_path / "locked.py").chmod(0)
    result = scanned(tmp_path, {"good.py": GOOD})
    assert [error.file for error in result.errors] == ["locked.py"]
    assert [finding.file for finding in result.findings] == ["good.py"]


def test_file_that_vanishes_between_finding_and_reading(tmp_path: Path) -> None:
    found, errors, _, _ = worker_of().analyse_file(worker.Candidate("gone.py", str(tmp_path / "gone.py")))
    assert not found
    assert "cannot be read" in errors[0].message


def worker_of() -> worker.Worker:
    from ..harness import worker as make

    return make()


@pytest.mark.parametrize("prefiltered_by_one", [1, 1000])
def test_processes_give_what_one_process_gives(
    prefiltered_by_one: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"pkg/m{n}.py": GOOD + f"x = {n}\nfrom pkg.own import Own\nOwn().cuda()\nelse\n" * (n % 2) for n in range(6)
    }
    own = "import torch\nclass Own:\n    def cuda(self): pass\nx.cuda()\n"
    files |= {"pkg/own.py": own, "binary.py": "\0", "run.sh": "CUDA_VISIBLE_DEVICES=0 python a.py\n"}
    one = scanned(tmp_path, files)
    monkeypatch.setattr(whole_scan, "FILES_PER_PROCESS", 1)
    monkeypatch.setattr(prepare, "FILES_PER_PROCESS", prefiltered_by_one)
    seen: list[tuple[int, int]] = []
    two = scan([tmp_path], msgspec.structs.replace(OPTIONS, jobs=2), progress=lambda *step: seen.append(step))
    assert two == one
    assert len(one.findings) > 6
    assert len(one.errors) == 4
    assert seen == [(n + 1, len(seen)) for n in range(len(seen))]


def name_of(candidate: worker.Candidate) -> str:
    """A task whose process dies of some files, as a fault in a parser's C code would make it."""
    if "deadly" in candidate.relative:
        os._exit(9)
    return candidate.relative


def test_a_file_that_kills_its_process_costs_only_itself() -> None:
    names = [f"{'deadly' if n in (3, 8) else 'file'}{n}.py" for n in range(12)]
    dead = {name: f"{name}: the process that looked at it died" for name in names if "deadly" in name}
    with Processes(2) as processes:
        for names_now in (names, [name for name in names if name not in dead]):
            seen: list[int] = []
            found = processes.map(
                name_of,
                [worker.Candidate(name, name) for name in names_now],
                files_per_process=1,
                on_crash=lambda error: f"{error.file}: {error.message}",
                progress=lambda done, _, seen=seen: seen.append(done),
            )
            assert found == [dead.get(name, name) for name in names_now]
            assert seen == list(range(1, len(names_now) + 1))


def where(candidate: worker.Candidate) -> int:
    return os.getpid()


def test_processes_are_started_for_enough_work_and_kept() -> None:
    files = [worker.Candidate(f"{n}.py", "") for n in range(40)]

    def lose(error: FileError) -> int:
        raise AssertionError(error)

    with Processes(2) as processes:
        assert set(processes.map(where, files, files_per_process=21, on_crash=lose)) == {os.getpid()}
        processes.warm_up(where, 40, files_per_process=20)
        first = set(processes.map(where, files, files_per_process=20, on_crash=lose))
        second = set(processes.map(where, files[:2], files_per_process=20, on_crash=lose))
    assert os.getpid() not in first | second
    assert len(first | second) <= 2


def test_what_makes_a_file_worth_looking_at_does_not_depend_on_the_selection(tmp_path: Path) -> None:
    text = (
        "import torch, triton\nc = triton.Config({}, num_warps=4)\n"
        "@triton.jit\ndef f(x):\n    pass\nf[(1,)](torch.ones(1, device='cuda'))\n"
    )
    every = [one for one in scanned(tmp_path, {"a.py": text}).findings if one.code == "NPU642"]
    assert every
    assert scanned(tmp_path, {}, select=("NPU642",)).findings == tuple(every)


def test_what_a_rule_sees_of_other_functions_does_not_depend_on_the_selection(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\n\n\ndef collate(batch):\n    return torch.stack(batch).cuda()\n"
        "\n\ndef main(data):\n    return DataLoader(data, num_workers=4, collate_fn=collate)\n"
    )
    every = [one for one in scanned(tmp_path, {"a.py": text}).findings if one.code == "NPU803"]
    assert every
    for selection in ({"select": ("NPU803",)}, {"ignore": ("NPU1",)}):
        found = scanned(tmp_path, {}, **selection).findings
        assert [one for one in found if one.code == "NPU803"] == every


def raising(node: ast.Constant, file: PythonFile) -> Iterator[Finding]:
    """Fails on one word."""
    if node.value == "boom":
        raise ZeroDivisionError("the rule is wrong")
    return
    yield


def test_rule_that_raises_ends_only_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    all_rules()
    rule = base.Rule(
        "NPU998", "raises", Safety.SAFE, Severity.ERROR, Evidence.LIVE, "", ("boom",), (ast.Constant,), raising
    )
    monkeypatch.setitem(base._registry, "NPU998", rule)
    result = scanned(tmp_path, {"a.py": GOOD + "x = 'boom'\n", "b.py": GOOD, "sub/c.py": GOOD + "f('boom')\n"})
    assert [error.file for error in result.errors] == ["a.py", "sub/c.py"]
    assert "npuify failed on this file: ZeroDivisionError: the rule is wrong" in result.errors[0].message
    assert [finding.file for finding in result.findings] == ["b.py"]


MIXED = "import torch\ntorch.cuda.synchronize()\ntorch.zeros(1, device='cuda')\ntorch.jit.script(f)\n"


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        ((), (), ["NPU101", "NPU120", "NPU401"]),
        (("NPU1",), (), ["NPU101", "NPU120"]),
        (("npu101",), (), ["NPU101"]),
        (("cuda-device-string",), (), ["NPU120"]),
        (("NPU1", "NPU4"), ("NPU12",), ["NPU101", "NPU401"]),
        ((), ("NPU",), []),
        ((), ("jit-script", "NPU101"), ["NPU120"]),
    ],
)
def test_selection(select: tuple[str, ...], ignore: tuple[str, ...], expected: list[str], tmp_path: Path) -> None:
    result = scanned(tmp_path, {"a.py": MIXED}, select=select, ignore=ignore)
    assert [finding.code for finding in result.findings] == expected


@pytest.mark.parametrize("select", ["NPU999", "no-such-rule", "X", "NPU101x"])
def test_unknown_code_is_an_error_that_names_it(select: str, tmp_path: Path) -> None:
    for options in ({"select": (select,)}, {"ignore": ("NPU101", select)}):
        with pytest.raises(NpuifyError, match=select):
            scanned(tmp_path, {"a.py": MIXED}, **options)


@pytest.mark.parametrize("options", [{"torch_npu": "99.1"}, {"style": "baroque"}])
def test_wrong_options_are_refused(options: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(NpuifyError):
        scanned(tmp_path, {"a.py": MIXED}, **options)


def test_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="no such file"):
        scan([tmp_path / "nowhere"], OPTIONS)


def test_findings_are_in_order_of_file_and_place(tmp_path: Path) -> None:
    result = scanned(tmp_path, {"b.py": MIXED, "a/z.py": MIXED, "a.py": MIXED})
    keys = [(finding.file, finding.start, finding.end, finding.code) for finding in result.findings]
    assert keys == sorted(keys)


def _old(root: Path, seconds: int) -> None:
    """Files that are older than what a cache distrusts."""
    for path in root.rglob("*.py"):
        os.utime(path, (1_700_000_000 + seconds, 1_700_000_000 + seconds))


@pytest.mark.parametrize(
    "changed",
    [
        {"main.py": GOOD * 2},
        {"main.py": "x = 1\n"},
        {"compat.py": "import numpy as torch\n"},
        {"own.py": "class Own:\n    cuda: bool = True\n"},
        {"own.py": "class Own: pass\n"},
        {"own.py": "import torch\nclass Base(torch.nn.Module): pass\nclass Own(Base): pass\n"},
        {"late.py": "class T:\n    def cuda(self): pass\n"},
        {"compat/__init__.py": "import cupy as torch\n"},
    ],
)
def test_cached_scan_gives_what_a_fresh_one_gives(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    files = {
        "main.py": "from compat import torch\nfrom own import Own\ntorch.cuda.init()\nOwn().cuda()\nx.cuda()\nx.is_cuda\n",
        "compat.py": "import torch\n",
        "own.py": "class Own:\n    def cuda(self): pass\n",
        "other.py": GOOD,
    }
    scanned(root, files)
    _old(root, 0)
    cached = Options(torch_npu="2.14.0", jobs=1, cache=True)
    assert scan([root], cached) == scan([root], cached) == scan([root], OPTIONS)
    scanned(root, changed)
    _old(root, 60)
    for name in set(files) - set(changed):
        os.utime(root / name, (1_700_000_000, 1_700_000_000))
    assert scan([root], cached) == scan([root], OPTIONS)


@pytest.mark.parametrize(
    "other", ["from main import faster\nfaster(x)\n", "import main\nargs = main.read()\nargs.fast = unknown()\n"]
)
def test_a_cached_condition_is_asked_again_where_another_file_comes_to_call_or_to_set(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    main = (
        "import argparse\nimport torch\n\n\ndef faster(x):\n    return torch.compile(x, backend='cudagraphs')\n\n\n"
        "def read():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--fast', action='store_true')\n"
        "    return parser.parse_args()\n\n\ndef run():\n    args = read()\n    if args.fast:\n        faster(1)\n"
    )
    scanned(root, {"main.py": main, "other.py": "import os\n"})
    _old(root, 0)
    cached = Options(torch_npu="2.14.0", jobs=1, cache=True)
    assert "--fast" in [one.only_with for one in scan([root], cached).findings]
    (root / "other.py").write_text(other)
    os.utime(root / "other.py", (1_700_000_060, 1_700_000_060))
    again = scan([root], cached)
    assert again == scan([root], OPTIONS)
    assert "--fast" not in [one.only_with for one in again.findings]


def test_cached_scan_does_not_look_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    fresh = scanned(root, {"a.py": MIXED, "b.py": "x = torch.cuda(\n"})
    _old(root, 0)
    cached = Options(torch_npu="2.14.0", jobs=1, cache=True)
    scan([root], cached)
    monkeypatch.setattr(worker.Worker, "analyse_file", None)
    monkeypatch.setattr(prepared, "programs_of", None)
    assert scan([root], cached) == fresh
    with pytest.raises(TypeError):
        scan([root], msgspec.structs.replace(cached, select=("NPU101",)))


def test_programs_are_found_anew_where_another_file_changes_what_they_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUIFY_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    guard = "if __name__ == '__main__':\n    main()\n"
    files = {
        "main.py": f"import helper\ndef main():\n    helper.start()\n{guard}",
        "helper.py": "def start(): pass\ndef other():\n    import blocking\n",
        "blocking.py": "import pycuda.driver\n",
    }
    scanned(root, files)
    _old(root, 0)
    cached = Options(torch_npu="2.14.0", jobs=1, cache=True)
    assert scan([root], cached).programs == scan([root], cached).programs
    (program,) = scan([root], cached).programs
    assert "blocking.py" not in program.files
    scanned(root, {"main.py": files["main.py"].replace("start", "other")})
    os.utime(root / "main.py", (1_700_000_060, 1_700_000_060))
    assert scan([root], cached) == scan([root], OPTIONS)
    (program,) = scan([root], cached).programs
    assert "blocking.py" in program.files


def test_many_programs_that_share_a_library_cost_what_the_library_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each further program parses its own file, not the library's again."""
    count = 0
    parse = ast.parse

    def counted(*args: Any, **kwargs: Any) -> ast.AST:
        nonlocal count
        count += 1
        return parse(*args, **kwargs)

    library = {
        f"lib/m{at}.py": f"import torch\ndef go(args):\n    from lib import m{at + 1}\n"
        f"    if args.fast:\n        import m{at + 2}\n    m{at + 1}.go(args)\n    x = torch.zeros(1).cuda()\n"
        for at in range(20)
    } | {"lib/__init__.py": "", "lib/m20.py": "import pycuda.driver\n"}
    start = "import argparse\nfrom lib import m0\np = argparse.ArgumentParser()\np.add_argument('--fast', action='store_true')\n"
    counts = []
    for programs in (5, 20):
        root = tmp_path / str(programs)
        mains = {
            f"p{at}.py": f"{start}if __name__ == '__main__':\n    m0.go(p.parse_args())\n" for at in range(programs)
        }
        monkeypatch.setattr(ast, "parse", counted)
        count = 0
        result = scanned(root, {**library, **mains})
        monkeypatch.undo()
        assert len(result.programs) == programs
        assert all("lib/m20.py" in one.maybe for one in result.programs)
        counts.append(count)
    assert counts[1] - counts[0] <= 15 * 3


KERNEL = """
#include <torch/extension.h>
__global__ void k(float* a) { a[threadIdx.x] = 1; }
void run(torch::Tensor a) { k<<<1, 32>>>(a.data_ptr<float>()); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""


def test_kernels_count_among_the_files_seen(tmp_path: Path) -> None:
    result = scanned(tmp_path, {"k.cu": KERNEL})
    assert {finding.file for finding in result.findings} == {"k.cu"}
    assert result.files_seen == 1


def test_a_scan_leaves_nothing_to_the_garbage_collector(tmp_path: Path) -> None:
    """What refers to itself stays until the collector comes, and with it every file that was parsed."""
    files = {
        "a.py": MIXED,
        "own.py": "class Own:\n    def cuda(self): pass\nOwn().cuda()\n",
        "run.sh": "python a.py --gpus 0\n",
    }

    def kept() -> int:
        return sum(isinstance(one, (ProjectIndex, PythonSource, RuleSet)) for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = kept()
        assert scanned(tmp_path, files).findings
        assert kept() == before
    finally:
        gc.enable()


def test_a_file_that_imports_a_part_of_a_package_alone_is_looked_at(tmp_path: Path) -> None:
    """Nothing else in the file is a reason to parse it, and ``nvidia`` by itself is no package."""
    result = scanned(tmp_path, {"pipeline.py": "from nvidia.dali import fn\nimport nvidia.dali.types as types\n"})
    assert [one.code for one in result.findings] == ["NPU620"]


def test_a_program_that_cannot_be_followed_costs_only_its_own_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = "if __name__ == '__main__':\n    print(1)\n"
    files = {"one.py": f"import blocking\n{guard}", "two.py": guard, "blocking.py": "import pycuda.driver\n"}
    of = Reaches.of

    def fails(self: Reaches, entry: str) -> Reach:
        if entry == "one.py":
            raise RecursionError("too deep")
        return of(self, entry)

    monkeypatch.setattr(Reaches, "of", fails)
    result = scanned(tmp_path, files)
    assert [(one.file, one.maybe) for one in result.programs] == [("one.py", ("blocking.py",)), ("two.py", ())]
    (error,) = result.errors
    assert (error.file, error.message) == (
        "one.py",
        "npuify failed on what this program imports: RecursionError: too deep",
    )
    assert {one.file: one.level for one in judge(result).programs} == {"one.py": Level.REVIEW, "two.py": Level.RUNS}


def test_a_binary_lock_of_another_program_is_no_failure(tmp_path: Path) -> None:
    lock = b"\0\x11torch cuda\0"
    result = scanned(tmp_path, {"a.py": GOOD, ".gradle/fileHashes.lock": lock, "uv.lock": "[[package]]\nname = 'x'\n"})
    assert not result.errors
