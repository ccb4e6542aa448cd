"""Damage to the bytes of a file, as bad disks, broken transfers and ill will do it."""

import numpy as np

__all__ = ["damaged"]

# Numbers that readers trip over, by their width in bytes.
NUMBERS = {
    1: (0, 1, 0x7F, 0x80, 0xFF),
    2: (0, 1, 0x7FFF, 0x8000, 0xFFFF),
    4: (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000000),
    8: (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 32, 1 << 40),
}
# Pieces that mean something in text.
PIECES = (b'"', b"\n", b"\r", b",", b"\t", b"\x00", b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", b"NaN", b"1e999", b"'", b"-")
# Beginnings and ends of files describe the rest.
DESCRIPTION_BYTES = 600


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """The bytes with damage of one kind, now and then of more; possibly, by chance, as they were."""
    for _ in range(min(int(rng.geometric(0.7)), 4)):
        data = DAMAGES[rng.integers(len(DAMAGES))](data, rng) if data else data
    return data


def _place(data: bytes, rng: np.random.Generator) -> int:
    """A random place, in half of the cases near the beginning or the end."""
    n_bytes = len(data)
    where = rng.integers(4)
    near = int(rng.integers(min(n_bytes, DESCRIPTION_BYTES)))
    return (near, n_bytes - 1 - near, *[int(rng.integers(n_bytes))] * 2)[where]


def _piece(data: bytes, rng: np.random.Generator) -> slice:
    start = _place(data, rng)
    return slice(start, start + 1 + int(rng.integers(1 << int(rng.integers(1, 10)))))


def _with(data: bytes, where: slice, piece: bytes) -> bytes:
    return data[: where.start] + piece + data[where.stop :]


def _flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(min(int(rng.geometric(0.5)), 8)):
        changed[_place(data, rng)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _set_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    where = slice(start, start + min(int(rng.geometric(0.3)), 40))
    piece = data[where]
    return _with(data, where, (bytes(len(piece)), b"\xff" * len(piece), rng.bytes(len(piece)))[rng.integers(3)])


def _edit_number(data: bytes, rng: np.random.Generator) -> bytes:
    """A whole number at a multiple of its width becomes an extreme one, or one that is a little off."""
    width = int(rng.choice(list(NUMBERS)))
    start = _place(data, rng) // width * width
    where = slice(start, start + width)
    old = int.from_bytes(data[where], "little")
    numbers = (*NUMBERS[width], old + 1, old - 1, old + 8, old - 8, 2 * old, ~old)
    new = int(numbers[rng.integers(len(numbers))]) % (1 << 8 * width)
    return _with(data, where, new.to_bytes(width, "little"))


def _cut_end(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: _place(data, rng)]


def _cut_out(data: bytes, rng: np.random.Generator) -> bytes:
    return _with(data, _piece(data, rng), b"")


def _insert(data: bytes, rng: np.random.Generator) -> bytes:
    start = _place(data, rng)
    piece = PIECES[rng.integers(len(PIECES))] if rng.random() < 0.7 else rng.bytes(int(rng.integers(1, 40)))
    return _with(data, slice(start, start), piece)


def _repeat(data: bytes, rng: np.random.Generator) -> bytes:
    where = _piece(data, rng)
    return _with(data, where, data[where] * int(rng.integers(2, 5)))


def _swap(data: bytes, rng: np.random.Generator) -> bytes:
    first, second = sorted((_piece(data, rng), _piece(data, rng)), key=lambda piece: piece.start)
    if first.stop > second.start:
        return data
    between = data[first.stop : second.start]
    return _with(data, slice(first.start, second.stop), data[second] + between + data[first])


DAMAGES = (_flip_bits, _set_bytes, _edit_number, _edit_number, _cut_end, _cut_out, _insert, _repeat, _swap)
