"""Describes a tensor: its type, its shape, statistics of all its values, and some of them as they are.

Which values are kept depends on the number of elements only, so that two runs keep the same ones. Statistics are
computed on the CPU in float64, piece by piece: no device's arithmetic is in them, and memory stays bounded.
"""

from __future__ import annotations

import math
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch

from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.verify.capture.store import Store

PIECE = 1 << 22
"""Elements that are moved to the CPU at a time."""
ROWS = 128
"""Rows of a model's input that get a signature."""
_COLUMNS = 2048
_REMEMBERED = 4096


def places(count: int, wanted: int) -> torch.Tensor | None:
    """Which of ``count`` elements are kept, in ascending order; None: all.

    They are spread by the golden section, so that no period of the shape falls together with theirs.
    """
    if count <= wanted:
        return None
    step = max(1, int(count * 0.6180339887498949))
    while math.gcd(step, count) != 1:
        step += 1
    return (torch.arange(wanted, dtype=torch.int64) * step % count).sort().values


class Describer:
    """Describes tensors and writes their values."""

    def __init__(self, store: Store, samples: int) -> None:
        self._store = store
        self._samples = samples
        self._places: dict[int, torch.Tensor | None] = {}
        self._known: dict[int, tuple[Any, int, dict[str, Any]]] = {}

    def describe(self, tensor: torch.Tensor, *, rows: bool = False, known: bool = True) -> dict[str, Any]:
        """What a record says of a tensor.

        Args:
            rows: with a signature of each row, by which batches are recognised.
            known: take what was said of it before, where it has not been written to since.
        """
        begun = time.perf_counter()
        try:
            version = _version(tensor) if known and not rows else None
            if version is not None:
                kept = self._known.get(id(tensor))
                if kept is not None and kept[0]() is tensor and kept[1] == version:
                    known_already: dict[str, Any] = kept[2]
                    return known_already
            try:
                found = self._describe(tensor, rows)
            except (RuntimeError, TypeError, NotImplementedError) as error:
                # Tensors of vmap, of subclasses and of devices that refuse a copy: the program must not fail for them.
                found = self._named(tensor)
                self._store.note_once(
                    phrase(
                        "values of some tensors could not be read: {splitlines}",
                        splitlines=str(error).splitlines()[0][:200],
                    )
                )
            if version is not None:
                if len(self._known) > _REMEMBERED:
                    self._known.clear()
                self._known[id(tensor)] = (weakref.ref(tensor), version, found)
            return found
        finally:
            self._store.seconds += time.perf_counter() - begun

    @torch.no_grad()
    def _describe(self, tensor: torch.Tensor, rows: bool) -> dict[str, Any]:
        plain = _plain(tensor)
        if plain is None:
            return self._named(tensor)
        found = self._named(tensor)
        del found["values"]
        flat = plain.reshape(-1)
        count = flat.numel()
        if not count:
            return found
        whole = flat.cpu() if count <= PIECE else None
        pieces = [whole] if whole is not None else (flat[i : i + PIECE].cpu() for i in range(0, count, PIECE))
        found.update(_statistics(pieces, count))
        at = self._at(count)
        if at is None:
            sample = flat.cpu() if whole is None else whole
        elif whole is not None:
            sample = whole[at]
        else:
            sample = flat[at.to(flat.device)].cpu()
        start = self._store.values(_bytes(sample))
        if start >= 0:
            found["at"] = start
            found["kept"] = sample.numel()
        if rows and plain.dim() >= 1 and plain.shape[0] > 0:
            found["rows"] = _signatures(plain)
        return found

    def _named(self, tensor: torch.Tensor) -> dict[str, Any]:
        """What is said of a tensor whose values cannot be read."""
        found: dict[str, Any] = {
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": [] if getattr(tensor, "is_nested", False) else [int(size) for size in tensor.shape],
            "device": tensor.device.type,
            "values": "none",
        }
        if tensor.requires_grad:
            found["grad"] = True
        return found

    def _at(self, count: int) -> torch.Tensor | None:
        if count not in self._places:
            if len(self._places) > 64:
                self._places.clear()
            self._places[count] = places(count, self._samples)
        return self._places[count]


def _version(tensor: torch.Tensor) -> int | None:
    try:
        return int(tensor._version)
    except RuntimeError:  # tensors made in inference mode count no versions
        return None


def _plain(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor's own numbers as a dense tensor; None where it has none that can be read."""
    value = tensor.detach()
    local = getattr(value, "to_local", None)
    if callable(local):
        value = local()
    if value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
        return None
    if getattr(value, "is_nested", False) or hasattr(value, "fake_mode"):
        return None
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    return value


def _statistics(pieces: Any, count: int) -> dict[str, Any]:
    low, high, total, squares, nans, infinite, zeros = math.inf, -math.inf, 0.0, 0.0, 0, 0, 0
    for piece in pieces:
        values = piece.to(torch.float64)
        if not bool(torch.isfinite(values.sum())):
            nans += int(torch.isnan(values).sum())
            infinite += int(torch.isinf(values).sum())
            values = values[torch.isfinite(values)]
        if values.numel():
            low, high = min(low, float(values.min())), max(high, float(values.max()))
            total += float(values.sum())
            squares += float(torch.dot(values, values))
            zeros += values.numel() - int(torch.count_nonzero(values))
    finite = count - nans - infinite
    found: dict[str, Any] = {"count": count}
    if finite:
        # Of finite values a square can still be more than float64 holds.
        norm = math.sqrt(squares) if math.isfinite(squares) else float(max(abs(low), abs(high)))
        found.update(min=low, max=high, mean=total / finite if math.isfinite(total) else 0.0, norm=norm)
    for name, number in (("nan", nans), ("inf", infinite), ("zero", zeros)):
        if number:
            found[name] = number
    return found


def _signatures(tensor: torch.Tensor) -> list[float]:
    """One number for each row: where two agree, so do the rows, but for rounding."""
    rows = tensor[:ROWS]
    rows = rows.reshape(rows.shape[0], -1)
    width = rows.shape[1]
    if width > _COLUMNS:
        at = places(width, _COLUMNS)
        rows = rows[:, at.to(rows.device)] if at is not None else rows
        width = _COLUMNS
    weights = torch.cos(torch.arange(width, dtype=torch.float64) * 2.399963229728653 + 0.5)
    sums = rows.cpu().to(torch.float64) @ weights
    return [round(value, 9) if math.isfinite(value) else 0.0 for value in sums.tolist()]


def _bytes(sample: torch.Tensor) -> bytes:
    sample = sample.contiguous()
    if sample.dtype is torch.bool:
        sample = sample.to(torch.uint8)
    return bytes(sample.view(torch.uint8).numpy().tobytes()) if _NUMPY else bytes(sample.view(torch.uint8).tolist())


def _has_numpy() -> bool:
    try:
        torch.zeros(1).numpy()
    except RuntimeError:
        return False
    return True


_NUMPY = _has_numpy()
