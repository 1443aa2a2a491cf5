"""Clusters: addresses by product, scripts run against a tool that plays the cards, rank tables, and plans that are refused."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuify.launch.cluster.build import build, cluster
from npuify.model import NpuifyError

from .conftest import needs_bash

if TYPE_CHECKING:
    from npuify.launch.cluster.plan import Plan

TWO = """product: {product}
{network}
hosts:
  - name: a
    address: 10.0.0.1
    {a}
  - name: b
    address: 10.0.0.2
    {b}
"""


def two(folder: Path, product: str, network: str, a: str = "", b: str = "") -> Path:
    """A file of two machines; what they have in common stands in row 2, a's own in row 6, b's in row 9."""
    path = folder / "hosts.yaml"
    path.write_text(TWO.format(product=product, network=network, a=a, b=b))
    return path


def addresses(plan: Plan) -> dict[str, list[str]]:
    return {machine.name: [card.address for card in machine.cards] for machine in plan.machines}


def test_an_a2_has_one_subnet(tmp_path: Path) -> None:
    plan, files = cluster(two(tmp_path, "910B3", "network: 10.20.0.0/24\ngateway: 10.20.0.1"))
    found = addresses(plan)
    assert found["a"][0] == "10.20.0.2"
    assert len({*found["a"], *found["b"], "10.20.0.1"}) == 17
    assert "run -i 7 -gateway -s gateway 10.20.0.1" in files["addresses_b.sh"]
    assert plan.world_size == 16
    assert [card.rank for card in plan.machines[1].cards] == list(range(8, 16))


def test_the_first_910_has_four_by_position(tmp_path: Path) -> None:
    plan, _ = cluster(two(tmp_path, "910A", "network: 192.168.100.0/22"))
    for machine in addresses(plan).values():
        nets = [one.rpartition(".")[0] for one in machine]
        assert nets == [f"192.168.{100 + card % 4}" for card in range(8)]
    four = "networks: [10.1.0.0/24, 10.2.0.0/24, 10.3.0.0/24, 10.4.0.0/24]"
    plan, _ = cluster(two(tmp_path, "910ProB", four, "cards: [6, 7]", "cards: [6, 7]"))
    assert addresses(plan) == {"a": ["10.3.0.1", "10.4.0.1"], "b": ["10.3.0.2", "10.4.0.2"]}


def test_an_a3_is_preset(tmp_path: Path) -> None:
    plan, files = cluster(two(tmp_path, "A3", ""))
    assert plan.world_size == 32
    assert set(files) == {"check_a.sh", "check_b.sh", "kernel_settings.sh", "CLUSTER.md"}
    assert "-ip -s" not in "".join(files.values())
    assert "-vnic -g" in files["check_a.sh"]


def test_addresses_that_are_given_are_kept(tmp_path: Path) -> None:
    given_ = "cards: [0, 1]\n    device_addresses: [10.20.0.7, 10.20.0.5]"
    plan, _ = cluster(two(tmp_path, "A2", "network: 10.20.0.0/28", given_, "cards: [0, 1]"))
    assert addresses(plan) == {"a": ["10.20.0.7", "10.20.0.5"], "b": ["10.20.0.1", "10.20.0.2"]}


def test_rank_tables(tmp_path: Path) -> None:
    table = "network: 10.20.0.0/24\nrank_table: true"
    _, files = cluster(two(tmp_path, "A2", table, "cards: [0, 1]", "cards: [0, 1]"))
    assert json.loads(files["rank_table.json"]) == {
        "status": "completed",
        "version": "1.0",
        "server_count": "2",
        "server_list": [
            {
                "server_id": "a",
                "device": [
                    {"device_id": "0", "device_ip": "10.20.0.1", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "10.20.0.2", "rank_id": "1"},
                ],
            },
            {
                "server_id": "b",
                "device": [
                    {"device_id": "0", "device_ip": "10.20.0.3", "rank_id": "2"},
                    {"device_id": "1", "device_ip": "10.20.0.4", "rank_id": "3"},
                ],
            },
        ],
    }
    a = "cards: [0]\n    super_devices: [37748736]"
    b = "cards: [0]\n    super_devices: [37748736]\n    super_pod: 1"
    _, files = cluster(two(tmp_path, "A3", "rank_table: true", a, b))
    made = json.loads(files["rank_table.json"])
    assert made["version"] == "1.2"
    assert made["super_pod_list"] == [
        {"super_pod_id": "0", "server_list": [{"server_id": "a"}]},
        {"super_pod_id": "1", "server_list": [{"server_id": "b"}]},
    ]
    assert made["server_list"][1]["host_ip"] == "10.0.0.2"
    assert made["server_list"][1]["device"] == [{"device_id": "0", "super_device_id": "37748736", "rank_id": "1"}]


NET = "network: 10.20.0.0/24"
FIRST = "network: 192.168.100.0/22"


@pytest.mark.parametrize(
    ("product", "network", "a", "b", "row", "said"),
    [
        ("A9", NET, "", "", 1, "no Ascend chip is called 'A9'"),
        ("310P3", NET, "", "", 1, "how to lay out"),
        ("A2", NET, "card: [0]", "", 4, "card"),
        ("A2", NET, "cards: 8", "", 6, "array"),
        ("A2", NET, "cards: []", "", 6, "lists no cards"),
        ("A2", NET, "cards: [0, 8]", "", 6, "no card 8"),
        ("A2", NET, "cards: [1, 1]", "", 6, "listed twice"),
        ("A2", NET, "cards: [1, 0]", "", 6, "ascending"),
        ("A2", NET, "cards: [0]", "cards: [0, 1]", 9, "every machine"),
        ("A2", NET, "", "name: a", 9, "is listed twice"),
        ("910A", FIRST, "cards: [0, 1, 2]", "", 6, "1, 2, 4, 8"),
        ("910A", FIRST, "cards: [3, 4]", "", 6, "both halves"),
        ("910A", FIRST, "cards: [0, 1, 6, 7]", "", 6, "both halves"),
        ("910A", "network: 10.0.8.0/30", "", "", 2, "too small"),
        ("910A", "network: 10.0.8.0/29", "", "", 2, "too small"),
        ("910A", "networks: [10.1.0.0/24, 10.2.0.0/24]", "", "", 2, "needs 4 subnets"),
        ("910A", "networks: [10.1.0.0/24, 10.2.0.0/24, 10.3.0.0/24, 10.1.0.0/16]", "", "", 2, "overlap"),
        ("A2", "networks: [10.1.0.0/24, 10.2.0.0/24]", "", "", 2, "needs 1 subnets"),
        ("A2", "network: 10.20.0.0/28", "", "", 2, "too small"),
        ("A2", "network: 10.20.0.7/24", "", "", 2, "write 10.20.0.0/24"),
        ("A2", "network: 10.20.0.0", "", "", 2, "has no prefix length"),
        ("A2", "network: 300.1.0.0/24", "", "", 2, "is not a network"),
        ("A2", "network: 127.0.0.0/24", "", "", 2, "cannot be a network"),
        ("A2", "tls: 2", "", "", 2, "2"),
        ("A2", "", "", "", 1, "network is not given"),
        ("A2", NET, "device_addresses: [10.20.0.9]", "", 6, "1 device addresses for 8 cards"),
        ("A2", NET, "cards: [0]\n    device_addresses: [10.21.0.9]", "cards: [0]", 7, "is not in 10.20.0.0/24"),
        ("A2", NET, "cards: [0]\n    device_addresses: [10.20.0.0]", "cards: [0]", 7, "network address"),
        ("A2", NET, "cards: [0]\n    device_addresses: [10.20.0.255]", "cards: [0]", 7, "broadcast address"),
        ("A2", NET, "cards: [0]\n    device_addresses: [here]", "cards: [0]", 7, "is not an IPv4 address"),
        ("A2", NET, "cards: [0]\n    device_addresses: [224.0.0.1]", "cards: [0]", 7, "cannot be the address"),
        (
            "A2",
            NET,
            "cards: [0, 1]\n    device_addresses: [10.20.0.9, 10.20.0.9]",
            "cards: [0, 1]",
            7,
            "as card 0 of a has",
        ),
        (
            "A2",
            NET,
            "cards: [0]\n    device_addresses: [10.20.0.9]",
            "cards: [0]\n    device_addresses: [10.20.0.9]",
            11,
            "as card 0 of a has",
        ),
        ("A2", "network: 10.0.0.0/24", "cards: [0]\n    device_addresses: [10.0.0.2]", "cards: [0]", 7, "b itself"),
        ("A2", NET + "\ngateway: 10.21.0.1", "", "", 3, "is in none"),
        ("A3", NET, "", "", 2, "preset"),
        ("A3", "rank_table: true", "", "", 4, "super_devices of a"),
        ("A3", "", "cards: [0]\n    super_devices: [1, 2]", "cards: [0]", 7, "2 super devices for 1 cards"),
        ("A3", "", "cards: [0, 1]\n    super_devices: [1, 1]", "cards: [0, 1]", 7, "listed twice"),
        (
            "A3",
            "",
            "cards: [0]\n    super_devices: [1]",
            "cards: [0]\n    super_devices: [1]",
            11,
            "in the same super pod",
        ),
        ("A2", NET, "cards: [0]\n    super_devices: [1]", "cards: [0]", 7, "no super devices"),
    ],
)
def test_plans_that_cannot_work_are_refused(
    tmp_path: Path, product: str, network: str, a: str, b: str, row: int, said: str
) -> None:
    path = two(tmp_path, product, network, a, b)
    with pytest.raises(NpuifyError) as refused:
        build(path, tmp_path / "out")
    assert said in str(refused.value)
    if row:
        assert (refused.value.file, refused.value.line) == (str(path), row)
    assert not (tmp_path / "out").exists()


MASK = "netmask: 255.255.255.0"


@pytest.mark.parametrize(
    ("product", "network", "a", "b", "said"),
    [
        ("A2", MASK, ["10.1.0.1", "10.1.0.2"], ["10.2.0.1", "10.2.0.2"], "need a gateway"),
        ("A2", MASK + "\ngateway: 10.1.0.9", ["10.1.0.1", "10.1.0.2"], ["10.2.0.1", "10.2.0.2"], ""),
        ("A2", MASK + "\ngateway: 10.1.0.9", ["10.1.0.1", "10.3.0.2"], ["10.2.0.1", "10.2.0.2"], "share its subnet"),
        ("A2", "netmask: 255.0.255.0", ["10.1.0.1", "10.1.0.2"], ["10.1.0.3", "10.1.0.4"], "is not a netmask"),
        ("A2", "", ["10.1.0.1", "10.1.0.2"], ["10.1.0.3", "10.1.0.4"], "netmask of the device addresses"),
        ("910A", MASK, ["10.1.0.1", "10.2.0.1"], ["10.1.0.2", "10.2.0.2"], ""),
        ("910A", MASK, ["10.1.0.1", "10.1.0.2"], ["10.1.0.3", "10.1.0.4"], "share the subnet"),
        ("910A", MASK, ["10.1.0.1", "10.2.0.1"], ["10.2.0.2", "10.1.0.2"], "share its subnet"),
    ],
)
def test_given_addresses_are_held_against_the_products_layout(
    tmp_path: Path, product: str, network: str, a: list[str], b: list[str], said: str
) -> None:
    own = ["cards: [0, 1]\n    device_addresses: [" + ", ".join(one) + "]" for one in (a, b)]
    path = two(tmp_path, product, network, *own)
    if said:
        with pytest.raises(NpuifyError) as refused:
            cluster(path)
        assert said in str(refused.value)
    else:
        plan, _ = cluster(path)
        assert addresses(plan) == {"a": a, "b": b}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no machines"),
        ("- a\n", "contains no machines"),
        ("product: [\n", "is not YAML"),
        ("product: A2\nhosts: []\n", "no machine is listed"),
        ("product: A2\nhosts:\n  - name: a\n", "address"),
        (
            "product: A2\nnetwork: 10.1.0.0/24\nhosts:\n  - {name: a, address: 10.0.0.1}\n  - {name: a, address: 10.0.0.2}\n",
            "two",
        ),
        (
            "product: A2\nnetwork: 10.1.0.0/24\nhosts:\n  - {name: a, address: 10.0.0.1}\n  - {name: b, address: 10.0.0.1}\n",
            "of a",
        ),
        (
            "product: A2\nnetwork: 10.1.0.0/24\nhosts:\n  - {name: a, address: 127.0.0.1}\n  - {name: b, address: 10.0.0.1}\n",
            "itself",
        ),
        ("product: A2\nnetwork: 10.1.0.0/24\nhosts:\n  - {name: a/../b, address: 10.0.0.1}\n", "is not a machine name"),
        ("product: A2\nhosts: &x [*x]\n", ""),
        ("product: !!python/object:os.system x\nhosts: []\n", "is not YAML"),
    ],
)
def test_files_that_are_none_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    with pytest.raises(NpuifyError) as refused:
        cluster(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


@given(
    product=st.sampled_from(["A2", "910A"]),
    machines=st.integers(1, 20),
    cards=st.sampled_from([1, 2, 4, 8]),
    prefix=st.integers(16, 26),
)
def test_whatever_is_planned_keeps_the_rules(
    tmp_path_factory: pytest.TempPathFactory, product: str, machines: int, cards: int, prefix: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "planned.yaml"
    hosts = "".join(
        f"  - {{name: n{index}, address: 10.0.0.{index + 1}, cards: {list(range(cards))}}}\n"
        for index in range(machines)
    )
    path.write_text(f"product: {product}\nnetwork: 172.16.0.0/{prefix}\nhosts:\n{hosts}")
    try:
        plan, _ = cluster(path)
    except NpuifyError as error:
        assert "too small" in str(error)
        each = 2 ** (32 - prefix) if product == "A2" else 2 ** (30 - prefix)
        assert machines * (cards if product == "A2" else -(-cards // 4)) > each - 2
        return
    found = [
        (card, ipaddress.ip_interface(f"{card.address}/{card.netmask}")) for m in plan.machines for card in m.cards
    ]
    assert len({one.ip for _, one in found}) == len(found) == machines * cards
    assert [card.rank for card, _ in found] == list(range(machines * cards))
    nets: dict[int, Any] = {}
    for card, one in found:
        assert one.ip not in (one.network.network_address, one.network.broadcast_address)
        assert nets.setdefault(card.card % (1 if product == "A2" else 4), one.network) == one.network
    assert len(set(nets.values())) == len(nets)


TOOL = """#!/usr/bin/env bash
# Plays hccn_tool: keeps addresses in a file, and is asked as the real one is.
state=${0%/*}/state
case "$*" in
    *"-ip -s address"*) echo "$2 $6 $8" >>"$state"; echo "$*" >>"${0%/*}/asked" ;;
    *"-ip -g"*) grep "^$2 " "$state" | tail -n 1 | while read -r _ address mask; do echo "ipaddr:$address"; echo "netmask:$mask"; done ;;
    *"-link -g"*) echo "link status: UP" ;;
    *"-lldp -g"*) echo "Ifname: 400GE1/4/5" ;;
    *"-tls -g"*) echo "dev_id:$2, tls switch[${TLS:-0}](0:disable, 1:enable)" ;;
    *"-ping -g"*) if [[ ${LOST:-} == "$6" ]]; then echo "recv time out seq=0"; else echo "3 packets transmitted, 3 received, 0.00% packet loss"; fi ;;
    *"-net_health -g"*) echo "net health status: Success" ;;
    *) echo "$*" >>"${0%/*}/asked" ;;
esac
"""


@needs_bash
def test_the_scripts_set_what_is_planned_and_see_what_is_not(tmp_path: Path) -> None:
    build(two(tmp_path, "A2", NET, "cards: [0, 1]", "cards: [0, 1]"), tmp_path / "out")
    tool = tmp_path / "bin" / "hccn_tool"
    tool.parent.mkdir()
    tool.write_text(TOOL)
    tool.chmod(0o755)
    (tool.parent / "state").write_text("0 10.20.0.1 255.255.255.0\n1 10.20.0.77 255.255.255.0\n")

    def run(script: str, **more: str) -> tuple[int, str]:
        environment = {**os.environ, "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}", **more}
        done = subprocess.run(
            ["bash", str(tmp_path / "out" / script)], env=environment, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    code, said = run("check_a.sh")
    assert code == 1
    assert "FAIL  address, card 1" in said
    assert said.count("FAIL") == 1
    code, said = run("addresses_a.sh")
    assert code == 0, said
    assert "card 0 has 10.20.0.1 already" in said
    assert (tool.parent / "asked").read_text().splitlines() == [
        "-i 1 -ip -s address 10.20.0.2 netmask 255.255.255.0",
        "-i 0 -netdetect -s address 10.20.0.3",
        "-i 1 -netdetect -s address 10.20.0.4",
    ]
    assert run("check_a.sh")[0] == 0
    assert "FAIL  reach, card 1 to b" in run("check_a.sh", LOST="10.20.0.4")[1]
    assert run("check_a.sh", TLS="1")[1].count("FAIL  tls") == 2


@needs_bash
def test_kernel_settings_keep_what_is_larger_and_other_ports(tmp_path: Path) -> None:
    build(two(tmp_path, "A2", NET), tmp_path / "out")
    values = tmp_path / "values"
    values.mkdir()
    for name, value in {
        "net.core.somaxconn": "100000",
        "net.ipv4.tcp_max_syn_backlog": "128",
        "net.ipv4.ip_local_reserved_ports": "8080",
    }.items():
        (values / name).write_text(value)
    tool = tmp_path / "sysctl"
    tool.write_text(
        '#!/usr/bin/env bash\nif [[ $1 == -n ]]; then cat "${0%/*}/values/$2"; else '
        'printf %s "${2#*=}" >"${0%/*}/values/${2%%=*}"; fi\n'
    )
    tool.chmod(0o755)
    file = tmp_path / "conf" / "90.conf"
    file.parent.mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SYSCTL_FILE": str(file)}
    for _ in range(2):
        subprocess.run(["bash", str(tmp_path / "out" / "kernel_settings.sh")], env=environment, check=True)
    assert sorted(file.read_text().splitlines()) == [
        "net.core.somaxconn = 100000",
        "net.ipv4.ip_local_reserved_ports = 8080,60000-60031",
        "net.ipv4.tcp_max_syn_backlog = 65535",
    ]
    assert (values / "net.ipv4.ip_local_reserved_ports").read_text() == "8080,60000-60031"
