# mypy: ignore-errors
"""Products of vectors with weights that GPTQ packed into 2, 3, 4 or 8 bits, added to what is there.

A weight is unpacked and multiplied as any other, where the kernels unpack what they need: the unpacked weight is in
memory for the time of a call, and a batch costs as much as one vector. The kernels add up in the type of their vectors,
this in float32. There is no backward pass, as in the kernels. Sizes of groups are multiples of 32.
"""

import torch


def _unpacked(words, bits):
    """(rows, columns) of whole numbers from (rows * bits / 32, columns) of int32, the first in the lowest bits."""
    if bits != 3:
        shifts = torch.arange(0, 32, bits, dtype=torch.int32, device=words.device)
        parts = torch.bitwise_right_shift(words[:, None], shifts[None, :, None]) & (2**bits - 1)
        return parts.reshape(-1, words.shape[1])
    # 32 numbers lie in three words; the eleventh and the twenty-second cross their borders.
    one, two, three = words.reshape(-1, 3, words.shape[1]).unbind(1)

    def some(word, start, count):
        shifts = torch.arange(start, start + 3 * count, 3, dtype=torch.int32, device=words.device)
        return torch.bitwise_right_shift(word[:, None], shifts[None, :, None]) & 7

    first = (torch.bitwise_right_shift(one, 30) & 3) | ((two & 1) << 2)
    second = (torch.bitwise_right_shift(two, 31) & 1) | ((three & 3) << 1)
    parts = [some(one, 0, 10), first[:, None], some(two, 1, 10), second[:, None], some(three, 2, 10)]
    return torch.cat(parts, 1).reshape(-1, words.shape[1])


def _add(vec, mul, weight):
    """The product, added to ``mul``."""
    rows = vec.reshape(-1, vec.shape[-1])
    # What is left over of the last word stands for nothing.
    made = rows.float() @ weight[: rows.shape[1]].float()
    mul += made.reshape(mul.shape).to(mul.dtype)


def _of_rows(bits):
    """Scales and zeros for each column: the zeros are already multiplied."""

    def call(vec, mat, mul, scales, zeros):
        weight = scales.reshape(1, -1).float() * _unpacked(mat, bits).float() - zeros.reshape(1, -1).float()
        _add(vec, mul, weight)

    return call


def _zeros(packed, bits, width, mask):
    """(groups, columns): what is taken off, one more than what is packed."""
    made = _unpacked(packed.t().contiguous(), bits).t()[:, :width] + 1
    return made & mask if mask else made


def _of_groups(bits, mask):
    """Groups of as many rows as are given share a scale and a packed zero."""

    def call(vec, mat, mul, scales, zeros, groupsize):
        if groupsize % 32:
            raise NotImplementedError(f"groups of {groupsize} rows are not replaced")
        whole = _unpacked(mat, bits)
        of = torch.arange(whole.shape[0], device=mat.device) // groupsize
        _add_groups(vec, mul, whole, scales, _zeros(zeros, bits, mat.shape[1], mask), of)

    return call


def _of_order(bits, mask):
    """``g_idx`` says for each row of which group it is."""

    def call(vec, mat, mul, scales, zeros, g_idx):
        whole = _unpacked(mat, bits)
        _add_groups(vec, mul, whole, scales, _zeros(zeros, bits, mat.shape[1], mask), g_idx.long()[: whole.shape[0]])

    return call


def _add_groups(vec, mul, whole, scales, zeros, of):
    rows = min(len(of), whole.shape[0])
    # Rows beyond the last group are padding, which no vector meets.
    of = of[:rows].clamp(max=scales.shape[0] - 1)
    scale = scales.float()
    _add(vec, mul, scale[of] * (whole[:rows] - zeros[of]).float())


def _with_height(call):
    """The forms that are given the height of the vectors, too."""

    def with_height(vec, mat, mul, scales, zeros, groupsize, vec_height):
        call(vec, mat, mul, scales, zeros, groupsize)

    return with_height


def vecquant2matmul(vec, mat, mul, scales, zeros):
    """A scale and a multiplied zero for each column, as the first versions have it."""
    _of_rows(2)(vec, mat, mul, scales, zeros)


def vecquant3matmul(vec, mat, mul, scales, zeros):
    """A scale and a multiplied zero for each column, as the first versions have it."""
    _of_rows(3)(vec, mat, mul, scales, zeros)


def vecquant4matmul(vec, mat, mul, scales, zeros):
    """A scale and a multiplied zero for each column, as the first versions have it."""
    _of_rows(4)(vec, mat, mul, scales, zeros)


