"""A run of a fleet as a Parquet file, for those who look at it with pandas, DuckDB, Spark or a warehouse.

Written by pyarrow, which is installed with ``npuify[parquet]``; nothing else needs it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.model import NpuifyError

if TYPE_CHECKING:
    from npuify.fleet.reports.report import Project, Report


def render_parquet(report: Report) -> bytes:
    """One row a project, with what blocks it, its operators and its codes as lists; the columns are English in each
    language, and those of ``--format csv`` have the same names here.

    Raises:
        NpuifyError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise NpuifyError(
            "pyarrow, which writes Parquet, is not installed",
            advice='pip install "npuify[parquet]", or take --format csv; fleet.sqlite has the same and more',
        ) from error
    text, number, share = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    said = [(name, text) for name in ("kind", "decision", "what", "why", "advice")]
    obstacle = pyarrow.struct([*said, ("places", number)])
    operator = pyarrow.struct([("name", text), ("places", number)])
    code = pyarrow.struct([("code", text), ("count", number)])
    schema = pyarrow.schema(
        [
            *((name, text) for name in ("name", "source", "revision", "state", "level", "title", "summary")),
            *((name, share) for name in ("hours_low", "hours_likely", "hours_high")),
            ("torch_npu", text),
            *((name, number) for name in ("files", "bytes", "migrated", "review", "manual", "notes", "errors")),
            *(("obstacles", pyarrow.list_(obstacle)), ("operators", pyarrow.list_(operator))),
            ("codes", pyarrow.list_(code)),
            *((name, text) for name in ("fault", "message", "advice", "report", "earlier")),
            *(("seconds", share), ("made", text), ("run", number)),
        ]
    )
    table = pyarrow.Table.from_pylist([_row(one, report.run) for one in report.projects], schema=schema)
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def _row(one: Project, run: int) -> dict[str, Any]:
    fault = one.fault
    return {
        **{name: value for name, value in msgspec.structs.asdict(one).items() if not isinstance(value, (tuple, dict))},
        "hours_low": one.hours.low,
        "hours_likely": one.hours.likely,
        "hours_high": one.hours.high,
        "obstacles": [msgspec.structs.asdict(obstacle) for obstacle in one.obstacles],
        "operators": [msgspec.structs.asdict(operator) for operator in one.operators],
        "codes": [{"code": code, "count": count} for code, count in one.codes.items()],
        "fault": fault.kind if fault else None,
        "message": fault.message if fault else None,
        "advice": fault.advice if fault else None,
        "run": run,
    }
