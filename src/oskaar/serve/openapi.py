"""The interface as an OpenAPI document, with examples."""

from __future__ import annotations

from functools import cache
from typing import Any

Json = dict[str, Any]

X: Json = {
    "description": "A list of numbers, an object of named values, or a list of rows.",
    "examples": [[0.1, 2.0], {"hour": 7, "weekday": "monday"}],
}
Y: Json = {"description": "A label of the loss; sets and tuples are lists.", "examples": ["a", [0, 2]]}
Z: Json = {"description": "The answer; sets and tuples are lists; null where none is known yet."}
TICKET: Json = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
COUNT: Json = {"type": "integer", "minimum": 0}
NUMBER: Json = {"type": "number"}
SPEC: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}},
    "description": "A class of oskaar by name, with its arguments.",
}


def _object(required: Json, optional: Json | None = None, closed: bool = False) -> Json:
    more: Json = {"additionalProperties": False} if closed else {}
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}, **more}


PROBABILITIES: Json = {"probabilities": {"description": "Of each answer by name, where the learner has them."}}
SCHEMAS: dict[str, Json] = {
    "Ask": _object({"x": X}, {"probabilities": {"type": "boolean", "default": True}}, closed=True),
    "Tell": _object({"ticket": TICKET, "y": Y}, closed=True),
    "Learn": _object({"x": X, "y": Y}, closed=True),
    "Forget": _object({"ticket": TICKET}, closed=True),
    "Asked": _object({"ticket": COUNT, "z": Z}, PROBABILITIES),
    "Predicted": _object({"z": Z}, PROBABILITIES),
    "Told": _object({"ticket": COUNT, "rounds": COUNT, "loss": NUMBER}),
    "Learned": _object({"z": Z, "rounds": COUNT, "loss": NUMBER}),
    "Forgotten": _object({"ticket": COUNT}),
    "Create": _object(
        {"loss": SPEC},
        {"learner": SPEC, "max_open": {"type": "integer", "minimum": 1, "maximum": 10_000}},
        closed=True,
    ),
    "Stream": _object(
        {
            "name": {"type": "string"},
            "loss": SPEC,
            "learner": SPEC,
            "rounds": COUNT,
            "mean_loss": {"type": ["number", "null"]},
            "open_tickets": COUNT,
        }
    ),
    "Streams": _object(
        {
            "streams": {
                "type": "array",
                "items": _object({"name": {"type": "string"}, "rounds": COUNT, "open_tickets": COUNT}),
            }
        }
    ),
    "Error": _object({"error": _object({"code": {"type": "string"}, "message": {"type": "string"}})}),
}

ERRORS = {
    400: "The body is not JSON, or not for this request.",
    401: "A token is needed.",
    403: "The token does not allow this, or the request comes from another site.",
    404: "There is no such stream, or no such ticket.",
    409: "It does not fit with what is there, or a limit is reached.",
    413: "The body, the row or the batch is too large.",
    422: "Refused: the message says what must hold, what arrived, and what to do. Nothing was changed.",
    429: "Too many requests wait: try again after Retry-After seconds.",
    503: "Nothing can be written, or the stream is damaged. Nothing was changed.",
}

EXAMPLES: dict[str, tuple[Any, Any]] = {
    "ask": ({"x": [0.1, 2.0]}, {"ticket": 17, "z": "a"}),
    "tell": ({"ticket": 17, "y": "b"}, {"ticket": 17, "rounds": 12, "loss": 1.0}),
    "learn": ({"x": {"hour": 7, "weekday": "monday"}, "y": "a"}, {"z": "a", "rounds": 13, "loss": 0.0}),
    "predict": ({"x": [0.1, 2.0]}, {"z": "a"}),
    "forget": ({"ticket": 17}, {"ticket": 17}),
}
BODIES = {
    "ask": ("Ask", "Asked", "An answer for x, and a ticket for its label, which may come at any time or never."),
    "tell": ("Tell", "Told", "The label of a ticket: learn it. A label that is refused leaves the ticket open."),
    "learn": ("Learn", "Learned", "A round whose label is known."),
    "predict": ("Ask", "Predicted", "An answer for x; nothing changes."),
    "forget": ("Forget", "Forgotten", "Close a ticket whose label will not come."),
}
CREATE = {"loss": {"name": "ZeroOne", "classes": ["a", "b"]}, "learner": {"name": "Ensemble"}}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(description: str, schema: str | None = None, example: Any = None) -> Json:
    if schema is None:
        return {"description": description}
    content: Json = {"schema": _reference(schema)}
    return {
        "description": description,
        "content": {"application/json": content if example is None else {**content, "example": example}},
    }