def vecquant8matmul(vec, mat, mul, scales, zeros):
    """A scale and a multiplied zero for each column, as the first versions have it."""
    _of_rows(8)(vec, mat, mul, scales, zeros)


def groups2(vec, mat, mul, scales, zeros, groupsize):
    """Groups of rows that follow each other."""
    _of_groups(2, 0)(vec, mat, mul, scales, zeros, groupsize)


def groups3(vec, mat, mul, scales, zeros, groupsize):
    """Groups of rows that follow each other."""
    _of_groups(3, 0)(vec, mat, mul, scales, zeros, groupsize)


def groups4(vec, mat, mul, scales, zeros, groupsize):
    """Groups of rows that follow each other."""
    _of_groups(4, 0)(vec, mat, mul, scales, zeros, groupsize)


def groups8(vec, mat, mul, scales, zeros, groupsize):
    """Groups of rows that follow each other."""
    _of_groups(8, 0)(vec, mat, mul, scales, zeros, groupsize)


def order2(vec, mat, mul, scales, zeros, g_idx):
    """Groups of any rows."""
    _of_order(2, 0)(vec, mat, mul, scales, zeros, g_idx)


def order3(vec, mat, mul, scales, zeros, g_idx):
    """Groups of any rows."""
    _of_order(3, 0)(vec, mat, mul, scales, zeros, g_idx)


def order4(vec, mat, mul, scales, zeros, g_idx):
    """Groups of any rows."""
    _of_order(4, 0)(vec, mat, mul, scales, zeros, g_idx)


def order8(vec, mat, mul, scales, zeros, g_idx):
    """Groups of any rows."""
    _of_order(8, 0)(vec, mat, mul, scales, zeros, g_idx)


def masked_groups2(vec, mat, mul, scales, zeros, groupsize):
    """AutoGPTQ's: of a zero that is one more than what is packed only four bits count."""
    _of_groups(2, 15)(vec, mat, mul, scales, zeros, groupsize)


def masked_groups3(vec, mat, mul, scales, zeros, groupsize):
    """AutoGPTQ's: of a zero that is one more than what is packed only four bits count."""
    _of_groups(3, 15)(vec, mat, mul, scales, zeros, groupsize)


def masked_groups4(vec, mat, mul, scales, zeros, groupsize):
    """AutoGPTQ's: of a zero that is one more than what is packed only four bits count."""
    _of_groups(4, 15)(vec, mat, mul, scales, zeros, groupsize)


def masked_groups8(vec, mat, mul, scales, zeros, groupsize):
    """AutoGPTQ's: of a zero that is one more than what is packed only four bits count, of eight, too."""
    _of_groups(8, 15)(vec, mat, mul, scales, zeros, groupsize)


def masked_order2(vec, mat, mul, scales, zeros, g_idx):
    """AutoGPTQ's, with groups of any rows."""
    _of_order(2, 15)(vec, mat, mul, scales, zeros, g_idx)


def masked_order3(vec, mat, mul, scales, zeros, g_idx):
    """AutoGPTQ's, with groups of any rows."""
    _of_order(3, 15)(vec, mat, mul, scales, zeros, g_idx)


def masked_order4(vec, mat, mul, scales, zeros, g_idx):
    """AutoGPTQ's, with groups of any rows."""
    _of_order(4, 15)(vec, mat, mul, scales, zeros, g_idx)


def masked_order8(vec, mat, mul, scales, zeros, g_idx):
    """AutoGPTQ's, with groups of any rows."""
    _of_order(8, 15)(vec, mat, mul, scales, zeros, g_idx)


def masked_height2(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """AutoGPTQ's faster form."""
    _with_height(_of_groups(2, 15))(vec, mat, mul, scales, zeros, groupsize, vec_height)


def masked_height3(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """AutoGPTQ's faster form."""
    _with_height(_of_groups(3, 15))(vec, mat, mul, scales, zeros, groupsize, vec_height)


def masked_height4(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """AutoGPTQ's faster form."""
    _with_height(_of_groups(4, 15))(vec, mat, mul, scales, zeros, groupsize, vec_height)


def height2(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """The faster form of groups."""
    _with_height(_of_groups(2, 0))(vec, mat, mul, scales, zeros, groupsize, vec_height)


def height3(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """The faster form of groups."""
    _with_height(_of_groups(3, 0))(vec, mat, mul, scales, zeros, groupsize, vec_height)


def height4(vec, mat, mul, scales, zeros, groupsize, vec_height):
    """The faster form of groups."""
    _with_height(_of_groups(4, 0))(vec, mat, mul, scales, zeros, groupsize, vec_height)
