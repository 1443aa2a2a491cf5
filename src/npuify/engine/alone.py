"""One thread at a time uses the engine: it switches warnings and the collector off, and remembers its last search."""

from __future__ import annotations

import threading
from typing import Final

ENGINE: Final = threading.RLock()
"""Held by whoever scans, migrates or analyses; a thread may take it again."""