NAME: Json = {
    "name": "name",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"},
    "example": "tags",
}
KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "A retry with the same key is answered with what was answered before, also after a restart.",
}
LINES = "application/x-ndjson"


def _operation(
    id: str,
    summary: str,
    answers: Json,
    codes: tuple[int, ...] = (401, 403),
    parameters: tuple[Json, ...] = (),
    body: tuple[str, Any] | None = None,
) -> Json:
    """codes: of errors; none for what needs no token. body: its schema and an example."""
    more: Json = {} if codes else {"security": []}
    if body is not None:
        content = {"schema": _reference(body[0]), "examples": {"one": {"value": body[1]}}}
        more["requestBody"] = {"required": True, "content": {"application/json": content}}
    responses = {**answers, **{str(code): _answer(ERRORS[code], "Error") for code in codes}}
    return {"summary": summary, "operationId": id, "parameters": list(parameters), "responses": responses, **more}


def _round(kind: str) -> Json:
    body, answer, about = BODIES[kind]
    request, response = EXAMPLES[kind]
    answers = _answer(
        "The answer; for a batch, a line for each line, with an error in place of an answer.", answer, response
    )
    answers["content"][LINES] = {"schema": {"type": "string"}}
    parameters = (NAME,) if kind == "predict" else (NAME, KEY)
    return _operation(kind, about, {"200": answers}, tuple(ERRORS), parameters, (body, request))


def _streams() -> Json:
    made = {"200": _answer("It was there already.", "Stream"), "201": _answer("It is new.", "Stream")}
    file = {
        "description": "A file for oskaar.load.",
        "content": {"application/octet-stream": {"schema": {"type": "string"}}},
    }
    some, one = (401, 403, 404, 503), (NAME,)
    create = (400, 401, 403, 409, 413, 422, 503)
    return {
        "/streams": {"get": _operation("list", "All streams.", {"200": _answer("A list.", "Streams")})},
        "/streams/{name}": {
            "put": _operation("create", "Make a stream.", made, create, one, ("Create", CREATE)),
            "get": _operation(
                "inspect", "What is known of a stream.", {"200": _answer("The stream.", "Stream")}, some, one
            ),
            "delete": _operation(
                "delete", "Delete a stream and all that it has learned.", {"204": _answer("It is gone.")}, some, one
            ),
        },
        "/streams/{name}/model": {"get": _operation("model", "The learner as a file.", {"200": file}, some, one)},
    }


@cache
def document() -> Json:
    """The whole document."""
    text = {"description": "Text.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    state = {"description": "As JSON.", "content": {"application/json": {"schema": {"type": "object"}}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "oskaar serve",
            "version": "1",
            "description": (
                "Online structured prediction: ask for an answer now, tell the label when it comes. Bodies with one "
                f"request a line ({LINES}) are batches. What was answered survives a crash."
            ),
        },
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
        "paths": {
            **_streams(),
            **{f"/streams/{{name}}/{kind}": {"post": _round(kind)} for kind in BODIES},
            "/metrics": {"get": _operation("metrics", "For Prometheus.", {"200": text})},
            "/healthz": {"get": _operation("healthy", "The process answers.", {"200": state}, ())},
            "/readyz": {
                "get": _operation("ready", "All is recovered and can be written.", {"200": state, "503": state}, ())
            },
        },
    }
