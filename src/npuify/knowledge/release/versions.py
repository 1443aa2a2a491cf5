"""Which releases there are, and which one a project is moved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from npuify.knowledge.hand_written import DATA, version_rows
from npuify.language import commas, phrase
from npuify.model import Evidence, NpuifyError, Release

if TYPE_CHECKING:
    from npuify.knowledge.schema import ReleaseInfo

RELEASES: Final = DATA / "releases"
"""The shipped tables."""

_releases: tuple[ReleaseInfo, ...] | None = None


def releases() -> tuple[ReleaseInfo, ...]:
    """Every torch_npu release that is known, newest first. ``has_table``: its names can be asked for."""
    global _releases
    if _releases is None:
        shipped = set(shipped_tables())
        rows = [msgspec.structs.replace(row, has_table=row.torch_npu in shipped) for row in version_rows()]
        _releases = tuple(sorted(rows, key=lambda row: Version(row.torch_npu), reverse=True))
    return _releases


def shipped_tables() -> tuple[str, ...]:
    """The versions whose table is shipped, newest first."""
    return tuple(sorted((path.stem for path in RELEASES.glob("*.json")), key=Version, reverse=True))


def unknown_release(requested: str) -> NpuifyError:
    """The error for a release without a table."""
    return NpuifyError(
        phrase("there is no table for torch_npu {value}", value=requested or "(empty)"),
        advice=phrase(
            "Shipped: {versions}. A minor version such as 2.7 picks the table of that minor.",
            versions=commas(shipped_tables()),
        ),
    )


def choose_release(requested: str | None, torch_pin: str | None) -> Release:
    """The release to aim at.

    Args:
        requested: what the user asked for: ``2.7``, ``2.7.1`` or ``2.7.1.post11``; it wins over everything.
        torch_pin: the project's requirement of torch, for example ``==2.1.0`` or ``>=2.0,<2.4``. It decides only
            if it bounds the version from above; otherwise the newest stable release is taken. A project whose torch is
            older than that of every release has to change it in any case: it is moved to the lowest release that the
            vendor still supports, which is the smallest step that will be mended.

    Raises:
        NpuifyError: no table is shipped for what was requested.
    """
    if requested is not None:
        table = _requested(requested.strip())
        exact = table == requested.strip()
        reason = (
            phrase("asked for")
            if exact
            else phrase(
                "{requested} was asked for; this is the table of that minor version", requested=requested.strip()
            )
        )
        return _release(table, reason)
    newest = shipped_tables()[0]
    if torch_pin:
        try:
            specifiers = SpecifierSet(torch_pin)
        except InvalidSpecifier:
            return _release(
                newest,
                phrase(
                    "the newest stable release; the requirement torch{torch_pin} could not be read", torch_pin=torch_pin
                ),
            )
        if any(s.operator in ("==", "===", "~=", "<", "<=") for s in specifiers):
            return _release_within(specifiers, torch_pin)
        torch = release_info(newest).torch
        if specifiers and specifiers.contains(torch):
            return _release(
                newest,
                phrase(
                    "the newest stable release; the project's torch{torch_pin} has no upper bound, and becomes "
                    "torch=={torch} where it is edited",
                    torch_pin=torch_pin,
                    torch=torch,
                ),
            )
    return _release(newest, "the newest stable release; the project does not pin torch")


def _release_within(specifiers: SpecifierSet, torch_pin: str) -> Release:
    """The release for a requirement that bounds torch from above; ``torch_pin`` is how the project wrote it."""
    tables = shipped_tables()
    for table in tables:
        if _satisfies(release_info(table).torch, specifiers):
            return _release(
                table,
                phrase("the newest release whose torch satisfies the project's torch{torch_pin}", torch_pin=torch_pin),
            )
    for table in tables:
        if _admits_minor(release_info(table).torch, specifiers):
            return _release(
                table,
                phrase(
                    "the release of the minor version that the project's torch{torch_pin} means", torch_pin=torch_pin
                ),
            )
    if _is_older(specifiers):
        lowest = next((table for table in reversed(tables) if not release_info(table).ended), tables[0])
        return _release(
            lowest,
            phrase(
                "the lowest release that the vendor still supports; the project asks for "
                "torch{torch_pin}, for which there is none",
                torch_pin=torch_pin,
            ),
        )
    return _release(
        tables[0],
        phrase(
            "the newest stable release; none is for torch{torch_pin}, which the project asks for", torch_pin=torch_pin
        ),
    )


def cann_in_words(torch_npu: str, cann: str) -> str:
    """The CANN of a release, marked where the table of releases only assumes that it is the one; empty for none.

    Args:
        torch_npu: the release.
        cann: what it is said to go with.
    """
    if not cann:
        return ""
    known = next((row for row in version_rows() if row.torch_npu == torch_npu and row.cann == cann), None)
    if known is None or known.evidence is not Evidence.ASSUMED:
        return cann
    return phrase("{cann} assumed", cann=cann)


def _is_older(specifiers: SpecifierSet) -> bool:
    """Whether a requirement of torch ends below the torch of the first release."""
    first = min(Version(release_info(table).torch) for table in shipped_tables())
    for one in specifiers:
        try:
            bound = Version(one.version.removesuffix(".*"))
        except InvalidVersion:
            continue
        if (one.operator in ("==", "===", "~=", "<=") and bound < first) or (one.operator == "<" and bound <= first):
            return True
    return False


def _satisfies(torch: str, specifiers: SpecifierSet) -> bool:
    if specifiers.contains(torch):
        return True
    # A pin of another patch release (==2.7.0) or of a build (==2.7.0+cu118) means its minor version.
    pins = [s for s in specifiers if s.operator in ("==", "===")]
    if len(pins) != 1 or len(specifiers) != 1:
        return False
    try:
        return Version(pins[0].version.removesuffix(".*")).release[:2] == Version(torch).release[:2]
    except InvalidVersion:
        return False


def _admits_minor(torch: str, specifiers: SpecifierSet) -> bool:
    """Whether a requirement such as ``>=2.7.0,<2.7.1`` admits another patch release of the same minor version."""
    major, minor = Version(torch).release[:2]
    return any(specifiers.contains(f"{major}.{minor}.{patch}") for patch in range(10))


def _requested(text: str) -> str:
    shipped = shipped_tables()
    if text in shipped:
        return text
    try:
        wanted = Version(text)
    except InvalidVersion:
        raise unknown_release(text) from None
    known = {Version(row.torch_npu) for row in version_rows()}
    for table in shipped:
        version = Version(table)
        if version.release[:2] != wanted.release[:2]:
            continue
        base = len(wanted.release) <= 3 and wanted.public == wanted.base_version
        if wanted in known or (base and (len(wanted.release) < 3 or version.release == wanted.release)):
            return table
    raise unknown_release(text)


def release_info(table: str) -> ReleaseInfo:
    """The row of ``versions.toml`` for a shipped table.

    Raises:
        NpuifyError: the row is missing, which is a mistake in the data.
    """
    for row in releases():
        if row.torch_npu == table:
            return row
    raise NpuifyError(phrase("versions.toml has no row for the shipped table {table}", table=table))


def _release(table: str, reason: str) -> Release:
    info = release_info(table)
    if info.ended:
        reason += phrase("; the vendor's support for it ended on {ended}", ended=info.ended)
    return Release(torch_npu=table, torch=info.torch, cann=info.cann, reason=reason)


def within(version: str, since: str, until: str) -> bool:
    """Whether ``since <= version <= until``; empty means no bound, and ``until = "2.5"`` includes every 2.5.*.post*."""
    if not since and not until:
        return True
    if since and Version(version) < Version(since):
        return False
    if not until:
        return True
    bound, actual = Version(until), Version(version)
    depth = len(bound.release)
    if bound.post is None and actual.release[:depth] == bound.release:
        return True
    return actual <= bound
