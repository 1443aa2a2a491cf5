"""``python -m tools.catalogs``: bring the catalogs up to date and compile them.

``--missing`` lists what is not translated, ``--glued`` the sentences that code puts together."""

from __future__ import annotations

import sys

from tools.catalogs.catalog import extract, translations, update


def main() -> None:
    if "--glued" in sys.argv:
        for file, pieces in extract().glued.items():
            for piece in pieces:
                print(f"{file}:{piece.line}: {piece.shown}")
        return
    if "--missing" in sys.argv:
        known = translations()
        for domain, messages in sorted(extract().texts.items()):
            missing = [one for one in messages if one.one not in known]
            print(f"{domain}: {len(missing)} of {len(messages)} missing")
            if domain in sys.argv:
                for one in missing:
                    print(f"  {one.file}: {one.one}")
        return
    print("\n".join(update()) or "The catalogs are up to date.")


if __name__ == "__main__":
    main()
