"""What imported packages answered: the shipped live tables, and how they correct what was read from files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from npuify.api import explain
from npuify.knowledge import load
from npuify.knowledge.release.imported import (
    LIVE,
    LiveFile,
    behaviour,
    correct,
    load_live,
    read_live_file,
    shipped_live_tables,
)
from npuify.knowledge.release.signatures import parse_schema
from npuify.knowledge.release.table import ReleaseTable
from npuify.knowledge.release.versions import shipped_tables
from npuify.knowledge.schema import FORMAT, Package, ReleaseFile
from npuify.model import Evidence, NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = Package("9.1.0", "x-9.1.0-cp311.whl", "0" * 64)


@pytest.fixture(params=shipped_live_tables(), name="live")
def _live(request: pytest.FixtureRequest) -> LiveFile:
    return read_live_file(LIVE / f"{request.param}.json")


@pytest.fixture(name="table")
def _table(live: LiveFile) -> ReleaseTable:
    return load(live.torch_npu.version)


def test_the_newest_releases_are_known_live() -> None:
    assert {"2.13.0", "2.14.0"} <= set(shipped_live_tables()) <= set(shipped_tables())


def test_the_file_is_what_its_name_says(live: LiveFile, table: ReleaseTable) -> None:
    assert live.torch_npu.version == table.torch_npu
    assert live.torch.version.partition("+")[0] == table.torch
    for package, stored in ((live.torch_npu, table.content.torch_npu), (live.torch, table.content.torch)):
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256)
        assert package.wheel.split("-")[0] == stored.wheel.split("-")[0]


def test_nothing_of_the_machine_is_in_it(live: LiveFile) -> None:
    text = (LIVE / f"{live.torch_npu.version}.json").read_text(encoding="ascii")
    assert not re.search(r"/(?:home|root|work|tmp)/|0x[0-9a-f]{6,}|PID:\d", text)


def test_kernels_are_those_that_the_files_list(live: LiveFile, table: ReleaseTable) -> None:
    """Two ways to know the same; what differs is known by name."""
    read = {(name, o) for name, overloads in table.content.operators.items() for o in overloads.split()}
    asked = {(name, o) for name, overloads in live.operators["kernel"].items() for o in overloads.split()}
    assert read - asked == {("_coalesce", "-")}, "listed as an operator of dense tensors, registered for sparse ones"
    assert not asked - read


def test_every_operator_is_served_in_one_way(live: LiveFile, table: ReleaseTable) -> None:
    assert set(live.operators) <= {"kernel", "fallback", "composite", "default", "none"}
    served = [(n, o) for names in live.operators.values() for n, overloads in names.items() for o in overloads.split()]
    assert len(served) == len(set(served)) > 2500
    assert table.operator_support["add"]["Tensor"] == "kernel"
    assert table.operator_support["lgamma"]["out"] == "fallback"
    assert table.operator_support["lgamma"][""] == "fallback", "torch makes it of the form with out="
    assert table.operator_support["linalg_svd"][""] == "composite"
    assert table.operator_support["_standard_gamma"] == {"": "fallback", "out": "default"}


def test_calls_fall_back_where_the_dispatcher_says_so(live: LiveFile, table: ReleaseTable) -> None:
    """Two ways to know the same: what a call warned of, and what the dispatch table holds for the operator it named."""
    assert live.calls["torch.lgamma"] == ["lgamma.out"]
    assert live.calls["torch.linalg.cholesky"] == ["linalg_cholesky_ex.L"]
    assert live.calls["torch.linalg.svd"] == []
    for name, operators in live.calls.items():
        for operator in operators:
            base, _, overload = operator.partition(".")
            assert table.operator_support[base][overload] == "fallback", f"{name}: {operator}"


def test_every_schema_can_be_read(live: LiveFile, table: ReleaseTable) -> None:
    for name, schemas in live.schemas.items():
        for schema in schemas:
            assert all(parameter.name.isidentifier() for parameter in parse_schema(schema)), f"{name}{schema}"
    assert set(table.content.custom_operators) <= set(table.custom_operators)


def test_first_parameters_are_called_input(table: ReleaseTable) -> None:
    """The package's own list says ``self``, but what is registered says ``input``; only that can be given by name."""
    signature = table.signature("torch_npu.npu_rms_norm")
    assert signature is not None
    assert signature.accepts("input")
    assert not signature.accepts("self")
    for schemas in table.custom_operators.values():
        assert not any(p.name == "self" for schema in schemas for p in parse_schema(schema))


