"""MurmurHash3, the 32-bit variant for x86 with seed 0, in NumPy: for a Polars that does not offer its own.

Numbers are hashed as 64 bits, strings as their bytes in UTF-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593


def murmur3(keys: pl.Series) -> pl.Series:
    """Int32, null for a null, of integers that fit into 64 bits with a sign, or of strings."""
    hashes = _of_texts(keys) if keys.dtype == pl.String else _of_numbers(keys.cast(pl.Int64))
    return pl.Series(keys.name, hashes.view("int32")).set(keys.is_null(), None)


def _of_numbers(keys: pl.Series) -> NDArray[Any]:
    words = keys.fill_null(0).to_numpy().astype("<i8").view("<u4").astype(np.uint32).reshape(-1, 2)
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for word in words.T:
        hashes = _turned(hashes ^ _scrambled(word))
    return _mixed(hashes ^ np.uint32(8))


def _of_texts(keys: pl.Series) -> NDArray[Any]:
    texts = keys.fill_null("")
    content = np.frombuffer("".join(texts).encode() + bytes(3), dtype=np.uint8).astype(np.uint32)
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for place in range(0, int(lengths.max(initial=0)), 4):
        rows = np.flatnonzero(lengths > place)
        at, left = starts[rows] + place, lengths[rows] - place
        # The last bytes of a text make a word with zeros after them, which does not turn the hash.
        word = sum(np.where(left > i, content[at + i], 0).astype(np.uint32) << np.uint32(8 * i) for i in range(4))
        met = hashes[rows] ^ _scrambled(np.asarray(word))
        hashes[rows] = np.where(left >= 4, _turned(met), met)
    return _mixed(hashes ^ lengths.astype(np.uint32))


def _scrambled(word: NDArray[Any]) -> NDArray[Any]:
    return _rotated(word * np.uint32(_FIRST), 15) * np.uint32(_SECOND)


def _turned(hashes: NDArray[Any]) -> NDArray[Any]:
    return _rotated(hashes, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _mixed(hashes: NDArray[Any]) -> NDArray[Any]:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    mixed: NDArray[Any] = hashes ^ (hashes >> np.uint32(16))
    return mixed


def _rotated(x: NDArray[Any], bits: int) -> NDArray[Any]:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))
