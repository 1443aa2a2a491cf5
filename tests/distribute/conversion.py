"""Conversions of programs given as text."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.distribute.convert import ConversionOptions, plan
from npuify.options import Options

if TYPE_CHECKING:
    from npuify.model import Finding, MigrationResult

OPTIONS = Options(unsafe=True, jobs=1, cache=False)


class Converted(NamedTuple):
    """A converted program: its text, what is left to do by the conversion's codes, and the whole result."""

    text: str
    left: dict[str, Finding]
    result: MigrationResult
    texts: dict[str, str]

    def has(self, *lines: str) -> bool:
        """Whether these lines follow each other in the text, indented alike."""
        own = [line.strip() for line in self.text.splitlines()]
        wanted = [line.strip() for line in lines]
        return any(own[place : place + len(wanted)] == wanted for place in range(len(own)))


def convert(folder: Path, program: str, conversion: ConversionOptions | None = None, **others: str) -> Converted:
    """Convert ``program``, as train.py, with ``others`` as modules beside it."""
    folder.mkdir(exist_ok=True)
    for name, text in {"train": program, **others}.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    result, contents = plan(folder, conversion or ConversionOptions(entry="train.py"), OPTIONS)
    texts = {name: data.decode() for name, data in contents.items()}
    left = {finding.code: finding for finding in result.left if "NPU350" <= finding.code <= "NPU399"}
    return Converted(texts.get("train.py", ""), left, result, texts)


def training(loader: str = "DataLoader(data, batch_size=4, shuffle=True)", **parts: str) -> str:
    """A small training program, some of its parts replaced: ``imports``, ``model``, ``epochs``, ``step``, ``end``."""
    return textwrap.dedent(
        """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset
        {imports}

        def main():
            data = TensorDataset(torch.randn(16, 4), torch.randn(16, 2))
            loader = {loader}
            {model}
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            {epochs}
                for step, (x, y) in enumerate(loader):
                    {step}
            {end}

        if __name__ == "__main__":
            main()
        """
    ).format(
        loader=loader,
        imports=parts.get("imports", ""),
        model=parts.get("model", "model = nn.Linear(4, 2).cuda()"),
        epochs=parts.get("epochs", "for epoch in range(3):"),
        step=textwrap.indent(
            textwrap.dedent(
                parts.get(
                    "step",
                    """\
                    optimizer.zero_grad()
                    loss = nn.functional.mse_loss(model(x.cuda()), y.cuda())
                    loss.backward()
                    optimizer.step()""",
                )
            ),
            " " * 12,
        ).lstrip(),
        end=textwrap.indent(textwrap.dedent(parts.get("end", "pass")), " " * 4).lstrip(),
    )
