"""Messages between the oracle and its servers: a JSON header and blocks of bytes, each with its length in front."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_COUNTS = struct.Struct("<II")  # bytes of the header, number of blocks
_LENGTH = struct.Struct("<Q")


class Closed(ConnectionError):
    """The other end is gone."""


def send(connection: socket.socket, header: Any, blocks: Sequence[bytes | bytearray | memoryview] = ()) -> None:
    text = json.dumps(header).encode()
    parts: list[bytes | bytearray | memoryview] = [_COUNTS.pack(len(text), len(blocks)), text]
    for block in blocks:
        parts += [_LENGTH.pack(len(block)), block]
    try:
        for part in parts if len(parts) > 2 else [b"".join(parts)]:
            connection.sendall(part)
    except OSError as error:
        raise Closed(str(error)) from error


def receive(connection: socket.socket) -> tuple[Any, list[bytearray]]:
    size, count = _COUNTS.unpack(_exactly(connection, _COUNTS.size))
    header = json.loads(_exactly(connection, size))
    return header, [_exactly(connection, _LENGTH.unpack(_exactly(connection, 8))[0]) for _ in range(count)]


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            read = connection.recv_into(view)
        except OSError as error:
            raise Closed(str(error)) from error
        if not read:
            raise Closed("the connection was closed")
        view = view[read:]
    return data
