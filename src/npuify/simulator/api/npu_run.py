"""``torch_npu.distributed.run``: torch_npu's launcher, with PyTorch's ordinary meeting point."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torch.distributed import run as torchrun
from torch.distributed.argparse_util import env
from torch.distributed.elastic.multiprocessing.errors import record

from npuify.simulator import messages

__all__ = ["parse_args"]


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The command line of torchrun, and one option more."""
    parser = torchrun.get_args_parser()
    parser.add_argument("--enable_tiered_parallel_tcpstore", action=env, type=str, default="false")
    parsed: argparse.Namespace = parser.parse_args(args)
    return parsed


@record
def _main(args: Sequence[str] | None = None) -> None:
    parsed = parse_args(args)
    # The real one forces "parallel", and meets at the master's address as "static" does.
    parsed.rdzv_backend = "static"
    if not parsed.rdzv_endpoint:
        # From torch 2.13 on torchrun picks a port itself where none is given; "static" needs one.
        parsed.rdzv_endpoint = f"{parsed.master_addr}:{parsed.master_port or 29500}"
    messages.say("npuify: torch_npu_run is simulated with torchrun's own meeting point", topic="torch-npu-run")
    torchrun.run(parsed)


if __name__ == "__main__":
    _main()
