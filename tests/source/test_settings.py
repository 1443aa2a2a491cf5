"""Reading files of settings: the value, its keys, and the bytes where both stand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuify.source.docker import pairs
from npuify.source.docker import read as read_docker
from npuify.source.settings import UnreadableSettings, read

pytestmark = pytest.mark.core


def values(kind: str, text: str) -> list[tuple[str, str, str]]:
    data = text.encode()
    found = read(kind, data)
    for value in found.values:
        if value.key_end:
            assert value.key in data[value.key_start : value.key_end].decode()
    return [(".".join(one.path), one.text, data[one.start : one.end].decode()) for one in found.values]


def test_yaml() -> None:
    text = (
        "# c: d\na: &anchor x   # y\n'b':\n  - \"c: d\"\n  - {e: f, g: [h, !!str i]}\ngrößer: ü\n"
        "k: |\n  text\n  more\nl: *anchor\nm:\nn: ''\n---\no: p\n"
    )
    assert values("yaml", text) == [
        ("a", "x", "x"),
        ("b.#", "c: d", "c: d"),
        ("b.#.e", "f", "f"),
        ("b.#.g.#", "h", "h"),
        ("b.#.g.#", "i", "i"),
        ("größer", "ü", "ü"),
        ("k", "  text\n  more\n", "  text\n  more\n"),
        ("o", "p", "p"),
    ]
    assert [key.path for key in read("yaml", text.encode()).keys] == [
        ("b",),
        ("b", "#", "g"),
        ("m",),
        ("n",),
    ]


def test_yaml_with_templates() -> None:
    text = "a: {{ .Values.x }}\n{{- if .y }}\nb: cuda\n{{- end }}\nc: x{{ z }}y\n"
    assert ("b", "cuda", "cuda") in values("yaml", text)


def test_yaml_that_would_grow_is_harmless() -> None:
    text = "a: &a [x]\n" + "".join(
        f"{chr(98 + at)}: &{chr(98 + at)} [{('*' + chr(97 + at) + ', ') * 9}]\n" for at in range(9)
    )
    assert values("yaml", text) == [("a.#", "x", "x")]


def test_json_with_comments() -> None:
    text = '{"a": {"b": ["c", 1, true,], // d\n "e\\"": null /* f */}, "é": "ü"}'
    assert values("json", text) == [
        ("a.b.#", "c", "c"),
        ("a.b.#", "1", "1"),
        ("a.b.#", "true", "true"),
        ('a.e\\"', "null", "null"),
        ("é", "ü", "ü"),
    ]


def test_toml() -> None:
    text = 'a = \'b\'\n[c.d]\n"e.f" = "ü"\ng = [\'h\', {i = """j"""}]\n'
    assert values("toml", text) == [
        ("a", "b", "b"),
        ("c.d.e.f", "ü", "ü"),
        ("c.d.g.#", "h", "h"),
        ("c.d.g.#.i", "j", "j"),
    ]


def test_ini_and_env() -> None:
    text = "; c\nexport A='b c' # d\n[s t]\nk : v ; w\n  l=m#n\nno pair\n"
    assert values("ini", text) == [("A", "b c", "b c"), ("s t.k", "v", "v"), ("s t.l", "m#n", "m#n")]


@pytest.mark.parametrize(("kind", "text"), [("yaml", "a: [\n"), ("json", '{"a": '), ("json", "[}"), ("toml", "a = \n")])
def test_what_is_not_of_the_format(kind: str, text: str) -> None:
    with pytest.raises(UnreadableSettings):
        read(kind, text.encode())


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=12,
)


def _scalars(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(_scalars, value.values()))
    if isinstance(value, list):
        return sum(map(_scalars, value))
    return 1


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_any_json_is_read_whole(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = read("json", text.encode("utf-8", "surrogatepass")).values
    assert len(found) == _scalars(value)


def test_dockerfile() -> None:
    data = (
        b'# syntax=x\nARG A=b\nFROM $A AS c\nENV D=e \\\n    # a comment\n    F="g h"\nENV I j k\n'
        b'RUN l && \\\n  # m\n  n\nRUN <<EOF\no\nEOF\nCMD ["p"]\n'
    )
    found, shell = read_docker(data)
    assert [one.name for one in found] == ["ARG", "FROM", "ENV", "ENV", "RUN", "RUN", "CMD"]
    assert len(shell) == len(data)
    assert [(pair.name, pair.value) for one in found if one.name == "ENV" for pair in pairs(shell, one)] == [
        ("D", "e"),
        ("F", "g h"),
        ("I", "j k"),
    ]
    assert shell[found[4].body : found[4].end].split() == [b"l", b"&&", b"\\", b"n"]
    assert data[found[5].body : found[5].end] == b"<<EOF\no\nEOF"
