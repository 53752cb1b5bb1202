"""MurmurHash3, the 32-bit variant for x86 with seed 0, in NumPy, for Polars versions without their own.

Numbers are hashed as 64 bits, strings as their bytes in UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from polars_ec.arguments.keywords import as_expr, parse_whole
from polars_ec.numerics import Numbers, np
from polars_ec.typing import IntoExpr

_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593


def murmur3(keys: pl.Series) -> pl.Series:
    """Hash strings or integers of at most 64 bits with a sign to Int32; null for a null."""
    hashes = _of_texts(keys) if keys.dtype == pl.String else _of_numbers(keys.cast(pl.Int64))
    return pl.Series(keys.name, hashes.view("int32")).set(keys.is_null(), None)


def _of_numbers(keys: pl.Series) -> Numbers:
    words = keys.fill_null(0).to_numpy().astype("<i8").view("<u4").astype(np.uint32).reshape(-1, 2)
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for word in words.T:
        hashes = _turned(hashes ^ _scrambled(word))
    return _mixed(hashes ^ np.uint32(8))


def _of_texts(keys: pl.Series) -> Numbers:
    texts = keys.fill_null("")
    content = np.frombuffer("".join(texts).encode() + bytes(3), dtype=np.uint8).astype(np.uint32)
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    hashes = np.zeros(len(keys), dtype=np.uint32)
    for place in range(0, int(np.max(lengths, initial=0)), 4):
        rows = np.flatnonzero(lengths > place)
        at, left = starts[rows] + place, lengths[rows] - place
        # The last bytes of a text make a word with zeros after them, which does not turn the hash.
        word = sum(np.where(left > i, content[at + i], 0).astype(np.uint32) << np.uint32(8 * i) for i in range(4))
        met = hashes[rows] ^ _scrambled(np.asarray(word))
        hashes[rows] = np.where(left >= 4, _turned(met), met)
    return _mixed(hashes ^ lengths.astype(np.uint32))


def _scrambled(word: Numbers) -> Numbers:
    return _rotated(word * np.uint32(_FIRST), 15) * np.uint32(_SECOND)


def _turned(hashes: Numbers) -> Numbers:
    return _rotated(hashes, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _mixed(hashes: Numbers) -> Numbers:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    mixed: Numbers = hashes ^ (hashes >> np.uint32(16))
    return mixed


def _rotated(x: Numbers, bits: int) -> Numbers:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


# Buckets and folds of rows by a hash of a key: the same in Polars and in DuckDB, on every machine.

# The group column of a sketch or calibration with folds.
FOLD = "fold"

# Goes up when keys change their buckets: what was made by folds of another version must not be added up.
HASH_VERSION = 2

# The name of this hash in a sketch with clusters.
MURMUR3 = "murmur3"

BUCKETS = 100
"""The default number of buckets for clusters."""

_LARGEST = 1000
_FEWEST_OF_CLUSTERS = 5
_NOT_THE_SIGN = 2**31 - 1


def bucket(key: IntoExpr, buckets: int = 100) -> pl.Expr:
    """Assign each row to a bucket, 0 .. buckets - 1, by a hash of its key.

    Rows with the same key are in the same bucket, and buckets are about equally large if there are many keys. The bucket is that of the
    transform `bucket[buckets]` of Apache Iceberg: (murmur3(key) & 2147483647) % buckets, with the 32-bit murmur3 hash and seed 0. It depends
    on the key alone, and is equal in Polars and DuckDB on every machine. `bucket(key, 100) % 20` is `bucket(key, 20)`.

    Parameters
    ----------
    key
        Column name or expression. Integers of every width have the same hash. Strings, categories and Booleans (as 0 and 1) are accepted. So
        are dates, times, datetimes and durations, up to microseconds. An instant has one bucket, whatever its unit and time zone; a datetime
        without a time zone counts as UTC.
    buckets
        The number of buckets, from 2 to 1000.

    Returns
    -------
    Int16, named `bucket`; null for a null key, and for an instant more than 290,000 years away. In a group-by, rows without a key form their
    own bucket.

    Raises
    ------
    ValueError
        A number of buckets out of range.
    TypeError
        A key of another type, such as a float, whose digits depend on how it was computed.

    References
    ----------
    Apache Iceberg, Table Spec, "Bucket Transform Details" and Appendix B.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"id": [34, -1, None], "user": ["iceberg", "", None]}).select(
    ...     ec.bucket("id").alias("by_id"), ec.bucket("user", 1000).alias("by_user")
    ... ).rows()
    [(79, 89), (12, 0), (None, None)]
    """
    n_buckets = parse_whole(buckets, "buckets", 2, _LARGEST)
    return _from_key(key, lambda hashes: _remainder(hashes, n_buckets)).alias("bucket")


def fold(key: IntoExpr, folds: int = 5) -> pl.Expr:
    """Assign each row to a cross-validation fold, the `bucket` of its key: 0 .. folds - 1, or `folds` if the key is null.

    Rows with the same key are in the same fold. Rows without a key may be related, so they are held out together, in a separate fold.

    Parameters
    ----------
    key
        As for `bucket`: a row ID, or the cluster column, which groups correlated rows, such as the user.
    folds
        The number of folds, from 2 to 1000.

    Returns
    -------
    Int16, named `fold`.

    Raises
    ------
    ValueError, TypeError
        A number of folds or a key that `bucket` does not accept.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"id": [1, 2, 3, None], "user": ["a", "b", "a", ""]}).select(
    ...     ec.fold("id").alias("by_id"), ec.fold("user", folds=3).alias("by_user")
    ... ).rows()
    [(1, 2), (2, 0), (0, 2), (5, 0)]
    """
    n_folds = parse_whole(folds, "folds", 2, _LARGEST)
    return _from_key(key, lambda hashes: _remainder(hashes, n_folds).fill_null(n_folds)).alias(FOLD)


def stratified_fold(key: IntoExpr, within: IntoExpr | Sequence[IntoExpr], folds: int = 5) -> pl.Expr:
    """Assign each row to a fold, 0 .. folds - 1, so that the folds of each stratum differ by at most one key in size.

    Keys take turns in the order of their hashes, so that Polars and DuckDB agree. A key may have a different fold in each stratum. Rows
    without a key are in a separate fold, number `folds`.

    Parameters
    ----------
    key
        As for `fold`.
    within
        Column names or expressions of the strata, such as the group and the class; in SQL one value, such as a struct.
    folds
        The number of folds, from 2 to 1000.

    Returns
    -------
    Int16, named `fold`. The keys of a stratum are ranked in memory, so this does not stream.

    Raises
    ------
    ValueError, TypeError
        As for `fold`.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"id": [1, 2, 3, 4], "y": [True, True, False, False]})
    >>> log.select(ec.stratified_fold("id", "y", folds=2))["fold"].to_list()
    [0, 1, 1, 0]
    """
    n_folds = parse_whole(folds, "folds", 2, _LARGEST)
    strata = [as_expr(stratum, "within") for stratum in ([within] if isinstance(within, str | pl.Expr) else within)]

    def take_turns(hashes: pl.Expr) -> pl.Expr:
        turn = hashes.rank("dense").cast(pl.Int64).over(strata)
        return (turn % n_folds).fill_null(n_folds).cast(pl.Int16)

    return _from_key(key, take_turns).alias(FOLD)


def buckets_of_clusters(cluster: object, buckets: int) -> int | None:
    """The number of buckets of the clusters, at least five because variances need as many; None without clusters."""
    number = parse_whole(buckets, "buckets", _FEWEST_OF_CLUSTERS, _LARGEST)
    if cluster is None and number != BUCKETS:
        raise TypeError(f"buckets={number} is the number of hash buckets of clusters: pass cluster=, or leave it out")
    return None if cluster is None else number


def kind_of_key(dtype: pl.DataType) -> str:
    """The kind of key that a dtype is for hashing: keys of two kinds have different hashes, even if they look equal."""
    if dtype.is_integer() or dtype == pl.Boolean:
        return "a whole number"
    return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else str(dtype.base_type())


def _from_key(key: IntoExpr, build: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """Apply `build` to the hash of the key: UInt32 below 2^31, null for a null."""

    def hashed(inputs: list[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        return build(_hash(*inputs[0]).reinterpret(signed=False) & _NOT_THE_SIGN)

    return pl.pipe_with_dtype([as_expr(key, "key")], hashed)


def _remainder(hashes: pl.Expr, divisor: int) -> pl.Expr:
    # A cast that checks nothing takes a third of the time.
    return (hashes % divisor).cast(pl.Int16, wrap_numerical=True)


def _hash(key: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The 32-bit hash of a key: of its number where 64 bits hold it, else of its text."""
    if dtype in (pl.Int128, pl.UInt128):
        lowest = pl.lit(-(2**63) if dtype == pl.Int128 else 0, dtype=dtype)
        narrow = key.is_between(lowest, pl.lit(2**64 - 1, dtype=dtype))
        number = _murmur3(key.cast(pl.Int64, wrap_numerical=True))
        return pl.when(narrow).then(number).otherwise(_murmur3(key.cast(pl.String)))
    if dtype == pl.UInt64:
        return _murmur3(key.reinterpret(signed=True))
    if dtype.is_integer() or dtype in (pl.String, pl.Null):
        return _murmur3(key)
    if dtype in (pl.Categorical, pl.Enum):
        return _murmur3(key.cast(pl.String))
    if dtype == pl.Boolean:
        return _murmur3(key.cast(pl.Int8))
    if dtype == pl.Date:
        return _murmur3(key.to_physical())
    if dtype == pl.Time:
        return _murmur3(key.to_physical() // 1000)
    if isinstance(dtype, pl.Datetime):
        return _murmur3(key.cast(pl.Datetime("us", dtype.time_zone), strict=False).to_physical())
    if dtype == pl.Duration:
        return _murmur3(key.cast(pl.Duration("us"), strict=False).to_physical())
    reason = ", whose last digits depend on the engine" if dtype.is_float() else ""
    way_out = "make one of its fields by pl.concat_str(..., separator='/')" if dtype.is_nested() else "so cast it"
    raise TypeError(
        f"key {key.meta.output_name()!r} is {dtype}{reason}: buckets need integers, strings, dates or times, {way_out}"
    )


def _murmur3(key: pl.Expr) -> pl.Expr:
    """Int32, null for a null; the key is an integer that fits into 64 bits with a sign, or a string."""
    # Polars has it for tables of Apache Iceberg, under a name that it may change.
    native = getattr(key, "_mm3_hash", None)
    if native is not None:
        hashes: pl.Expr = native()
        return hashes
    return key.map_batches(murmur3, return_dtype=pl.Int32, is_elementwise=True)
