"""Write the table of replaced kernels into ``docs/kernels.md``, and its Chinese form into the page in Chinese.

python -m tools.replacements
"""

from __future__ import annotations

from pathlib import Path

from npuify.knowledge.third_party.replacements import as_table
from npuify.language import speaking

PAGE = Path(__file__).parents[1] / "docs" / "kernels.md"
CHINESE = PAGE.with_name("kernels.zh-CN.md")
_BEGIN, _END = "<!-- replacements: python -m tools.replacements -->\n", "<!-- end -->"


def renewed(page: str) -> str:
    """The page with the table as the knowledge tables have it now."""
    head, _, rest = page.partition(_BEGIN)
    return f"{head}{_BEGIN}{as_table()}{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
    with speaking("zh"):
        CHINESE.write_text(renewed(CHINESE.read_text("utf-8")), "utf-8")
