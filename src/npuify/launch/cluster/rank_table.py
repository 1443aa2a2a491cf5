"""Rank tables: which rank is which card of which machine. PyTorch needs none; very large clusters do.

Layouts: Ascend HCCL documentation, "rank table" of Atlas training products, A2 (both 1.0) and A3 (1.2).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .plan import Card, Machine, Plan


def rank_table(plan: Plan) -> str:
    """The table as JSON: version 1.0, or 1.2 where the product has super pods. All values are strings, for HCCL."""
    table: dict[str, Any] = {
        "status": "completed",
        "version": plan.product.table,
        "server_count": str(len(plan.machines)),
        "server_list": [_server(plan, machine) for machine in plan.machines],
    }
    if plan.product.table == "1.2":
        pods: dict[str, list[dict[str, str]]] = {}
        for machine in plan.machines:
            pods.setdefault(machine.super_pod, []).append({"server_id": machine.name})
        table["super_pod_list"] = [{"super_pod_id": pod, "server_list": servers} for pod, servers in pods.items()]
    return json.dumps(table, indent=2) + "\n"


def _server(plan: Plan, machine: Machine) -> dict[str, Any]:
    server: dict[str, Any] = {"server_id": machine.name}
    if plan.product.table == "1.2":
        server["host_ip"] = machine.address
    server["device"] = [_device(card) for card in machine.cards]
    return server


def _device(card: Card) -> dict[str, str]:
    device = {"device_id": str(card.card)}
    if card.super_device:
        device["super_device_id"] = card.super_device
    if card.address:
        device["device_ip"] = card.address
    device["rank_id"] = str(card.rank)
    return device