def test_every_name_that_the_files_tell_is_there(table: ReleaseTable, live: LiveFile) -> None:
    """The files' tables were read without importing anything; this is how far they can be trusted."""
    wrong = [
        f"{module}.{name}"
        for module, names in table.content.npu.items()
        if module in live.names
        for name, spec in names.items()
        if "." not in name and spec != "v" and name not in live.names[module]
    ]
    # 2.6 imports its sanitizer under this name where an environment variable asks for it.
    assert set(wrong) <= {"torch_npu.csan"}


def test_aliases_lead_somewhere(live: LiveFile) -> None:
    for module, names in live.names.items():
        for name, spec in names.items():
            if spec.startswith("="):
                home, _, last = spec[1:].rpartition(".")
                assert spec[1:] in live.names or last in live.names.get(home, ()), f"{module}.{name} {spec}"


def test_transfer_to_npu_reaches_what_it_is_known_for(live: LiveFile) -> None:
    patched = live.by_transfer_to_npu
    assert patched["torch.cuda.manual_seed"] == "= torch.npu.manual_seed"
    assert patched["torch.randn"] == "wrapped"
    assert patched["torch.cuda.Event"] == "= torch.npu.Event"
    assert "torch.jit.script" in patched
    assert "torch.backends.cudnn.benchmark" not in patched


def test_answers(live: LiveFile) -> None:
    scenarios = behaviour(live)
    one = {answer.ask: answer for answer in scenarios["one device"].answers}
    assert one["torch.npu.device_count()"].value == "1"
    assert one["torch.npu.get_device_capability()"].value is None
    assert one["torch.npu.get_device_capability()"].warnings
    assert one["torch.npu.nccl"].error == "AttributeError"
    none = {answer.ask: answer for answer in scenarios["no device"].answers}
    assert none["torch.npu.is_available()"].value == "False"
    for name, scenario in scenarios.items():
        assert scenario.answers, name
        assert not [answer.ask for answer in scenario.answers if answer.crash], name


def test_explain_shows_how_it_is_known() -> None:
    assert explain("torch.npu.Event", torch_npu="2.13.0").evidence is Evidence.LIVE
    assert explain("torch.cuda.Event", torch_npu="2.13.0").evidence is Evidence.LIVE
    assert explain("torch.npu.Event", torch_npu="2.1").evidence is Evidence.PACKAGE
    operator = explain("aten::lgamma", torch_npu="2.13.0")
    assert {row.name: row.note for row in operator.releases}["aten::lgamma.out"].startswith("runs on the CPU")
    with pytest.raises(NpuifyError, match="aten::nothing"):
        explain("aten::nothing")


def make(names: dict[str, dict[str, str]], **changes: object) -> LiveFile:
    """A live table of a release that does not exist."""
    content = LiveFile(
        format=1,
        generator="1",
        torch_npu=PACKAGE,
        torch=PACKAGE,
        torch_build="cpu",
        python="3.11.1",
        machine="x86_64",
        names=names,
        exported={},
        not_imported=[],
        failed={},
        operators={"kernel": {"add": "Tensor -"}, "fallback": {"lgamma": "-", "add": "out"}},
        calls={},
        keys={},
        schemas={"npu::npu_x": ["(Tensor input) -> Tensor"], "atb::y": ["() -> ()"]},
        by_import={"torch.Tensor.npu": "added here"},
        by_transfer_to_npu={"torch.cuda.Event": "= torch.npu.Event"},
        behaviour=msgspec.Raw(b"{}"),
    )
    return msgspec.structs.replace(content, **changes)


