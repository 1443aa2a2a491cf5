"""The validator of skills: what the specification asks for, each rule by a skill that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.handover.skill.blocks import blocks
from npuify.handover.skill.validate import validate
from npuify.model import NpuifyError

MATTER = "name: good-skill\ndescription: Does something. Use it when something has to be done."
BODY = "# Good\n\nSee [more](references/more.md).\n\n```bash\necho one\n```\n"


def skill(folder: Path, matter: str = MATTER, body: str = BODY) -> Path:
    root = folder / "good-skill"
    (root / "references").mkdir(parents=True)
    (root / "references" / "more.md").write_text("more\n")
    (root / "SKILL.md").write_text(f"---\n{matter}\n---\n\n{body}", encoding="utf-8")
    return root


def test_a_good_skill_has_no_fault(tmp_path: Path) -> None:
    whole = (
        f'{MATTER}\nlicense: Apache-2.0\ncompatibility: Linux\nmetadata:\n  version: "1.0"\nallowed-tools: Bash Read'
    )
    assert validate(skill(tmp_path, whole)) == ()
    assert validate(tmp_path / "good-skill" / "SKILL.md") == ()


@pytest.mark.parametrize(
    ("matter", "said"),
    [
        ("description: x", "name is missing"),
        ("name: good-skill", "description is missing"),
        ("name: Good-Skill\ndescription: x", "lowercase letters"),
        ("name: good--skill\ndescription: x", "lowercase letters"),
        ("name: -good-skill\ndescription: x", "lowercase letters"),
        ("name: good_skill\ndescription: x", "lowercase letters"),
        ("name: 5\ndescription: x", "name is missing"),
        (f"name: {'a' * 65}\ndescription: x", "65 characters"),
        ("name: other-skill\ndescription: x", "not that of its folder"),
        ("name: good-skill\ndescription: ''", "description is empty"),
        (f"name: good-skill\ndescription: {'x' * 1025}", "1025 characters"),
        (f"{MATTER}\ncompatibility: {'x' * 501}", "501 characters"),
        (f"{MATTER}\nversion: '1'", "'version' is not a field"),
        (f"{MATTER}\nmetadata:\n  version: 1.0", "metadata is not a mapping of names to strings"),
        (f"{MATTER}\nallowed-tools: [Bash]", "allowed-tools is not a string"),
        ("name: good-skill\ndescription: a: b", "is not YAML"),
        ("- name", "is not a mapping"),
    ],
)
def test_wrong_front_matter(matter: str, said: str, tmp_path: Path) -> None:
    faults = [fault for fault in validate(skill(tmp_path, matter)) if fault.severity == "error"]
    assert any(said in fault.message for fault in faults), faults


@pytest.mark.parametrize(
    ("body", "severity", "said"),
    [
        ("", "error", "no instructions"),
        ("[a](references/none.md)", "error", "does not exist"),
        ("[a](../other/SKILL.md)", "error", "leaves the skill's folder"),
        ("[a](/etc/passwd)", "error", "leaves the skill's folder"),
        ("```bash\necho one\n", "error", "not closed"),
        ("```bash\nif true; then echo\n```\n", "error", "bash cannot parse"),
        ("line\n" * 501, "warning", "lines, more than 500"),
        ("word " * 5000, "warning", "tokens, more than 5000"),
        ("汉" * 5001, "warning", "tokens, more than 5000"),
        ("cd /home/somebody/project", "warning", "a particular machine"),
    ],
)
def test_wrong_body(body: str, severity: str, said: str, tmp_path: Path) -> None:
    faults = validate(skill(tmp_path, body=body))
    assert any(fault.severity == severity and said in fault.message for fault in faults), faults


def test_what_is_no_link_of_the_skill_is_left_alone(tmp_path: Path) -> None:
    body = "[a](https://example.org/x) [b](#part) [c](references/more.md#part)\n```text\n[d](none.md)\n```\n"
    assert validate(skill(tmp_path, body=body)) == ()


def test_without_front_matter_and_without_a_file(tmp_path: Path) -> None:
    root = skill(tmp_path)
    (root / "SKILL.md").write_text("# Only a page\n")
    assert "front matter" in validate(root)[0].message
    (root / "SKILL.md").write_bytes(b"---\nname: \xff\n---\n")
    assert "UTF-8" in validate(root)[0].message
    (root / "SKILL.md").rename(root / "skill.md")
    with pytest.raises(NpuifyError) as error:
        validate(root)
    assert "skill.md" in error.value.advice


def test_the_command(tmp_path: Path) -> None:
    root = skill(tmp_path)
    good = CliRunner().invoke(app, ["skill", "--validate", str(root)])
    assert good.exit_code == 0
    assert "no fault" in good.stdout
    (root / "references" / "more.md").unlink()
    bad = CliRunner().invoke(app, ["skill", "--validate", str(root)])
    assert bad.exit_code == 1
    assert "SKILL.md:8: references/more.md does not exist" in bad.stdout


def test_blocks_of_code() -> None:
    text = "a\n```bash npu\none\ntwo\n```\n~~~~\n```\n~~~~\n```` text\n```\n````\n```bash\nopen"
    found = [(one.language, one.words, one.text, one.line, one.closed) for one in blocks(text)]
    assert found == [
        ("bash", ("npu",), "one\ntwo\n", 2, True),
        ("", (), "```\n", 6, True),
        ("text", (), "```\n", 9, True),
        ("bash", (), "open\n", 12, False),
    ]
