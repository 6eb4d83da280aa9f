"""The page and the documentation of the interface: files of the package, and nothing from anywhere else."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from starlette.responses import Response

PATHS = {
    "/": ("index.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
    "/favicon.svg": ("favicon.svg", "image/svg+xml"),
    "/docs": (None, "text/html"),
}


def response(path: str) -> Response:
    """A file."""
    name, kind = PATHS[path]
    text = documentation() if name is None else _text(name)
    return Response(text, headers={"cache-control": "no-cache"}, media_type=kind)


@cache
def _text(name: str) -> str:
    return files("oskaar.serve.pages").joinpath(name).read_text(encoding="utf-8")


@cache
def documentation() -> str:
    """`/docs`: the OpenAPI document for people."""
    from oskaar.serve.openapi import document

    found = document()
    parts = [f"<h1>{escape(found['info']['title'])}</h1>", f"<p>{escape(found['info']['description'])}</p>"]
    parts.append('<p><a href="./">The page</a> &middot; <a href="openapi.json">openapi.json</a></p>')
    for path, methods in found["paths"].items():
        for method, about in methods.items():
            parts += _operation(path, method.upper(), about)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>oskaar serve: interface</title><link rel="icon" href="favicon.svg">'
        '<link rel="stylesheet" href="page.css">'
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body><main>\n'
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _operation(path: str, method: str, about: dict[str, Any]) -> list[str]:
    parts = [f"<section><h2><code>{method} {escape(path)}</code></h2><p>{escape(about['summary'])}</p>"]
    for kind, content in about.get("requestBody", {}).get("content", {}).items():
        shown = [escape(_shown(example["value"])) for example in content.get("examples", {}).values()]
        parts += [f"<p>{escape(kind)}</p><pre>{text}</pre>" for text in shown]
    for status, answer in about["responses"].items():
        parts.append(f"<p><b>{status}</b> {escape(answer['description'])}</p>")
        contents = answer.get("content", {}).values()
        parts += [f"<pre>{escape(_shown(content['example']))}</pre>" for content in contents if "example" in content]
    return [*parts, "</section>"]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
