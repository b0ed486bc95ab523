"""The server of the page: on this machine alone, with a token that only the one who started it learns."""

import os
import secrets
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from discreet.data import scratch
from discreet.errors import InvalidInputError
from discreet.explore.application import application

_ADDRESS = "127.0.0.1"
_FIRST_PORT, _LAST_PORT = 1024, 65535
_WAITING = 64
"""Connections that wait to be taken up."""


def serve(port: int | None, *, browser: bool, ledger: str | None = None) -> None:
    """Answer until interrupted. Without a port, any that is free. `ledger` is the one that the page begins with."""
    listener = _listener(port)
    host = f"{_ADDRESS}:{listener.getsockname()[1]}"
    token = secrets.token_urlsafe(32)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    with listener, scratch.directory() as private, _door(host, token) as door:
        config = uvicorn.Config(
            application(token, listener.getsockname()[1], Path(private), ledger),
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
        )
        sys.stdout.write(f"discreet explore is at http://{host}/#{token}\nPress Ctrl+C to end it.\n")
        sys.stdout.flush()
        if browser:
            webbrowser.open(door.as_uri())
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            sys.stdout.write("\nended\n")
            sys.stdout.flush()
    scratch.remove_own()
    os._exit(0)  # a thread may still compute what nobody waits for


def _listener(port: int | None) -> socket.socket:
    if port is not None and not _FIRST_PORT <= port <= _LAST_PORT:
        raise InvalidInputError(
            f"--port must be a whole number from {_FIRST_PORT} to {_LAST_PORT}, got {port}; leave it out for any that is free"
        )
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_ADDRESS, port or 0))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise InvalidInputError(
            f"port {port} cannot be used ({error.strerror}); give another --port, or none for any that is free"
        ) from None
    return listener


@contextmanager
def _door(host: str, token: str) -> Iterator[Path]:
    """A file that only its owner can read, and that leads a browser to the page.

    A browser is started with an address that every user of the machine can see in the list of processes: it is that of the file.
    """
    with TemporaryDirectory(prefix="discreet-") as folder:
        door = Path(folder) / "explore.html"
        descriptor = os.open(door, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=http://{host}/#{token}">\n')
        yield door


def _leave(*_: Any) -> None:
    """End as if interrupted, so that the file goes away."""
    raise KeyboardInterrupt
