"""Settings of accelerate as YAML reads them."""

from __future__ import annotations

import pytest

from ...harness import output

HEAD = "compute_environment: LOCAL_MACHINE\ndynamo_config:\n"


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("  dynamo_backend: INDUCTOR\n", "  dynamo_backend: 'NO'\n"),
        ('  dynamo_backend: "INDUCTOR"\n', '  dynamo_backend: "NO"\n'),
        ("  dynamo_backend: eager\n", "  dynamo_backend: eager\n"),
    ],
)
def test_no_is_a_word(line: str, after: str) -> None:
    """A bare NO is false in YAML 1.1, on which accelerate calls ``upper()``."""
    assert output(HEAD + line, unsafe=True, name="accelerate.yaml") == HEAD + after


def test_a_command_line_has_the_bare_word() -> None:
    text = "accelerate launch --dynamo_backend inductor train.py\n"
    assert output(text, unsafe=True, name="run.sh") == text.replace("inductor", "NO")
