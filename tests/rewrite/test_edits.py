"""Edits as spans: what is applied, what is refused, and where offsets came from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuify.model import Edit, Evidence, Finding, Position, Safety, Severity
from npuify.rewrite.edits import EditError, OffsetMap, apply_edits, apply_findings, wanted

PLACE = Position(1, 1)
settings.register_profile("fixed", settings.get_profile("npuify"), derandomize=True, max_examples=150)
settings.load_profile("fixed")

TEXTS = st.text(alphabet="ab\n\r\té训🚀", max_size=30).map(lambda text: text.encode())


def finding(*edits: Edit, safety: Safety = Safety.SAFE, code: str = "NPU101") -> Finding:
    return Finding(code, "x", Severity.ERROR, safety, "a.py", PLACE, PLACE, "m", Evidence.LIVE, edits=edits)


@st.composite
def edits_of(draw: st.DrawFn, data: bytes, *, apart: bool) -> list[Edit]:
    """Edits that fit ``data``; with ``apart`` in order and without overlap."""
    text = data.decode()
    offsets = [len(text[:index].encode()) for index in range(len(text) + 1)]
    marks = draw(st.lists(st.integers(0, len(text)), max_size=8).filter(lambda marks: len(marks) % 2 == 0))
    marks = sorted(marks) if apart else marks
    pairs = [sorted(marks[index : index + 2]) for index in range(0, len(marks), 2)]
    made = []
    for first, last in pairs:
        after = draw(st.text(alphabet="xy🚀", max_size=4))
        made.append(Edit(offsets[first], offsets[last], text[first:last], after))
    return made


def naive(data: bytes, edits: list[Edit]) -> bytes:
    """From the last edit to the first, so that no offset moves."""
    for edit in reversed(edits):
        data = data[: edit.start] + edit.after.encode() + data[edit.end :]
    return data


def overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True
    return one.start < other.end and other.start < one.end


@given(st.data(), TEXTS)
def test_agrees_with_a_naive_model(data: st.DataObject, text: bytes) -> None:
    edits = data.draw(edits_of(text, apart=True))
    assert apply_edits(text, edits) == naive(text, edits)


@given(st.data(), TEXTS)
def test_text_outside_the_spans_stays(data: st.DataObject, text: bytes) -> None:
    edits = data.draw(edits_of(text, apart=True))
    new, position, at = apply_edits(text, edits), 0, 0
    for edit in edits:
        kept = text[position : edit.start]
        assert new[at : at + len(kept)] == kept
        at += len(kept) + len(edit.after.encode())
        position = edit.end
    assert new[at:] == text[position:]


@given(st.data(), TEXTS)
def test_findings_are_applied_whole_and_never_two_that_overlap(data: st.DataObject, text: bytes) -> None:
    groups = [data.draw(edits_of(text, apart=True)) for _ in range(data.draw(st.integers(1, 5)))]
    findings = [finding(*group) for group in groups if group and not _clashes(group)]
    applied = apply_findings(text, findings)
    assert sorted(applied.edits) == sorted(edit for item in applied.findings for edit in item.edits)
    assert applied.data == naive(text, sorted(applied.edits))
    for index, item in enumerate(applied.findings):
        for other in applied.findings[:index]:
            assert not any(overlap(one, two) for one in item.edits for two in other.edits)
    for item in findings:
        # What was not taken stands in the way of something that was.
        assert item in applied.findings or any(overlap(one, two) for one in item.edits for two in applied.edits)


def _clashes(group: list[Edit]) -> bool:
    return any(one.end > two.start for one, two in zip(group, group[1:], strict=False))


@given(st.data(), TEXTS)
def test_order_of_findings_does_not_matter(data: st.DataObject, text: bytes) -> None:
    edits = data.draw(edits_of(text, apart=False))
    starts = [(edit.start, edit.end) for edit in edits]
    findings = [finding(edit) for edit in edits if starts.count((edit.start, edit.end)) == 1]
    assert apply_findings(text, findings).data == apply_findings(text, list(reversed(findings))).data


def test_outer_finding_wins() -> None:
    outer, inner = finding(Edit(0, 6, "abcdef", "X")), finding(Edit(2, 4, "cd", "Y"))
    assert apply_findings(b"abcdef", [inner, outer]) == (b"X", [outer], list(outer.edits))


def test_finding_is_left_whole_when_one_of_its_edits_is_in_the_way() -> None:
    first, second = finding(Edit(0, 3, "abc", "X")), finding(Edit(2, 3, "c", "Y"), Edit(5, 6, "f", "Z"))
    assert apply_findings(b"abcdef", [first, second]).data == b"Xdef"


def test_neighbours_are_both_applied() -> None:
    edits = finding(Edit(0, 2, "ab", "X")), finding(Edit(2, 4, "cd", "Y")), finding(Edit(4, 4, "", "+"))
    assert apply_findings(b"abcd", edits).data == b"XY+"


@pytest.mark.parametrize(
    "edit",
    [
        Edit(0, 2, "ba", "X"),
        Edit(0, 2, "a", "X"),
        Edit(0, 2, "", "X"),
        Edit(3, 9, "d", "X"),
        Edit(-1, 0, "", "X"),
        Edit(2, 1, "", "X"),
        Edit(5, 5, "", "X"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_applied(edit: Edit) -> None:
    with pytest.raises(EditError):
        apply_edits(b"abcd", [edit])
    with pytest.raises(EditError):
        apply_findings(b"abcd", [finding(edit), finding(Edit(2, 3, "c", "Y"))])


def test_edits_of_one_finding_must_not_overlap() -> None:
    with pytest.raises(EditError, match="NPU101"):
        apply_findings(b"abcd", [finding(Edit(0, 2, "ab", ""), Edit(1, 3, "bc", ""))])


def test_unsorted_edits_are_refused() -> None:
    with pytest.raises(EditError):
        apply_edits(b"abcd", [Edit(2, 3, "c", ""), Edit(0, 1, "a", "")])


def test_wanted_by_safety() -> None:
    edit = Edit(0, 1, "a", "b")
    safe, review, manual = (finding(edit, safety=safety) for safety in Safety)
    bare = finding()
    assert wanted([safe, review, manual, bare], unsafe=False) == [safe]
    assert wanted([safe, review, manual, bare], unsafe=True) == [safe, review]


@given(st.data(), TEXTS.filter(bool))
def test_offsets_lead_back_over_several_rounds(data: st.DataObject, text: bytes) -> None:
    """A model that carries the original offset of every byte along gives the same answers."""
    current, origin = text, list(range(len(text) + 1))
    offsets = OffsetMap()
    for _ in range(data.draw(st.integers(1, 4))):
        edits = data.draw(edits_of(current, apart=True))
        offsets.add(edits)
        new_origin: list[int] = []
        position = 0
        for edit in edits:
            new_origin += origin[position : edit.start] + [-1] * len(edit.after.encode())
            position = edit.end
        new_origin += origin[position:]
        current, origin = apply_edits(current, edits), new_origin
        for offset, first in enumerate(origin):
            if first >= 0:
                assert offsets.original(offset) == first
            assert offsets.original(offset) >= 0
