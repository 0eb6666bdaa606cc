"""Files that are nearly right: what time, bad disks and strangers make of real ones."""

import random
import struct
import zlib

PNG_START = b"\x89PNG\r\n\x1a\n"
NUMBERS = (0, 1, 2, 7, 8, 16, 127, 128, 255, 256, 32767, 32768, 65535, 2**24, 2**31 - 1, 2**31)
WIDTHS = "bBhHiIqQ"


def mutate(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Change a file in one to four ways; some PNG files get right checksums again."""
    before = data
    while data == before:
        for _ in range(dice.randint(1, 4)):
            data = dice.choice(WAYS)(bytearray(data), others, dice)
        if data.startswith(PNG_START) and dice.random() < 0.7:
            data = with_right_checksums(data)
    return data


def flip(data: bytearray, _, dice: random.Random) -> bytes:
    if data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def number(data: bytearray, _, dice: random.Random) -> bytes:
    """Put a number where one may stand that means a size, a count or a place."""
    code, value = dice.choice(WIDTHS), dice.choice(NUMBERS) * dice.choice((1, 1, -1))
    form = struct.Struct(dice.choice("<>") + code)
    value &= (1 << 8 * form.size) - 1
    if code.islower() and value >= 1 << (8 * form.size - 1):
        value -= 1 << 8 * form.size
    if len(data) > form.size:
        # Headers are where numbers matter.
        most = dice.choice((64, 512, len(data)))
        form.pack_into(data, dice.randrange(min(most, len(data) - form.size)), value)
    return bytes(data)


def cut(data: bytearray, _, dice: random.Random) -> bytes:
    return bytes(data[: dice.randrange(len(data) + 1)])


def without(data: bytearray, _, dice: random.Random) -> bytes:
    start, end = span(data, dice)
    return bytes(data[:start] + data[end:])


def doubled(data: bytearray, _, dice: random.Random) -> bytes:
    start, end = span(data, dice)
    return bytes(data[:end] + data[start:end] * dice.randint(1, 8) + data[end:])


def blank(data: bytearray, _, dice: random.Random) -> bytes:
    start, end = span(data, dice)
    return bytes(data[:start] + bytes([dice.choice((0, 255))]) * (end - start) + data[end:])


def noise(data: bytearray, _, dice: random.Random) -> bytes:
    start, end = span(data, dice)
    return bytes(data[:start] + dice.randbytes(end - start) + data[end:])


def spliced(data: bytearray, others: list[bytes], dice: random.Random) -> bytes:
    """Go on as another file does: polyglots are made so."""
    other = dice.choice(others)
    return bytes(data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other)) :])


def span(data: bytearray, dice: random.Random) -> tuple[int, int]:
    start = dice.randrange(len(data) + 1)
    return start, min(len(data), start + dice.choice((1, 2, 4, 8, 64, 512)))


def with_right_checksums(data: bytes) -> bytes:
    """Mend the checksums of a PNG, so that what is wrong gets further than them."""
    parts, at = [PNG_START], len(PNG_START)
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(data[at : at + 4], "big")
        if end + 4 > len(data):
            break
        parts += [data[at:end], zlib.crc32(data[at + 4 : end]).to_bytes(4, "big")]
        at = end + 4
    return b"".join([*parts, data[at:]])


WAYS = (flip, flip, number, number, number, cut, without, doubled, blank, noise, spliced)
