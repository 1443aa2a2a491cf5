"""Requirements of JAX with CUDA."""

from __future__ import annotations

import pytest

from ...harness import output


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("jax[cuda12]\n", "jax\n", "requirements.txt"),
        ("jax[cuda12_pip]==0.4.30\n", "jax==0.4.30\n", "requirements.txt"),
        ("jax[cuda13,k8s]>=0.5\n", "jax[k8s]>=0.5\n", "requirements.txt"),
        ("jaxlib==0.4.25+cuda12.cudnn89\n", "jaxlib==0.4.25\n", "requirements.txt"),
        ("jax-cuda12-plugin\njax-cuda12-pjrt\ntqdm\n", "tqdm\n", "requirements.txt"),
        ("jax==0.4.30\n", "jax==0.4.30\n", "requirements.txt"),
        ('[project]\nname = "x"\ndependencies = ["jax[cuda12]==0.5.3"]\n',) * 1
        + ('[project]\nname = "x"\ndependencies = ["jax==0.5.3"]\n', "pyproject.toml"),
        ('pip install -U "jax[cuda12]"\n', 'pip install -U "jax"\n', "install.sh"),
    ],
)
def test_jax_runs_on_the_cpu(before: str, after: str, name: str) -> None:
    assert output(before, unsafe=True, name=name) == after
