"""Words that name a backend of collective communication."""

from __future__ import annotations

import re

BACKEND_WORD = re.compile(
    r"backend|process_group|init_distributed|new_group|dist_type|setup_dist|init_dist", re.IGNORECASE
)
