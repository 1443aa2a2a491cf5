"""The page about a cluster: who is who, in which order to go on, firewall and containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.machine.launching import container_options, kernel_settings
from npuify.language import phrase, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.launch.cluster.plan import Plan


def page(plan: Plan, files: tuple[str, ...]) -> str:
    """``CLUSTER.md``, for the people who set the machines up.

    Args:
        files: names of the files that lie beside it.
    """
    return "\n".join((*_plan(plan), *_steps(plan, files), *_firewall(plan), *_container(plan))) + "\n"


def _plan(plan: Plan) -> Iterator[str]:
    product = plan.product
    yield "# " + phrase(
        "A cluster of {machines} machines, {ranks} ranks", machines=len(plan.machines), ranks=plan.world_size
    )
    yield ""
    known = phrase("Evidence: {value}; {source}.", value=product.evidence.value, source=product.source)
    yield f"{sentences(f'{phrase(product.title)}.', product.message)} ({known})"
    yield ""
    head = (
        *(phrase("rank"), phrase("machine"), phrase("host address")),
        *(phrase("card"), phrase("card's address"), phrase("netmask")),
    )
    yield f"| {' | '.join(head)} |"
    yield "|---|---|---|---|---|---|"
    for machine in plan.machines:
        for card in machine.cards:
            address = card.address or phrase("preset")
            cells = (card.rank, machine.name, machine.address, card.card, address, card.netmask or "-")
            yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    for note in plan.notes:
        yield f"- {note}"
    if plan.notes:
        yield ""


def _steps(plan: Plan, files: tuple[str, ...]) -> Iterator[str]:
    yield "## " + phrase("Steps")
    yield ""
    steps = ["On every machine, as root: `bash kernel_settings.sh`; also in the container, if it has its own network."]
    if any(name.startswith("addresses_") for name in files):
        steps.append(
            "On every machine, as root: `bash addresses_NAME.sh` with its own name. `/etc/hccn.conf` stores it."
        )
    else:
        steps.append("The cards' addresses are preset; there is nothing to set.")
    steps.append("Make sure that the machines reach each other (see below).")
    steps.append("On every machine, as root: `bash check_NAME.sh`. All lines must say ok.")
    first = plan.machines[0]
    several = f" --nodes {len(plan.machines)} --master {first.address}" if len(plan.machines) > 1 else ""
    steps.append(
        phrase(
            "Start the program on all machines within two minutes: `{command}` writes the script.",
            command=f"npuify launch ENTRY --cards {len(first.cards)}{several} -o launch",
        )
    )
    if "rank_table.json" in files:
        steps.append(
            "`rank_table.json` goes to the same path on every machine, as a file, not a link: `export "
            "RANK_TABLE_FILE=/path/rank_table.json`. PyTorch needs it only to start large clusters faster."
        )
    yield from (f"{number}. {phrase(step)}" for number, step in enumerate(steps, start=1))
    yield ""


def _firewall(plan: Plan) -> Iterator[str]:
    ports = next(row.value for row in kernel_settings() if row.name.endswith("ip_local_reserved_ports"))
    yield "## " + phrase("Firewall")
    yield ""
    yield (
        phrase(
            "Ranks communicate over MASTER_PORT (29500 by default), HCCL's ports {ports}, and "
            "ports that gloo chooses. So allow the cluster's machines to reach each other on all "
            "ports; the firewall does not have to be turned off.",
            ports=ports,
        )
    )
    yield ""
    yield "```sh"
    for machine in plan.machines:
        yield phrase("ufw allow from {address}    # Ubuntu, Debian; on each of the others", address=machine.address)
    for machine in plan.machines:
        yield phrase(
            "firewall-cmd --permanent --zone=trusted --add-source={address}    # openEuler, CentOS",
            address=machine.address,
        )
    yield "firewall-cmd --reload"
    yield "```"
    yield ""


def _container(plan: Plan) -> Iterator[str]:
    cards = plan.machines[0].cards
    ports = next(row.value for row in kernel_settings() if row.name.endswith("ip_local_reserved_ports"))
    yield "## " + phrase("Containers")
    yield ""
    yield phrase("What `docker run` needs, for the cards of {name}:", name=plan.machines[0].name)
    yield ""
    yield "```sh"
    yield "docker run --rm -it \\"
    for row in container_options():
        if row.own_network:
            continue
        for option in (
            [row.option.replace("{card}", str(card.card)) for card in cards] if "{card}" in row.option else [row.option]
        ):
            yield f"    {option} \\"
    yield "    IMAGE bash"
    yield "```"
    yield ""
    for row in container_options():
        if row.own_network:
            yield phrase(
                "Without `--network host`: `{option}`; {message}.",
                option=row.option.replace("{ports}", ports),
                message=row.message,
            )
    yield (
        "With the Ascend Docker Runtime, `-e ASCEND_VISIBLE_DEVICES=0-7` replaces the device options and the driver's "
        "mounts."
    )
