"""The TensorFlow tables: what is shipped is sound, what the generator reads, what is explained, which adapter is chosen."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge.explain.names import explain_name
from npuify.knowledge.generate.tensorflow import generate_tensorflow
from npuify.knowledge.tensorflow.lines import choose_adapter, requested_adapter
from npuify.knowledge.tensorflow.tables import adapter_options, adapters, forms, package, vendor_status
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c></row>'
    '<row><c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>3</v></c><c r="C2" t="s"><v>4</v></c></row>'
    '<row><c r="B3" t="s"><v>5</v></c><c r="C3" t="s"><v>6</v></c></row></sheetData></worksheet>'
)
STRINGS = (
    "tf",
    "tf.abs",
    "支持（无需迁移）",
    "tf.nn.x",
    "分析中（特性商用时不应该存在）",
    "tf.y",
    "不支持（无迁移方案）",
)


def _workbook(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    items = "".join(f"<si><t>{text}</t></si>" for text in STRINGS)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", SHEET)
        book.writestr(
            "xl/sharedStrings.xml",
            f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{items}</sst>',
        )


def test_generator_reads_signatures_options_and_lists(tmp_path: Path) -> None:
    one, two = tmp_path / "tf_adapter/python/npu_bridge", tmp_path / "tf_adapter_2.x/python/npu_device"
    one.mkdir(parents=True)
    two.mkdir(parents=True)
    (one / "npu_init.py").write_text(
        "from npu_bridge.ops import reduce\nfrom hccl.manage.api import get_rank_id\nimport tensorflow as tf\n"
        "def _hidden(): ...\ndef f(a, /, b=1, *, c: int = 2, **rest): ...\n"
    )
    (one / "ops.py").write_text(
        "class reduce(object):\n    def __init__(self, x=None): ...\n    def run(self, y): ...\n"
    )
    (two / "__init__.py").write_text(
        "class C:\n    def __init__(self):\n        self.mode = OptionValue(None, ['a', 'b'])\n"
        "        self.old = DeprecatedValue([0, 1], replacement='mode')\n"
    )
    for name in ("convert_tf2npu/tf1.15_api_support_list.xlsx", "convert_tf2npu/v2/TF2.6_api_support_list.xlsx"):
        _workbook(tmp_path / name)
    out = tmp_path / "out"
    generate_tensorflow(tmp_path, commit="abc", output=out)
    assert (out / "npu_bridge.json").read_text().count("_hidden") == 0
    text = (out / "npu_bridge.json").read_text()
    assert '"f": "f(a, b=1, *, c=2, **rest)"' in text
    assert '"get_rank_id": "=hccl.manage.api.get_rank_id"' in text
    assert '"reduce": "c(x=None)"' in text
    assert '"reduce.run": "m(y)"' in text
    assert "\"mode\": \"None|['a', 'b']\"" in (out / "npu_device.json").read_text()
    assert '"old": "deprecated|[0, 1]"' in (out / "npu_device.json").read_text()
    status = (out / "api_1.15.json").read_text()
    assert '"supported": "abs"' in status
    assert '"unsupported": "y"' in status
    assert "nn.x" not in status  # the vendor has not looked at it


def test_generator_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="there is no package npu_bridge"):
        generate_tensorflow(tmp_path, commit="abc", output=tmp_path / "out")


def test_forms_name_only_what_the_adapter_has() -> None:
    """A form that says ``NPUSomething`` or ``npu_something(`` names what the adapter's sources define."""
    known = {name for each in ("npu_bridge", "npu_device") for names in package(each).names.values() for name in names}
    known |= {"NPU_CFG", "NPU_LOOP_SIZE", "npu_sess", "npu_shutdown", "npu_handle", "npu_keras_sess"}
    known |= {name.rpartition(".")[2] for name in package("npu_bridge").names} | {"npu_device", "npu_bridge"}
    for row in forms():
        for name in re.findall(r"(?<![\w\"])(?:NPU|npu_)\w+", row.npu):
            assert name in known, f"{row.gpu} becomes {row.npu}"


def test_options_agree_with_the_sources() -> None:
    checked = package("npu_device").options
    run_config = package("npu_bridge").names["npu_bridge.estimator.npu.npu_config"]["NPURunConfig"]
    for name, row in adapter_options().items():
        if row.tf2.startswith("npu.global_options()"):
            assert name in checked or name == "profiling_mode", name
        argument = re.search(r"NPURunConfig\((\w+)=", row.tf1)
        if argument:
            assert re.search(rf"\b{argument[1]}=", run_config), name


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("tf.Session", "npu_config_proto"),
        ("tensorflow.Session", "npu_config_proto"),
        ("tf.compat.v1.ConfigProto", "NpuOptimizer"),
        ("NPURunConfig", "iterations_per_loop=1"),
        ("npu_device.distribute.all_reduce", "reduction='mean'"),
        ("precision_mode_v2", "mixed_float16"),
        ("CM_CHIEF_IP", "rank table"),
        ("hvd.rank", "get_rank_id"),
        ("tf.abs", "hint"),
    ],
)
def test_explains(what: str, says: str) -> None:
    found = explain_name(what)
    assert found is not None
    assert says in "\n".join(found.text)
    assert found.source


@pytest.mark.parametrize("what", ["tf.no_such_name", "npu_config_prot", "Session", "rank"])
def test_does_not_explain_what_it_does_not_know(what: str) -> None:
    assert explain_name(what) is None


def test_a_status_is_a_hint_for_names_as_people_write_them() -> None:
    assert vendor_status("1.15")["nn.dropout"]
    assert vendor_status("2.6")["keras.layers.Layer"] == "unsupported"


@pytest.mark.parametrize(
    ("pin", "version", "moves"),
    [
        ("==1.15.0", "1.15.0", False),
        ("==1.15", "1.15.0", False),
        ("==1.4", "1.15.0", True),
        (">=1.11.0,<2", "1.15.0", False),
        ("==2.6.5", "2.6.5", False),
        ("==2.3.0", "2.6.5", True),
        ("==2.12.0", "2.6.5", True),
        (">=2.0", "2.6.5", False),
        (">=1.11.0", "", False),
        (">=banana", "", False),
        (None, "", False),
    ],
)
def test_the_project_decides_the_line(pin: str | None, version: str, moves: bool) -> None:
    choice = choose_adapter(None, pin)
    assert (choice.adapter.version if choice.adapter else "") == version
    assert bool(choice.move) == moves
    assert choice.reason


def test_what_is_asked_for_wins() -> None:
    assert choose_adapter("2.6", "==1.4").adapter is adapters()[1]
    assert requested_adapter("1.15").package == "npu_bridge"
    with pytest.raises(NpuifyError, match=r"no TensorFlow adapter for 2\.13"):
        requested_adapter("2.13")
