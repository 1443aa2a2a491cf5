"""See :mod:`tools.site`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.site.build import build


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.site")
    commands = parser.add_subparsers(dest="command", required=True)
    builds = commands.add_parser("build", help="build the site")
    builds.add_argument("-o", "--output", type=Path, default=Path("out/site"))
    outputs = commands.add_parser("outputs", help="run the commands on pages again, and write what they print")
    outputs.add_argument("pages", nargs="*", type=Path, help="default: all that have such commands")
    commands.add_parser("pictures", help="take the pictures of the report again (needs Chromium)")
    asked = parser.parse_args()
    if asked.command == "build":
        build(asked.output)
    elif asked.command == "pictures":
        from tools.site.pictures import take

        print("\n".join(map(str, take())))
    else:
        from tools.site.sessions import renew

        renew(asked.pages)


main()
