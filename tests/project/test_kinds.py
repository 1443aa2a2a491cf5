from __future__ import annotations

import pytest

from npuify.project.kinds import kind_of, kind_of_shebang


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("train.py", "python"),
        ("TRAIN.PY", "python"),
        ("gui.pyw", "python"),
        ("stubs.pyi", "stub"),
        ("demo.ipynb", "notebook"),
        ("run.sh", "shell"),
        ("job.sbatch", "shell"),
        ("config.yaml", "yaml"),
        ("setup.cfg", "ini"),
        ("pyproject.toml", "toml"),
        ("Dockerfile", "docker"),
        ("Dockerfile.gpu", "docker"),
        ("gpu.dockerfile", "docker"),
        ("kernel.cu", "cuda"),
        ("binding.cpp", "native"),
        ("CMakeLists.txt", "cmake"),
        ("Makefile", "make"),
        ("Makefile.gpu", "make"),
        ("Makefile.in", "other"),
        ("train.py.j2", "template"),
        ("run.sh.in", "template"),
        ("page.html.j2", "other"),
        ("config.h.in", "other"),
        ("makefile.md", "text"),
        (".envrc", "shell"),
        ("train.sub", "other"),
        ("requirements.txt", "requirements"),
        ("requirements-dev.txt", "requirements"),
        ("dev-requirements.txt", "requirements"),
        ("notes.txt", "text"),
        (".env", "env"),
        (".py", "other"),
        ("weights.pth", "other"),
        ("no_suffix", "other"),
        ("", "other"),
    ],
)
def test_kind_by_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"#!/usr/bin/env python3\n", "python"),
        (b"#!/usr/bin/python -u\n", "python"),
        (b"#!/usr/bin/env -S python3 -u\n", "python"),
        (b"#! /bin/sh\n", "shell"),
        (b"#!/usr/bin/env VAR=1 bash\n", "shell"),
        (b"#!/usr/bin/perl\n", "other"),
        (b"#!\n", "other"),
        (b"#!/usr/bin/env\n", "other"),
        (b"import torch\n", "other"),
        (b"\x7fELF", "other"),
    ],
)
def test_kind_by_first_line(line: bytes, kind: str) -> None:
    assert kind_of_shebang(line) == kind
