"""Which options a file may declare, told by its text."""

from __future__ import annotations

import pytest

from npuify.analysis.texts.declared_options import declared_options


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('parser.add_argument("--use-amp", "-a", dest="amp")', {"use_amp", "a", "amp"}),
        ("parser.add_argument('device')", {"device"}),
        ('flags.DEFINE_bool("fused", False, "help")', {"fused"}),
        ("parser.set_defaults(amp=True, kind='x')", {"amp", "kind"}),
    ],
)
def test_what_a_file_declares_is_found(text: str, wanted: set[str]) -> None:
    assert {name.encode() for name in wanted} <= declared_options(text.encode())


def test_other_files_declare_nothing() -> None:
    assert declared_options(b'config = {"amp": True}\nmodel.set(amp=True)') == set()
