"""Objects in stores, such as s3://bucket/log.parquet: what is there, since when, and how it begins.

Credentials, region and endpoint are those of the environment, by the names that obstore, Polars and deltalake all read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from polars_ec.cli.terminal import DataError, UsageError, panics_unseen, why, without_queries

# Functions import it where they need it: it is an extra.
if TYPE_CHECKING:
    from obstore.store import ObjectStore, RetryConfig

T = TypeVar("T")
_ADDRESS = re.compile(r"(?P<bucket>(?P<scheme>s3|gs|az)://[^/@]+)(?:/(?P<key>.*))?", re.DOTALL)
_OTHER_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# What pathlib makes of an address.
_COLLAPSED = re.compile(r"(?P<scheme>s3|gs|az):/+")
_SIGNED = re.compile(r"\?(?:.*&)?(?:sig|sv|token|AWSAccessKeyId|X-Amz-\w+|X-Goog-\w+)[-\w]*=", re.IGNORECASE)
# Who waits for an answer gets one within a minute, whatever the store does.
_PATIENCE = {"connect_timeout": "5s", "timeout": "30s"}
# How many objects are asked for at a time.
_AT_ONCE = 32
_RETRIES: RetryConfig = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
# Where timeouts are stated, obstore looks for none of these in the environment.
_CLIENT = ("allow_http", "allow_invalid_certificates", "proxy_url")
_PREFIXES = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_SERVICE_ACCOUNT, or GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
_NO_BUCKET = re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_DENIED = re.compile(r"status code: 40[13]\b")
_NO_CREDENTIALS = re.compile(
    r"169\.254\.169\.254|metadata\.google|Account must be specified|Missing\w*(?:Key|Credential)"
)
_ENCRYPTED_ONLY = "HTTP error: builder error"
_NO_ANSWER = re.compile(r"HTTP error|error sending request|timed out", re.IGNORECASE)


class DeniedError(DataError):
    """The store does not let one look."""


@dataclass(frozen=True)
class StoredObject:
    """An object as it was when it was looked at: `tag` is its ETag, by which the store tells its contents apart."""

    url: str
    size: int
    modified_ns: int
    tag: str | None

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


def is_address(path: str) -> bool:
    """Whether what a user names is in an object store; UsageError for addresses of other kinds."""
    if is_in_store(path):
        if _SIGNED.search(path):
            raise UsageError(
                f"{without_queries(path)}: signed URLs are not supported. Set the credentials in the environment instead"
            )
        if re.search("^/|//", split(path)[1]):
            raise UsageError(f"{path}: keys with empty names between // cannot be read. Is there a / too many?")
        return True
    if _OTHER_ADDRESS.match(path):
        raise UsageError(f"{without_queries(path)}: not a supported address: s3://, gs:// or az://, then BUCKET/KEY")
    return False


def is_in_store(name: str) -> bool:
    """Whether the full name of an input is an address."""
    return _ADDRESS.fullmatch(name) is not None


def check_local(option: str, path: Path | None, what: str) -> None:
    """Refuse an address where a local file or folder is written."""
    written = None if path is None else _COLLAPSED.match(str(path))
    if written is not None:
        raise UsageError(
            f"{option} {written['scheme']}://{str(path)[written.end() :]}: {what} written to local paths only. Copy it from there"
        )


def split(url: str) -> tuple[str, str]:
    """The address of the bucket, and the key within it."""
    match = _ADDRESS.fullmatch(url)
    assert match is not None
    return match["bucket"], match["key"] or ""


def head(url: str) -> StoredObject | None:
    """The object at this address, None if there is none; DataError if one cannot tell."""
    _, key = split(url)
    return None if not key or key.endswith("/") else _unless_gone(url, partial(_head, url))


def listed(url: str, shown: str) -> Iterator[StoredObject]:
    """All objects below this address, which was given as `shown`, in the order of their keys; what only stands for a folder is none."""
    bucket, key = split(url)
    listing = _answered(shown, lambda: [meta for batch in _obstore(url).list(_store(bucket), key) for meta in batch])
    folders = {meta["path"].rsplit("/", i)[0] for meta in listing for i in range(1, meta["path"].count("/") + 1)}
    for meta in sorted(listing, key=lambda meta: meta["path"]):
        if meta["size"] or (meta["path"] not in folders and meta["path"] != key.strip("/")):
            yield _stored_object(bucket, meta)


def is_above_any(url: str) -> bool:
    """Whether there is any object below this address."""
    bucket, key = split(url)
    return any(_answered(url, lambda: next(iter(_obstore(url).list(_store(bucket), key)), [])))


def names_in(url: str) -> list[str]:
    """The names of all objects right below this address, as those in a folder."""
    bucket, key = split(url)
    listing = _answered(url, lambda: _obstore(url).list_with_delimiter(_store(bucket), key))
    return [meta["path"].rsplit("/", 1)[-1] for meta in listing["objects"]]


def beginnings(objects: Sequence[StoredObject], length: int) -> Iterator[bytes | None]:
    """Their first bytes, None of those that are there no longer."""
    return _many_at_a_time(objects, partial(_first_bytes, length=length))


def heads(objects: Sequence[StoredObject]) -> Iterator[StoredObject | None]:
    """What they are like now, None of those that are there no longer."""
    return _many_at_a_time(objects, lambda file: _head(file.url))


def _many_at_a_time(objects: Sequence[StoredObject], ask: Callable[[StoredObject], T]) -> Iterator[T | None]:
    from concurrent.futures import ThreadPoolExecutor, wait  # which take long to load

    # A store that does not answer is asked once.
    for first in objects[:1]:
        yield _unless_gone(first.url, partial(ask, first))
    with panics_unseen():
        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            answers = [pool.submit(ask, other) for other in objects[1:]]
            wait(answers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    for other, answer in zip(objects[1:], answers, strict=True):
        yield _unless_gone(other.url, answer.result)


def _head(url: str) -> StoredObject:
    bucket, key = split(url)
    return _stored_object(bucket, _obstore(url).head(_store(bucket), key))


def _first_bytes(file: StoredObject, length: int) -> bytes:
    import obstore

    bucket, key = split(file.url)
    # Of an object without a byte no range is answered.
    return bytes(obstore.get_range(_store(bucket), key, start=0, end=min(length, file.size))) if file.size else b""


def _obstore(url: str) -> Any:
    try:
        import obstore
    except ImportError:
        raise UsageError(f"{url}: objects in stores need obstore: pip install 'polars_ec[lake]'") from None
    return obstore


@lru_cache(maxsize=64)
def _store(bucket: str) -> ObjectStore:
    from obstore.store import from_url

    prefix = _PREFIXES[bucket.split(":")[0]]
    stated = {name: value for name in _CLIENT if (value := os.environ.get(f"{prefix}_{name.upper()}"))}
    options: Any = {**_PATIENCE, **stated}
    return from_url(bucket, client_options=options, retry_config=_RETRIES)


def _stored_object(bucket: str, meta: Any) -> StoredObject:
    """One object in one form, whether a list or the object itself describes it.

    Lists may have the time to the millisecond and the tag without quotes, where the object has whole seconds and quotes.
    """
    modified: datetime = meta["last_modified"]
    seconds = (modified - datetime.fromtimestamp(0, modified.tzinfo)) // timedelta(seconds=1)
    tag = None if meta["e_tag"] is None else meta["e_tag"].strip('"')
    return StoredObject(f"{bucket}/{meta['path']}", meta["size"], seconds * 1_000_000_000, tag)


def _unless_gone(url: str, ask: Callable[[], T]) -> T | None:
    """What the store answers, None if there is no such object."""
    try:
        return _answered(url, ask)
    except FileNotFoundError:
        return None


def _answered(url: str, ask: Callable[[], T]) -> T:
    """What the store answers; FileNotFoundError if there is no such object, and other failures in words that help."""
    exceptions = _obstore(url).exceptions
    denied = exceptions.PermissionDeniedError, exceptions.UnauthenticatedError
    bucket, _ = split(url)
    scheme = bucket.split(":")[0]
    try:
        with panics_unseen():
            return ask()
    except (KeyboardInterrupt, SystemExit, UsageError, DataError):
        raise
    except BaseException as error:  # a panic of obstore is not an Exception to Python
        text = str(error)
        if _NO_BUCKET.search(text):
            raise UsageError(f"{url}: there is no bucket {bucket}") from None
        # Of a list obstore says so in words alone.
        if isinstance(error, denied) or _DENIED.search(text):
            raise DeniedError(
                f"{url}: access denied with the environment's credentials ({_CREDENTIALS[scheme]})"
            ) from None
        if isinstance(error, FileNotFoundError):
            raise
        if _NO_CREDENTIALS.search(text):
            raise DataError(f"{url}: no credentials in the environment: set {_CREDENTIALS[scheme]}") from None
        if _ENCRYPTED_ONLY in text:
            raise DataError(
                f"{url}: for an unencrypted endpoint, http://, set {_PREFIXES[scheme]}_ALLOW_HTTP=true in the environment"
            ) from None
        if _NO_ANSWER.search(text):
            raise DataError(f"{url}: the store does not answer: {why(error)}") from None
        raise DataError(f"{url}: {why(error)}") from None
