"""What the tools return: the command's document, its text, and its page, which a notebook shows."""

from __future__ import annotations

import html
import os
from typing import Any, Callable

from ._files import replacing


class Page:
    """The answer of a tool. `data` is the document of `wick COMMAND --json`; str() is what the command prints.

    In a notebook it shows as the page that the command writes, in a frame of its own; save() keeps that page as a file
    that opens without a network.
    """

    #: The height of the frame in a notebook, in pixels.
    height = 600

    def __init__(self, title: str, data: Any, text: Callable[[], str], page: Callable[[], str]) -> None:
        self.title = title
        self.data = data
        self._text = text
        self._page = page
        self._made: dict[str, str] = {}

    def __str__(self) -> str:
        if "text" not in self._made:
            self._made["text"] = self._text().rstrip("\n")
        return self._made["text"]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.title}>"

    def html(self) -> str:
        """Returns the page."""
        if "page" not in self._made:
            self._made["page"] = self._page()
        return self._made["page"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file. An error leaves what was there. IOFailure, NoSuchFile: it cannot be written."""
        page = self.html()
        with replacing(path, "w", encoding="utf-8") as file:
            file.write(page)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html(), quote=True)}" title="{html.escape(self.title, quote=True)}" '
            f'style="width:100%;height:{self.height}px;border:0" sandbox="allow-scripts"></iframe>'
        )


class Inspection(Page):
    """What is in a model: data["inputs"], ["outputs"], ["nodes"], ["ops"], ["provenance"]; of two: data["a"], ["b"]."""


class Report(Page):
    """A training run as a page."""


class Quantization(Page):
    """What quantizing cost and won: data["bytes"], ["accuracy"], ["comparison"]["layers"], ["ms"], ["files"]."""

    @property
    def files(self) -> list[str]:
        """The files that were written."""
        return [str(f["file"]) for f in self.data["files"]]


class Verification(Page):
    """Whether every value is what it must be. True in a condition where nothing differs."""

    def __init__(
        self, title: str, data: Any, text: Callable[[], str], page: Callable[[], str], *, equal: bool
    ) -> None:
        super().__init__(title, data, text, page)
        #: False where a value differs by more than its class allows.
        self.equal = equal

    def __bool__(self) -> bool:
        return self.equal

    @property
    def verdict(self) -> str:
        """ "equal", "within", or what is worst of what was found."""
        return str(self.data["verdict"])


class Benchmark(Page):
    """Times of a model: a row for each batch size, with "p50_ms", "p95_ms", "items_per_s" and so on."""

    height = 120

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, one for each batch size."""
        return list(self.data)


_COLUMNS = ("batch", "backend", "threads", "p50_ms", "p95_ms", "items_per_s", "load_ms", "first_answer_ms", "peak_rss_mb")


def bench_text(rows: list[dict[str, Any]]) -> str:
    """Returns the rows as aligned text."""
    cells = [list(_COLUMNS), *([_cell(row.get(c)) for c in _COLUMNS] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(_COLUMNS))]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths)) for row in cells)


def bench_page(title: str, rows: list[dict[str, Any]]) -> str:
    """Returns the rows as a page with one table."""
    head = "".join(f"<th>{c}</th>" for c in _COLUMNS)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(r.get(c)))}</td>" for c in _COLUMNS) + "</tr>" for r in rows)
    return (
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>"
        "<style>body{font:14px sans-serif}td,th{padding:2px 10px;text-align:right}</style>"
        f"<table><tr>{head}</tr>{body}</table>"
    )


def text_page(title: str, text: str) -> str:
    """Returns text as a page."""
    return (
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>pre{{font:13px monospace}}</style><pre>{html.escape(text)}</pre>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
