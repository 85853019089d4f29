"""A process of the program that answers requests (`ptxcheck serve --stdio`)."""

from __future__ import annotations

import json
import struct
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import CheckFailed, CheckTimeout, UsageError

GRACE_SECONDS = 5.0
"""Time that the program has to say that a request took too long, before the process is ended."""


@dataclass(frozen=True)
class Source:
    """An input of a request: bytes with a name, or a path."""

    name: str
    content: bytes | None

    def entry(self) -> dict[str, Any]:
        """The input in the document of a request."""
        if self.content is None:
            return {"path": self.name}
        return {"name": self.name, "bytes": len(self.content)}


class Worker:
    """One process; one request at a time."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [program, "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._requests = 0
        self._is_broken = False

    @property
    def is_alive(self) -> bool:
        """True while the process runs and has answered everything."""
        return not self._is_broken and self._process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def request(
        self, method: str, options: Sequence[str], inputs: Sequence[Source], timeout: float | None
    ) -> dict[str, Any]:
        """The document that answers a request. `timeout`: seconds, or as long as the program allows.

        Raises:
            UsageError: the program refuses the options.
            CheckTimeout, CheckFailed: no answer came; the process is of no use any more.
        """
        self._requests += 1
        request: dict[str, Any] = {
            "id": self._requests,
            "method": method,
            "options": list(options),
            "inputs": [one.entry() for one in inputs],
        }
        if timeout is not None:
            request["timeout"] = timeout
        document = json.dumps(request).encode()
        pieces = [struct.pack("<I", len(document)), document]
        pieces += [one.content for one in inputs if one.content is not None]
        guard = None
        late = threading.Event()
        if timeout is not None:

            def end() -> None:
                late.set()
                self._process.kill()

            guard = threading.Timer(min(timeout + GRACE_SECONDS, threading.TIMEOUT_MAX), end)
            guard.daemon = True
            guard.start()
        try:
            reply = self._exchange(pieces)
        except (OSError, EOFError, ValueError) as error:
            # It may take a moment to be gone.
            self._is_broken = True
            self._process.kill()
            if late.is_set():
                raise CheckTimeout(f"no answer within {timeout:g} s") from None
            raise CheckFailed(f"the process that checks has ended: {error}") from error
        finally:
            if guard is not None:
                guard.cancel()
        return self._document(reply)

    def _exchange(self, pieces: Sequence[bytes]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        for piece in pieces:
            stdin.write(piece)
        stdin.flush()
        head = stdout.read(4)
        if len(head) != 4:
            raise EOFError("it closed its output")
        (length,) = struct.unpack("<I", head)
        text = stdout.read(length)
        if len(text) != length:
            raise EOFError("its answer is not whole")
        reply = json.loads(text)
        if not isinstance(reply, dict) or reply.get("id") != self._requests:
            raise ValueError("it answered something else")
        return reply

    def _document(self, reply: dict[str, Any]) -> dict[str, Any]:
        error = reply.get("error")
        if error is None:
            document = reply["document"]
            assert isinstance(document, dict)
            return document
        message = str(error.get("message"))
        kinds = {"usage": UsageError, "timeout": CheckTimeout}
        raise kinds.get(str(error.get("kind")), CheckFailed)(message)
