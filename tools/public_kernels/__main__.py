"""Run the kernels of public projects after ``npuify migrate --replace-kernels``, and compare with their definition.

    python -m tools.public_kernels CORPUS --work FOLDER [--only NAME]... [--python PATH] [--write]

CORPUS holds the projects that projects.toml names. Each is migrated in the style npu, and the program of its row is run
in the migrated project under ``npuify simulate --policy error``: it calls the project's own functions with tensors on
simulated NPUs, forward and backward, and says how far they are from the definition in double precision. With --write
the results are kept beside docs/kernels.md, and its tables made anew. Exit code 1 if one fails or is farther off than
its row allows.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomli

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "docs" / "kernel-projects.json"
PAGES = {"": ROOT / "docs" / "kernels.md", "_zh": ROOT / "docs" / "kernels.zh-CN.md"}
_MARK = "<!-- projects: python -m tools.public_kernels -->\n"
_SAYS = "largest difference: "


def run(row: dict[str, Any], corpus: Path, work: Path, python: str) -> dict[str, Any]:
    """Migrate a project and run its program: the difference, or what went wrong."""
    source, folder = corpus / row["folder"], work / row["folder"].replace("/", "_")
    if not folder.exists():
        command = [sys.executable, "-m", "npuify", "migrate", str(source), "-o", str(folder), "--replace-kernels"]
        # Whether edits were left to review (exit code 1) is no question here.
        subprocess.run([*command, "--unsafe", "--jobs", "1"], capture_output=True, check=False, timeout=1800)
    program = ["-m", "tools.public_kernels.one", row["name"], str(folder.resolve())]
    command = [sys.executable, "-m", "npuify", "simulate", "--devices", "1", "--policy", "error", "--python", python]
    # A module after -m takes what follows as its own arguments.
    done = subprocess.run([*command, *program], capture_output=True, text=True, check=False, timeout=900, cwd=ROOT)
    said = [line for line in done.stdout.splitlines() if line.startswith(_SAYS)]
    if done.returncode or not said:
        return {"problem": (done.stderr.strip() or done.stdout.strip() or "nothing was said").splitlines()[-1]}
    difference = float(said[-1].removeprefix(_SAYS))
    return {"difference": difference} if difference <= row.get("allowed", 1e-5) else {"problem": f"{difference:.1e}"}


def table(rows: list[dict[str, Any]], results: dict[str, dict[str, Any]], language: str = "") -> str:
    """The results as rows of a Markdown table.

    Args:
        rows: the projects.
        results: what came of them.
        language: the ending of the fields for another language than English.
    """
    lines = []
    for row in rows:
        found = results.get(row["name"], {})
        said = f"**{found['problem']}**" if "problem" in found else f"{found.get('difference', float('nan')):.1e}"
        lines.append(f"| {row['name']} | {row['what' + language]} | {row['beside' + language]} | {said} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="where migrated projects lie; those there are taken")
    parser.add_argument("--only", action="append", default=[], help="projects whose name contains this")
    parser.add_argument("--python", default=sys.executable, help="a Python with what the projects import")
    parser.add_argument("--again", action="store_true", help="migrate anew what is there")
    parser.add_argument("--write", action="store_true", help="keep the results, and write the tables of the pages")
    given = parser.parse_args()
    rows = tomli.loads((HERE / "projects.toml").read_text("utf-8"))["project"]
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    failed = 0
    for row in rows:
        if given.only and not any(one in row["name"] for one in given.only):
            continue
        if given.again:
            shutil.rmtree(given.work / row["folder"].replace("/", "_"), ignore_errors=True)
        found = run(row, given.corpus, given.work, given.python)
        failed += "problem" in found
        kept[row["name"]] = found
        print(f"{row['name']:60} {found}", flush=True)
    if given.write:
        RESULTS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", "utf-8")
        for language, page in PAGES.items():
            head, _, rest = page.read_text("utf-8").partition(_MARK)
            title, _, rest = rest.partition("|---|---|---|---|\n")
            behind = rest[rest.index("\n\n") :]
            page.write_text(
                f"{head}{_MARK}{title}|---|---|---|---|\n{table(rows, kept, language)[:-1]}{behind}", "utf-8"
            )
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
