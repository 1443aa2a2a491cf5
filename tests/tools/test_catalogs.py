"""The catalogs: nothing missing where a room is whole, nothing stale, and no fault in what they say."""

from __future__ import annotations

import pytest

pytest.importorskip("babel", reason="Babel is not installed")

from tools.catalogs.catalog import as_mo, as_po, extract, faults, read, translations, updated
from tools.catalogs.domains import CATALOGS, STILL_ENGLISH


@pytest.fixture(scope="module")
def found():  # type: ignore[no-untyped-def]
    return extract()


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    return translations()


def test_catalogs_are_what_the_command_writes(found, known) -> None:  # type: ignore[no-untyped-def]
    """Where this fails, ``python -m tools.catalogs`` brings them up to date; then translate what is new."""
    assert {file.stem for file in CATALOGS.glob("*.po")} == set(found.texts)
    for domain, messages in found.texts.items():
        catalog = updated(domain, messages, known)
        assert (CATALOGS / f"{domain}.po").read_bytes() == as_po(catalog), f"python -m tools.catalogs renews {domain}"
        assert (CATALOGS / f"{domain}.mo").read_bytes() == as_mo(catalog), f"python -m tools.catalogs renews {domain}"


def test_nothing_is_missing_but_what_the_list_admits(found, known) -> None:  # type: ignore[no-untyped-def]
    missing = {
        domain: [one.one for one in messages if one.one not in known] for domain, messages in found.texts.items()
    }
    missing = {domain: texts for domain, texts in missing.items() if texts}
    assert not {domain: texts[:5] for domain, texts in missing.items() if domain not in STILL_ENGLISH.catalogs}
    assert not [domain for domain in STILL_ENGLISH.catalogs if domain not in missing], "these are whole now"


def test_no_sentence_is_put_together_but_where_the_list_admits(found) -> None:  # type: ignore[no-untyped-def]
    glued = {file: pieces for file, pieces in found.glued.items() if not file.startswith(STILL_ENGLISH.glued)}
    assert not {file: [(one.line, one.shown) for one in pieces] for file, pieces in glued.items()}


def test_translations_have_no_faults(known: dict[str, str]) -> None:
    wrong = {english: list(faults(english, other)) for english, other in known.items()}
    assert not {english: (known[english], found) for english, found in wrong.items() if found}


def test_nothing_is_fuzzy() -> None:
    assert not [
        message.id for file in CATALOGS.glob("*.po") for message in read(file.stem) if message.id and message.fuzzy
    ]


def test_faults_are_seen() -> None:
    assert list(faults("{a} is {b}", "{a} 是 {c}"))
    assert list(faults("a, b", "中, 文"))
    assert list(faults("it does not run there", "it does not run there"))
    assert list(faults("there is no $PYTHON", "没有 ${OTHER}"))
    assert not list(faults("there is no $PYTHON; name it", "没有 ${PYTHON}；请指定"))
    assert not list(faults("Use torch.npu.Event instead", "改用 torch.npu.Event"))
