"""Object stores on this machine: a server in a process of its own, and a bucket for each test that asks for one."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.support.stores import to_s3

# Nobody checks the signature, and an owner there must be.
SIGNED = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
_numbers = itertools.count()


@dataclass(frozen=True)
class Bucket:
    """An empty bucket, and what puts objects there without what is tested."""

    name: str
    endpoint: str

    def url(self, key: str = "", scheme: str = "s3") -> str:
        return f"{scheme}://{self.name}/{key}"

    def put(self, key: str, content: bytes, *, public: bool = True) -> None:
        self.ask("PUT", key, content, {"x-amz-acl": "public-read"} if public else {})

    def delete(self, key: str) -> None:
        self.ask("DELETE", key)

    def put_folder(self, folder: Path, key: str = "") -> None:
        """All files of the folder, by their paths in it."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(key + file.relative_to(folder).as_posix(), file.read_bytes())

    def ask(self, method: str, key: str, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        connection = HTTPConnection(urlsplit(self.endpoint).netloc, timeout=20)
        try:
            headers = {"Authorization": SIGNED, **(headers or {})}
            connection.request(method, f"/{self.name}/{quote(key)}", content, headers)
            answer = connection.getresponse()
            assert answer.status in (200, 204), answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    command = [sys.executable, str(Path(__file__).parent / "server.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        # The server says other things first.
        address = next((line.strip() for line in server.stdout if line.startswith("http://")), None)
        assert address, "the server has not started: make .venv/test-lake"
        yield address
        server.stdin.close()


@pytest.fixture
def environment(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What both stores need is in the environment, and nothing else of that kind."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    to_s3(monkeypatch, endpoint)
    key = {"gcs_base_url": endpoint, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(key))
    monkeypatch.setenv("GOOGLE_ALLOW_HTTP", "true")
    return endpoint


@pytest.fixture
def bucket(environment: str) -> Bucket:
    """A bucket whose name no other test has: clients of stores are kept by it. The server knows no `-` that is escaped."""
    made = Bucket(f"bucket{next(_numbers)}", environment)
    made.ask("PUT", "")
    return made
