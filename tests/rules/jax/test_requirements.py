"""Requirements of JAX with CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...harness import output

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("jax[cuda12]\n", "jax\n", "requirements.txt"),
        ("jax[cuda12_pip]==0.4.30\n", "jax==0.4.30\n", "requirements.txt"),
        ("jax[cuda13,k8s]>=0.5\n", "jax[k8s]>=0.5\n", "requirements.txt"),
        ("jaxlib==0.4.25+cuda12.cudnn89\n", "jaxlib==0.4.25\n", "requirements.txt"),
        ("jax-cuda12-plugin\njax-cuda12-pjrt\ntqdm\n", "tqdm\n", "requirements.txt"),
        ("jax==0.4.30\n", "jax==0.4.30\n", "requirements.txt"),
        ("jax[tpu]\n", "jax[tpu]\n", "requirements.txt"),
        ("jax\ntensorflow-cpu>=2.4.0\n", "jax\ntensorflow-cpu>=2.4.0\n", "requirements.txt"),
        ('[project]\nname = "x"\ndependencies = ["jax[cuda12]==0.5.3"]\n',) * 1
        + ('[project]\nname = "x"\ndependencies = ["jax==0.5.3"]\n', "pyproject.toml"),
        ('pip install -U "jax[cuda12]"\n', 'pip install -U "jax"\n', "install.sh"),
    ],
)
def test_jax_runs_on_the_cpu(before: str, after: str, name: str) -> None:
    assert output(before, unsafe=True, name=name) == after


def test_the_platform_that_a_program_asks_for() -> None:
    text = 'import jax\n\njax.config.update("jax_platforms", "{}")\n'
    assert output(text.format("cuda"), unsafe=True) == text.format("cpu")
    assert output(text.format("cpu"), unsafe=True) == text.format("cpu")


def test_modules_that_models_on_jax_share_are_not_pinned(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import optax\n")
    text = "import jax\nimport torch\n\nx = jax.numpy.ones(3)\n"
    assert output(text, unsafe=True, name="data.py", root=tmp_path) == text
    program = text + '\nif __name__ == "__main__":\n    print(x)\n'
    assert "jax_platforms" in output(program, unsafe=True, name="train.py", root=tmp_path)
