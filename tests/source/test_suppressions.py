"""Ignore comments."""

from __future__ import annotations

import pytest

from ..harness import codes, output

NAME = "NPU101"


def lines_found(text: str) -> list[int]:
    from ..harness import findings

    return [finding.start.line for finding in findings(text)]


@pytest.mark.parametrize(
    "comment",
    [
        "# npuify: ignore",
        "#npuify:ignore",
        "# npuify: Ignore",
        "# npuify: ignore[NPU101]",
        "# npuify: ignore[cuda-name]",
        "# npuify: ignore[NPU999, NPU101]",
        "# keep  # npuify: ignore",
    ],
)
def test_silences_its_line_only(comment: str) -> None:
    text = f"import torch\ntorch.cuda.init()  {comment}\ntorch.cuda.synchronize()\n"
    assert lines_found(text) == [3]


@pytest.mark.parametrize("comment", ["# npuify: ignore[NPU999]", "# npuify: ignored", "# npuify ignore", "# ignore"])
def test_other_comments_silence_nothing(comment: str) -> None:
    assert lines_found(f"import torch\ntorch.cuda.init()  {comment}\n") == [2]


@pytest.mark.parametrize("comment", ["# npuify: ignore[npu101]", "# npuify: ignore[NPU1]"])
def test_codes_are_taken_as_select_takes_them(comment: str) -> None:
    assert lines_found(f"import torch\ntorch.cuda.init()  {comment}\n") == []


def test_comment_at_the_end_of_a_statement_counts_for_all_its_lines() -> None:
    text = "import torch\nx = dict(\n    a=torch.cuda.device_count(),\n    b=torch.cuda.current_device(),\n)  # npuify: ignore\n"
    assert codes(text) == []


def test_comment_inside_a_statement_counts_for_its_line() -> None:
    text = "import torch\nx = dict(\n    a=torch.cuda.device_count(),  # npuify: ignore\n    b=torch.cuda.current_device(),\n)\n"
    assert lines_found(text) == [4]


def test_comment_behind_a_body_does_not_silence_the_header() -> None:
    text = "import torch\nif torch.cuda.is_available():\n    torch.cuda.init()  # npuify: ignore\n"
    assert lines_found(text) == [2]


def test_comment_behind_a_header_does_not_silence_the_body() -> None:
    text = "import torch\nif (\n    torch.cuda.is_available()\n):  # npuify: ignore\n    torch.cuda.init()\n"
    assert lines_found(text) == [5]


def test_file_comment_with_codes() -> None:
    text = "# npuify: ignore-file[NPU120]\nimport torch\ntorch.zeros(1, device='cuda')\ntorch.cuda.init()\n"
    assert codes(text) == [NAME]
    assert codes(text.replace("[NPU120]", "")) == []


@pytest.mark.parametrize(
    "text",
    [
        '"""Write `# npuify: ignore-file` on top."""\nimport torch\ntorch.cuda.init()\n',
        'import torch\nHELP = "# npuify: ignore-file"\ntorch.cuda.init()\n',
        'import torch\ntorch.cuda.init(); print("# npuify: ignore")\n',
    ],
)
def test_only_comments_count(text: str) -> None:
    assert codes(text) == [NAME]


def test_silenced_code_is_not_edited() -> None:
    text = "import torch\nn = torch.cuda.device_count()  # npuify: ignore\nm = torch.cuda.device_count()\n"
    assert "n = torch.cuda.device_count()  # npuify: ignore\nm = torch.npu.device_count()\n" in output(text)


def test_import_of_torch_npu_can_be_silenced() -> None:
    text = "# npuify: ignore-file[NPU100]\nimport torch\nm = torch.cuda.device_count()\n"
    assert "torch_npu" not in output(text)


def test_counts_in_files_that_do_not_parse() -> None:
    from ..harness import worker

    text = "# npuify: ignore-file\nimport torch\nprint torch.cuda.device_count()\n"
    assert worker().analyse("a.py", text.encode())[0] == []
    text = "import torch\nprint torch.cuda.device_count()  # npuify: ignore\n"
    assert worker().analyse("a.py", text.encode())[0] == []
