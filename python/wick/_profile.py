"""Times of steps, written as a file for Perfetto and chrome://tracing."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from . import _abi
from ._library import sized


class Profile:
    """Collects the steps of a session's runs. The hook must live as long as the sessions that have it."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.start_ns = time.monotonic_ns()
        self.recording = True
        self._events: list[tuple[str, str, str, str, int, int, int]] = []
        self._on_step = _abi.OnStep(self._step)
        self.hook = sized(_abi.TraceHook)
        self.hook.takes_blocks = 1  # no values are read
        self.hook.on_step = self._on_step

    def _step(self, user: int | None, event: Any) -> None:
        if not self.recording:
            return
        e = event.contents
        text = [(t or b"").decode("utf-8", "replace") for t in (e.op, e.node, e.kernel, e.backend)]
        # One append: lists are safe where several threads run sessions at once.
        self._events.append((text[0], text[1], text[2], text[3], threading.get_native_id(), e.begin_ns, e.end_ns))

    def end(self) -> str:
        """Writes the file and returns its name. IOFailure, NoSuchFile: it cannot be written."""
        import json

        from ._files import replacing

        self.recording = False
        events = [
            {
                "cat": "Node",
                "pid": os.getpid(),
                "tid": thread,
                "dur": max(0, end - begin) / 1e3,
                "ts": begin / 1e3,
                "ph": "X",
                "name": f"{node or op}_kernel_time",
                "args": {"op_name": op, "kernel": kernel, "provider": backend},
            }
            for op, node, kernel, backend, thread, begin, end in self._events
        ]
        name = f"{self.prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{os.getpid()}_{self.start_ns % 10**9}.json"
        with replacing(name, "w", encoding="utf-8") as file:
            json.dump(events, file)
        return name
