"""Convert public training programs for one card, and train them on one, two and four simulated NPUs.

    python -m tools.many_cards CORPUS [--only NAME]… [--cards 2 --cards 4] [--launch WAY] [--nodes 2]
        --work FOLDER [--json FILE]

CORPUS holds the projects that programs.toml names, each as a folder. Each program is copied, shortened, migrated (the
original) and converted with ``--global-batch keep``; packages that are not installed are played by ``stand_ins``. With
plain SGD and no dropout, held against the original on one card, with its samples in the order of the converted one:

- the parameters of all ranks are equal after each step,
- the losses, averaged over the ranks, are those of one card within 1e-4,
- every training sample is seen once an epoch,
- what rank 0 prints (numbers) is what the original prints, and the others print nothing,
- each file is written once, has the tensors of the original's, and loads in one process.

Exit code 1 if anything fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import tomli

from tools.many_cards.trial import WAYS, Trial, try_program

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--cards", action="append", type=int, default=[])
    parser.add_argument("--launch", choices=WAYS, default="torchrun")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    programs = tomli.loads((HERE / "programs.toml").read_text())["program"]
    results = []
    for program in programs:
        if given.only and not any(one in program["name"] for one in given.only):
            continue
        trial = Trial(program, given.corpus, given.work / program["name"].replace(" ", "_"), given.launch, given.nodes)
        for result in try_program(trial, given.cards or [2, 4]):
            results.append(result)
            print(result.line(), flush=True)
            for problem in result.problems:
                print(f"    {problem}", flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps([result.as_dict() for result in results], indent=1))
    return int(any(result.problems for result in results))


if __name__ == "__main__":
    sys.exit(main())
