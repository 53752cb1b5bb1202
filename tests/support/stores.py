"""Object stores that a server on this machine stands for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

KEY, SECRET = "key-of-tests", "secret-of-tests"


def to_s3(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Objects of s3:// are asked for at this address."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, store: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port at which the store answers. Name a bucket by it, for clients of stores are kept by the bucket's name."""
    quiet = type(store.__name__, (store,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), quiet) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        to_s3(monkeypatch, f"http://127.0.0.1:{server.server_port}")
        yield server.server_port
        server.shutdown()
