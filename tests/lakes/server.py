"""A server that stands for object stores: prints its address, and ends when its standard input does.

S3 itself is by moto. Where its objects may be read by everybody, their addresses answer as Google's store does without a token,
so that gs:// can be read there as well.
"""

from __future__ import annotations

import sys


def main() -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    print("http://{}:{}".format(*server.get_host_and_port()), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
