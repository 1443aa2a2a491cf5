"""How far a fleet's runs are, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase, plural

if TYPE_CHECKING:
    from npuify.fleet.store import Run, Store

_FAILED = "SELECT count(*) FROM member JOIN result ON result.id = member.result WHERE run = ? AND fault IS NOT NULL"
_LIST = "SELECT count(*) AS of, count(result) AS done FROM member WHERE run = ?"


def render_status(store: Store) -> str:
    """One line for each run, the newest first."""
    lines = [_line(store, one) for one in store.runs()]
    return "\n".join(lines or [phrase("No run yet.")]) + "\n"


def _line(store: Store, run: Run) -> str:
    (counts,) = store.rows(_LIST, run.number)
    ((failed,),) = store.rows(_FAILED, run.number)
    state = (
        phrase("ended {ended}", ended=run.ended)
        if run.ended
        else phrase("not whole; the same npuify fleet scan goes on with it")
    )
    return phrase(
        "run {run}: {done} of {projects}, {failed} not scanned; begun {started}, {state}",
        run=run.number,
        done=counts["done"],
        projects=plural("{count} project", "{count} projects", counts["of"]),
        failed=failed,
        started=run.started,
        state=state,
    )
