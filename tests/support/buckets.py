"""Buckets of keys in plain Python: MurmurHash3 after its description, and what of a key is hashed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

_MASK = 2**32 - 1


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> (32 - bits)) & _MASK


def murmur3(data: bytes) -> int:
    """The 32-bit variant for x86, seed 0."""
    hashed = 0
    for start in range(0, len(data), 4):
        word = int.from_bytes(data[start : start + 4], "little")
        hashed ^= _rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
        if start + 4 <= len(data):
            hashed = (_rotated(hashed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        hashed = (hashed ^ hashed >> shift) * factor & _MASK
    return hashed


def plain_hash(key: Any) -> int:
    """31 bits."""
    if isinstance(key, datetime):
        key = key.replace(tzinfo=key.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    elif isinstance(key, date):
        key = (key - date(1970, 1, 1)).days
    elif isinstance(key, time):
        key = timedelta(hours=key.hour, minutes=key.minute, seconds=key.second, microseconds=key.microsecond)
    if isinstance(key, timedelta):
        key //= timedelta(microseconds=1)
    if isinstance(key, int):
        fits = -(2**63) <= key < 2**64
        return murmur3((key % 2**64).to_bytes(8, "little") if fits else str(key).encode()) & 0x7FFFFFFF
    return murmur3(key.encode()) & 0x7FFFFFFF


def plain_bucket(key: Any, buckets: int) -> int | None:
    """The bucket; None for no key."""
    return None if key is None else plain_hash(key) % buckets


def plain_fold(key: Any, folds: int) -> int:
    """The fold: one more for no key."""
    return folds if key is None else plain_hash(key) % folds
