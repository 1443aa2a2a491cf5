"""What is planted in the code of kernels: each thing once, and nothing in comments and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.kernel_changes import Project, changes, harmless
from tools.public_kernels.__main__ import table

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """(int n, const float* a, float* out) {
    int at = blockIdx.x * 2;  // 7 of them
    if (at < n) { out[at] = fmaxf(a, out) + 0.5f; }
    CHECK(at, "8");
}"""


def test_changes_mean_something_else() -> None:
    found = {(one.kind, one.old, one.new) for one in changes("k.cu", 0, KERNEL)}
    assert found >= {
        ("number", "2", "3"),
        ("number", "0.5", "1.0"),
        ("operator", "<", "<="),
        ("operator", "fmaxf", "fminf"),
        ("operator", "x", "y"),
        ("arguments", "a, out", "out, a"),
    }
    assert not {one.old for one in changes("k.cu", 0, KERNEL)} & {"7", "8", "them"}
    assert all(KERNEL[one.place :].startswith(one.old) for one in (*changes("", 0, KERNEL), *harmless("", 0, KERNEL)))


def test_harmless_changes_keep_what_is_computed() -> None:
    renamed = [one.new for one in harmless("k.cu", 0, KERNEL) if one.kind == "a variable"]
    assert renamed == [KERNEL.replace("at ", "at_npu ").replace("at]", "at_npu]").replace("(at,", "(at_npu,")]


def test_a_change_is_seen(tmp_path: Path) -> None:
    (tmp_path / "ext.cu").write_text('void pick() {}\nPYBIND11_MODULE(e, m) { m.def("pick", &pick); }\n')
    project = Project(tmp_path)
    assert not list(project.known())
    assert {text for _, _, text in project.reached("ext.cu", project.operators.files["ext.cu"].bindings[0])} == {
        "() {}"
    }


def test_the_table_of_public_projects() -> None:
    rows = [
        {"name": "a/b", "what": "f", "beside": "g", "what_zh": "甲", "beside_zh": "乙"},
        {"name": "c/d", "what": "f", "beside": "g"},
    ]
    results = {"a/b": {"difference": 2e-7}, "c/d": {"problem": "ImportError: x"}}
    assert table(rows, results) == "| a/b | f | g | 2.0e-07 |\n| c/d | f | g | **ImportError: x** |\n"
    assert table(rows[:1], results, "_zh") == "| a/b | 甲 | 乙 | 2.0e-07 |\n"
