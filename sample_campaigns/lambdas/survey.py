"""Takes the answers to surveys: JSON files whose names say which survey, who answered, and when.

``answers/nps/2024-05-01/USER.json``, ``drafts/...`` which are kept for later, and
``surveys/NAME.json``, which opens or closes a survey.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from lambdas.events import Record, records
from lambdas.storage import Item, StoredObject, dynamodb, fetch, get_item, put_item, text

SURVEYS = "surveys"
ANSWERS = "answers"
ADMIN = "admin"
LONGEST = 200


class BadAnswer(Exception):
    """The file is no answer to any survey of ours."""


class Kind(StrEnum):
    NPS = "nps"
    RATING = "rating"
    CHOICE = "choice"
    COMMENT = "comment"


@dataclass(frozen=True)
class Path:
    """What a key says."""

    folder: str
    kind: Kind
    day: datetime.date | None
    user: str


@dataclass(frozen=True)
class Answer:
    path: Path
    value: Decimal | None
    text: str
    tags: tuple[str, ...] = ()


def handler(event: dict[str, object], context: object) -> dict[str, str]:
    return {record.key: take(record) for record in records(event) if record.created}


def take(record: Record) -> str:
    path = parsed_key(record.key)
    if path is None:
        return "ignored"
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return "gone"
    document = loaded(stored)
    if path.folder == "surveys":
        return opened(path, document, stored)
    answer = checked(path, document)
    if path.folder == "drafts":
        return "draft"
    if not is_open(path):
        return "too late"
    return kept(answer, stored)


def parsed_key(key: str) -> Path | None:
    if not key.endswith(".json"):
        return None
    parts = key.removesuffix(".json").split("/")
    try:
        if parts[0] == "surveys" and len(parts) == 2:
            return Path("surveys", Kind(parts[1]), None, ADMIN)
        if parts[0] in ("answers", "drafts") and len(parts) == 4:
            return Path(parts[0], Kind(parts[1]), datetime.date.fromisoformat(parts[2]), parts[3])
        if parts[0] == "answers" and len(parts) == 3:
            return Path("answers", Kind(parts[1]), None, parts[2])
    except ValueError:
        return None
    return None


def loaded(stored: StoredObject) -> dict[str, Any]:
    try:
        document = json.loads(stored.body)
    except (ValueError, RecursionError) as e:
        raise BadAnswer(f"{stored.key}: {e}") from e
    if isinstance(document, list) and len(document) == 1:
        document = document[0]  # the old form sent a list of one
    if not isinstance(document, dict):
        raise BadAnswer(f"{stored.key}: no object")
    return document


def opened(path: Path, document: dict[str, Any], stored: StoredObject) -> str:
    """A survey is opened, or closed by ``"open": false``."""
    is_to_be_open = document.get("open", True)
    until = stored.last_modified.date() + datetime.timedelta(30)
    if "until" in document:
        try:
            until = datetime.date.fromisoformat(str(document["until"]))
        except ValueError as e:
            raise BadAnswer(f"{stored.key}: {e}") from e
    state = "open" if is_to_be_open else "closed"
    item = Item({"survey": {"S": path.kind}, "state": {"S": state}})
    item["until"] = {"S": until.isoformat()}
    put_item(SURVEYS, item)
    return state


def is_open(path: Path) -> bool:
    survey = get_item(SURVEYS, {"survey": path.kind})
    if survey is None:
        return path.kind is Kind.COMMENT  # those are always welcome
    if text(survey, "state") != "open":
        return False
    return path.day is None or path.day.isoformat() <= text(survey, "until")


def checked(path: Path, document: dict[str, Any]) -> Answer:
    words = str(document.get("text", ""))[:LONGEST]
    if path.kind is Kind.COMMENT:
        if not words.strip():
            raise BadAnswer("an empty comment")
        return Answer(path, None, words)
    value = document.get("value", document.get("answer"))
    if path.kind is Kind.CHOICE:
        chosen: list[Any] = value if isinstance(value, list) else [value]
        if not chosen or not all(isinstance(tag, str) for tag in chosen):
            raise BadAnswer(f"{value!r} is no choice")
        return Answer(path, None, words, tuple(sorted(set(chosen))))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadAnswer(f"{value!r} is no number")
    most = 10 if path.kind is Kind.NPS else 5
    if not 0 <= value <= most:
        raise BadAnswer(f"{value} is not from 0 to {most}")
    return Answer(path, Decimal(str(value)), words)


def kept(answer: Answer, stored: StoredObject) -> str:
    path = answer.path
    when = path.day or stored.last_modified.date()
    item = Item({"survey": {"S": path.kind}, "user": {"S": path.user}})
    item["day"] = {"S": when.isoformat()}
    if answer.text:
        item["text"] = {"S": answer.text}
    if answer.tags:
        item["tags"] = {"L": [{"S": tag} for tag in answer.tags]}
    group = ""
    if answer.value is not None:
        item["value"] = {"N": str(answer.value)}
        group = group_of(answer)
    known = get_item(ANSWERS, {"survey": path.kind, "user": path.user})
    if known is not None and text(known, "day") >= when.isoformat():
        return "known"
    put_item(ANSWERS, item)
    if group:
        add_to(path, group)
    return group or "kept"


def group_of(answer: Answer) -> str:
    if answer.value is None:
        return ""
    if answer.path.kind is Kind.RATING:
        return "good" if answer.value >= 4 else "bad"
    if answer.value >= 9:
        return "promoters"
    return "passives" if answer.value >= 7 else "detractors"


def add_to(path: Path, group: str) -> None:
    dynamodb.update_item(
        TableName=SURVEYS,
        Key={"survey": {"S": path.kind}},
        UpdateExpression="ADD #group :one",
        ExpressionAttributeNames={"#group": group},
        ExpressionAttributeValues={":one": {"N": "1"}},
    )
