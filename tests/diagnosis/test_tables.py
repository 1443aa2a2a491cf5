"""The tables: whole, matched by what they show, and true to the headers."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.diagnosis.known.signatures import matches
from npuify.diagnosis.stems import CODE, with_stems
from npuify.knowledge.failures.causes import causes, code_fact, code_facts, explain_failure, header_codes, text_facts
from npuify.knowledge.generate.error_codes import HEADERS, build
from npuify.knowledge.generate.wheel import Wheel
from npuify.model import NpuifyError

from .samples import diagnosed, samples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", [fact.name for fact in text_facts()])
def test_a_row_matches_its_own_example(name: str) -> None:
    fact = next(one for one in text_facts() if one.name == name)
    assert name in {one.name for one in matches(fact.example)}
    # And the quick look at whole pieces does not pass it over.
    line = fact.example.encode()
    assert with_stems(line, CODE) or _beside_an_error(name)
    assert any(word in fact.example for word in fact.words)


def _beside_an_error(name: str) -> bool:
    """Texts that CANN writes into lines that begin with [ERROR] or a code; the examples leave that out."""
    return name in {"port-bound", "rank-table", "cann-too-old", "jit-disabled"}


def test_names_and_codes_are_there_once() -> None:
    names = [fact.name for fact in text_facts()]
    assert len(set(names)) == len(names)
    codes = [code for fact in code_facts() for code in fact.code]
    assert len(set(codes)) == len(codes)


def test_every_cause_is_reached_and_can_be_acted_on() -> None:
    used = {fact.cause for fact in (*text_facts(), *code_facts())} - {""}
    assert set(causes()) == used
    for cause in causes().values():
        assert cause.title and cause.why and cause.fix
        assert not cause.title.endswith(".")
        assert bool(cause.question) == bool(cause.answers)


@pytest.mark.parametrize(
    "fact", [fact for fact in code_facts() if fact.grammar == "acl"], ids=lambda fact: fact.code[0]
)
def test_numbers_of_acl_are_those_of_the_headers(fact) -> None:  # type: ignore[no-untyped-def]
    known = header_codes().acl
    patterns = [re.compile(code.replace("*", r"\d")) for code in fact.code]
    assert [one.pattern for one in patterns if not any(one.fullmatch(number) for number in known)] == []


@pytest.mark.parametrize(
    ("code", "constant", "cause"),
    [
        # Where facts that circulate disagree with the headers, the headers hold.
        ("107035", "ACL_ERROR_RT_TASK_ABORT_STOP", "forced-stop"),
        ("507055", "ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR", "device-fault"),
        ("107046", "ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING", "graph-capture"),
        ("507015", "ACL_ERROR_RT_AICORE_EXCEPTION", "kernel-exception"),
        ("207018", "ACL_ERROR_RT_DEVICE_OOM", "out-of-memory"),
    ],
)
def test_codes_against_the_headers(code: str, constant: str, cause: str) -> None:
    assert header_codes().acl[code][0] == constant
    fact = code_fact(code)
    assert fact is not None and fact.cause == cause


@pytest.mark.parametrize("sample", samples("tuned"), ids=lambda sample: sample["lines"][:40])
def test_what_the_tables_were_made_from(sample: dict[str, str]) -> None:
    assert diagnosed(sample["lines"]).cause == sample["cause"]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("EI0006", "Ranks could not connect"),
        ("ei0006", "Ranks could not connect"),
        ("507015", "ACL_ERROR_RT_AICORE_EXCEPTION"),
        ("507905", "snapshot lock timeout"),
        ("ERR02200", "module DIST"),
        ("161002", "aclnn"),
        ("ACL_ERROR_RT_AICORE_EXCEPTION", "an operator crashed on the card"),
        ("HCCL_E_UNAVAIL", "error code is 7"),
        ("static-tls", "LD_PRELOAD"),
        ("out-of-memory", "expandable_segments"),
    ],
)
def test_explain_knows_codes_and_causes(what: str, said: str) -> None:
    answer = npuify.explain(what)
    assert said in "\n".join(answer.text) and answer.source


def test_explain_still_refuses_what_nobody_knows() -> None:
    assert explain_failure("999999") is None
    with pytest.raises(NpuifyError, match="nothing is known"):
        npuify.explain("E12")


def test_the_generated_table_from_a_wheel(tmp_path: Path) -> None:
    path = tmp_path / "torch_npu-9.9.9-cp310-cp310-linux_aarch64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("torch_npu-9.9.9.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch_npu\nVersion: 9.9.9\n")
        wheel.writestr(
            HEADERS["acl"][0],
            "#define ACL_RT_SUCCESS 0 // success\n#define  ACL_ERROR_RT_PARAM_INVALID  107000 // param invalid\n",
        )
        wheel.writestr(HEADERS["acl"][3], "static const int ACL_ERROR_OP_NOT_FOUND = 100024;\n")
        wheel.writestr(
            HEADERS["hccl"][0],
            "    HCCL_SUCCESS = 0, /**< success */\n    HCCL_E_PARA = 1,   /**< parameter error */\n",
        )
    opened = Wheel(path)
    made = json.loads(build(opened))
    opened.close()
    assert made["acl"] == {
        "100024": ["ACL_ERROR_OP_NOT_FOUND", "op not found"],
        "107000": ["ACL_ERROR_RT_PARAM_INVALID", "param invalid"],
    }
    assert made["hccl"] == {"1": ["HCCL_E_PARA", "parameter error"]}
    assert (made["torch_npu"], made["wheel"]) == ("9.9.9", path.name)