def read_from_files(names: dict[str, dict[str, str]]) -> ReleaseFile:
    """What the files of that release would tell."""
    return ReleaseFile(
        format=FORMAT,
        generator="1",
        torch_npu=PACKAGE,
        torch=PACKAGE,
        cuda={"torch.cuda": {"Event": "c(enable_timing=False)", "gone": "f()"}},
        npu=names,
        not_imported=["torch_npu.extra"],
        patched=["torch.Tensor.is_npu"],
        transfer_patches=["torch.Tensor.cuda", "accelerate.x"],
        operators={"add": "Tensor", "_coalesce": "-"},
        custom_operators={"npu_x": ["(Tensor self) -> Tensor"]},
    )


def test_the_imported_package_is_believed_more_than_its_files() -> None:
    files = read_from_files(
        {
            "torch_npu": {"npu": "M"},
            "torch_npu.npu": {
                "Event": "c(timing=1)",
                "Event.record": "m()",
                "gone": "f()",
                "flag": "v",
                "made": "f(a)",
            },
            "torch_npu.extra": {"other": "f()"},
        }
    )
    live = make(
        {
            "torch_npu": {"npu": "M", "npu_x": "o"},
            "torch_npu.npu": {
                "Event": "c(enable_timing=False)",
                "Event.wait": "m()",
                "made": "f",
                "new": "f(b)",
                "bad": "!ImportError",
            },
        }
    )
    table = ReleaseTable(files, live)
    assert table.has("torch.npu.new")
    assert not table.has("torch.npu.gone")
    assert not table.has("torch.npu.bad"), "exported, but asking for it raises"
    assert table.has("torch.npu.flag"), "live tables leave most variables out"
    assert table.has("torch.npu.Event.wait")
    assert table.has("torch.npu.Event.record"), "instances may have what the class does not show"
    event, made = table.signature("torch.npu.Event"), table.signature("torch.npu.made")
    assert event is not None
    assert event.text == "(enable_timing=False)"
    assert made is not None
    assert made.text == "(a)", "made in C++; only the files say how it is called"
    assert table.has("torch_npu.npu_x")
    assert table.custom_operators == {"npu_x": ["(Tensor input) -> Tensor"]}
    assert dict(table.operators) == {"add": ("Tensor", "")}
    assert table.operator_support == {
        "add": {"Tensor": "kernel", "": "kernel", "out": "fallback"},
        "lgamma": {"": "fallback"},
    }
    assert table.patched == {"torch.Tensor.is_npu", "torch.Tensor.npu"}
    assert table.transfer_patches == ("accelerate.x", "torch.Tensor.cuda", "torch.cuda.Event")
    assert table.content is files
    assert table.evidence("torch.npu.Event") is table.evidence("torch.npu.gone") is Evidence.LIVE
    assert table.evidence("torch_npu.extra.other") is Evidence.PACKAGE, "that module was not listed"


def test_without_a_live_table_files_are_believed() -> None:
    files = read_from_files({"torch_npu": {"npu": "M"}, "torch_npu.npu": {"Event": "c()"}})
    table = ReleaseTable(files)
    assert table.live is None
    assert table.operator_support == {}
    assert table.evidence("torch.npu.Event") is Evidence.PACKAGE
    counterpart = table.counterpart("torch.cuda.Event")
    assert counterpart is not None
    assert counterpart.evidence is Evidence.PACKAGE
    corrected = ReleaseTable(files, make({"torch_npu": {"npu": "M"}, "torch_npu.npu": {"Event": "c()"}}))
    counterpart = corrected.counterpart("torch.cuda.Event")
    assert counterpart is not None
    assert counterpart.evidence is Evidence.LIVE
    assert "imported" in counterpart.source


def test_correcting_changes_nothing_of_cuda() -> None:
    files = read_from_files({})
    assert correct(files, make({})).cuda == files.cuda


def test_a_bad_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "9.1.0.json"
    with pytest.raises(NpuifyError, match="cannot read"):
        read_live_file(path)
    path.write_text("{}")
    with pytest.raises(NpuifyError, match="not a live table"):
        read_live_file(path)
    path.write_bytes(msgspec.json.encode(make({}, format=99)))
    with pytest.raises(NpuifyError, match="layout 99"):
        read_live_file(path)


def test_a_release_without_one(tmp_path: Path) -> None:
    assert load_live("2.1.0.post17") is None
    assert load("2.1.0.post17").live is None
