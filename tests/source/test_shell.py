"""Reading shell scripts: words, variables, places."""

from __future__ import annotations

import gc

from npuify.source.shell import UNKNOWN, read, reader


def test_every_character_knows_its_bytes() -> None:
    data = "a --x=\"é cuda\"' b' $y\n".encode()
    words = read(data).commands[0].words
    assert [word.value for word in words] == ["a", "--x=é cuda b", UNKNOWN]
    word = words[1]
    at = word.value.index("cuda")
    span = word.span(at, at + 4)
    assert span is not None
    assert data[slice(*span)] == b"cuda"
    assert word.span(at, len(word.value)) is None, "a quote stands between them"


def test_words_of_a_string() -> None:
    data = b'CMD="python t.py --backend nccl \\\n  --x ${y} $(z)"\n'
    value = read(data).assignments[0].value
    assert value is not None
    assert [word.value for word in value.split()] == [
        "python",
        "t.py",
        "--backend",
        "nccl",
        "--x",
        UNKNOWN,
        UNKNOWN,
    ]
    nccl = value.split()[3]
    assert data[nccl.start : nccl.end] == b"nccl"


def test_variables() -> None:
    script = read(b"export A=1 B='2 3'\nC=4 D=5 cmd $E ${F:-g} ${#H}\nunset I\ndeclare -x J\nK+=\"l\"\n")
    assert [(one.name, one.value.value if one.value else None, one.alone) for one in script.assignments] == [
        ("A", "1", False),
        ("B", "2 3", False),
        ("C", "4", False),
        ("D", "5", False),
        ("K", "l", True),
    ]
    assert [(use.name, use.default.value if use.default else None) for use in script.uses] == [
        ("E", None),
        ("F", "g"),
        ("H", None),
        ("I", None),
        ("J", None),
    ]


def test_offsets_are_those_of_the_whole_text() -> None:
    data = b"RUN A=1 cmd x\n"
    script = read(data, 4, len(data))
    assert data[script.assignments[0].start : script.assignments[0].end] == b"A"
    assert data[script.commands[0].words[1].start :] == b"x\n"


def test_pipes_redirections_and_documents() -> None:
    script = read(b"a -L | wc -l\necho x >&2\necho y > z\ncat > run.sh <<'EOF'\nexport A=$B\nEOF\n")
    assert script.commands[0].pipe == (("wc", "-l"),)
    assert [one.is_redirected for one in script.commands if one.name == "echo"] == [False, True]
    document = script.heredocs[0]
    assert (document.command, document.target, document.is_literal) == (("cat",), "run.sh", True)
    assert [use.name for use in script.uses] == []


def test_comparisons() -> None:
    script = read(b'if [ "$D" = cuda ] || [[ $E == "x" ]]; then :; fi\ncase "$F" in a|b) ;; esac\n')
    assert [(one.left.variables, one.right.value) for one in script.comparisons] == [
        (("D",), "cuda"),
        (("E",), "x"),
        (("F",), "a"),
        (("F",), "b"),
    ]


def test_windows_line_ends_are_not_part_of_words() -> None:
    data = b"python t.py \\\r\n  --backend nccl\r\nexport A=1\r\n"
    script = read(data)
    last = script.commands[0].words[-1]
    assert last.value == "nccl"
    assert data[last.start : last.end] == b"nccl"
    assert script.assignments[0].value is not None
    assert script.assignments[0].value.value == "1"


def test_how_far_an_error_reaches() -> None:
    assert not read(b"a=<PATH>\nb c\n").is_broken
    assert read(b'a "b\nc d\n').is_broken
    assert not read(b"a | b && c\n").is_broken


def test_long_pipelines_are_read_in_the_time_of_their_length() -> None:
    script = read(b"a b|" * 400 + b"c")
    assert len(script.commands) == 401
    assert max(len(command.pipe) for command in script.commands) == 2
    assert script.commands[-2].pipe == (("c",),)


def test_a_script_is_let_go_without_the_collector() -> None:
    """A scan runs with the collector off: a ring of references would keep every script until its end."""
    gc.collect()
    gc.disable()
    try:
        read(b"for x in a b; do echo $x > $y; done\n")
        assert not [item for item in gc.get_objects() if type(item) is reader._Reader]
    finally:
        gc.enable()
