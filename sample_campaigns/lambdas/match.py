"""Books files that customers upload: a folder is a customer's, whose item says what they may."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from lambdas.events import Record, records
from lambdas.storage import (
    Item,
    StoredObject,
    delete,
    dynamodb,
    fetch,
    get_item,
    number,
    put_item,
    text,
)

CUSTOMERS = "customers"
DEFAULT_CUSTOMER = "shared"
FREE_FILES = 3
LARGEST = {"free": 2_000, "basic": 20_000, "premium": 200_000}
ALLOWED = {"text/csv", "text/plain", "application/json", "application/zip", "image/png"}


class Refused(Exception):
    """The upload is not allowed; the file was removed."""


class State(StrEnum):
    NEW = "new"
    ACTIVE = "active"
    FROZEN = "frozen"
    CLOSED = "closed"


@dataclass(frozen=True)
class Customer:
    name: str
    state: State
    plan: str
    files: int
    since: datetime.date | None


def handler(event: dict[str, object], context: object) -> list[str]:
    return [uploaded(r) if r.created else removed(r) for r in records(event)]


def uploaded(record: Record) -> str:
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return "gone"
    name = customer_of(record)
    item = get_item(CUSTOMERS, {"customer": name})
    if item is None:
        put_item(CUSTOMERS, newcomer(name, stored))
        return "created"
    customer = parsed(name, item)
    reason = refusal(customer, stored)
    if reason:
        delete(stored.bucket, stored.key)
        raise Refused(f"{stored.key}: {reason}")
    count(customer, 1)
    if customer.state is State.NEW:
        activate(customer, stored)
        return "activated"
    if customer.state is State.FROZEN:
        return "quarantined"
    return "booked"


def removed(record: Record) -> str:
    item = get_item(CUSTOMERS, {"customer": customer_of(record)})
    if item is None:
        return "unknown"
    customer = parsed(customer_of(record), item)
    if customer.files == 0:
        return "never booked"
    count(customer, -1)
    return "released"


def customer_of(record: Record) -> str:
    folder, slash, _ = record.key.partition("/")
    return folder.lower() if slash and folder else DEFAULT_CUSTOMER


def newcomer(name: str, stored: StoredObject) -> Item:
    plan = stored.metadata.get("plan", "free")
    item = Item(
        {
            "customer": {"S": name},
            "state": {"S": State.NEW},
            "plan": {"S": plan if plan in LARGEST else "free"},
            "files": {"N": "1"},
            "since": {"S": stored.last_modified.date().isoformat()},
        }
    )
    return item


def parsed(name: str, item: Item) -> Customer:
    """Items that were made by hand have not all that ours have."""
    try:
        state = State(text(item, "state"))
    except ValueError:
        state = State.NEW
    plan = text(item, "plan")
    if plan not in LARGEST:
        plan = "free"
    files = number(item, "files")
    since = None
    if "since" in item:
        try:
            since = datetime.date.fromisoformat(text(item, "since"))
        except ValueError:
            since = None
    booked = max(0, int(files)) if files is not None else 0
    return Customer(name, state, plan, booked, since)


def refusal(customer: Customer, stored: StoredObject) -> str:
    """Why the file may not stay; "" if it may."""
    if customer.state is State.CLOSED:
        return "the account is closed"
    if stored.content_type not in ALLOWED:
        return f"files of type {stored.content_type!r} are not taken"
    if len(stored.body) > LARGEST[customer.plan]:
        return f"too large for plan {customer.plan}"
    if customer.plan == "free":
        if customer.files >= FREE_FILES:
            return "no more files for free"
        if stored.content_type == "application/zip":
            return "no archives for free"
    if customer.since is not None and stored.last_modified.date() < customer.since:
        return "older than the account"
    return ""


def count(customer: Customer, by: int) -> None:
    dynamodb.update_item(
        TableName=CUSTOMERS,
        Key={"customer": {"S": customer.name}},
        UpdateExpression="SET files = :files",
        ExpressionAttributeValues={":files": {"N": str(Decimal(customer.files + by))}},
    )


def activate(customer: Customer, stored: StoredObject) -> None:
    since = customer.since or stored.last_modified.date()
    dynamodb.update_item(
        TableName=CUSTOMERS,
        Key={"customer": {"S": customer.name}},
        UpdateExpression="SET #s = :active, since = :since",
        ExpressionAttributeNames={"#s": "state"},
        ExpressionAttributeValues={
            ":active": {"S": State.ACTIVE},
            ":since": {"S": since.isoformat()},
        },
    )
