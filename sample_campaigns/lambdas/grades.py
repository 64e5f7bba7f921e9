"""Computes the averages of a class from a sheet of grades, and keeps them with a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from lambdas.events import Record, records
from lambdas.storage import Item, StoredObject, fetch, get_item, number, put_item

AVERAGES = "averages"
HIGHEST = Decimal(100)
LETTERS = [(Decimal(90), "A"), (Decimal(80), "B"), (Decimal(70), "C"), (Decimal(60), "D")]
EXCUSED = {"", "-", "excused", "n/a"}
WEIGHTS = {"final": Decimal(3), "midterm": Decimal(2), "quiz": Decimal("0.5")}


class BadSheet(Exception):
    """The file is no sheet of grades."""


@dataclass(frozen=True)
class Grade:
    student: str
    exam: str
    points: Decimal

    @property
    def weight(self) -> Decimal:
        return WEIGHTS.get(self.exam.lower(), Decimal(1))


@dataclass
class Student:
    name: str
    grades: list[Grade] = field(default_factory=list)
    excused: int = 0

    def average(self) -> Decimal | None:
        """Weighted; the worst of three or more is dropped. None if there are no grades."""
        kept = sorted(self.grades, key=lambda grade: grade.points)
        if len(kept) >= 3:
            kept = kept[1:]
        if not kept:
            return None
        total = sum((g.weight for g in kept), Decimal(0))
        points = sum((g.points * g.weight for g in kept), Decimal(0))
        return (points / total).quantize(Decimal("0.1"), ROUND_HALF_UP)


def handler(event: dict[str, object], context: object) -> dict[str, str]:
    """The class's grade by key of the sheet."""
    report = {}
    for record in records(event):
        if record.created and record.size > 0:
            report[record.key] = grade(record)
    return report


def grade(record: Record) -> str:
    stored = fetch(record.bucket, record.key)
    if stored is None:
        return "gone"
    if stored.content_type != "text/csv" and stored.suffix != "csv":
        return "no sheet"
    students = by_student(stored)
    averages = []
    for student in students.values():
        average = student.average()
        if average is None:
            continue
        averages.append(average)
        keep(stored, student, average)
    if not averages:
        return "empty"
    mean = sum(averages, Decimal(0)) / len(averages)
    failed = sum(1 for average in averages if letter(average) == "F")
    if failed * 2 > len(averages):
        return f"{letter(mean)}, to be reviewed"
    return letter(mean)


def by_student(stored: StoredObject) -> dict[str, Student]:
    students: dict[str, Student] = {}
    for row in rows(stored):
        name, exam, points = row[0].strip(), row[1].strip(), row[2].strip().lower()
        if not name:
            continue
        student = students.setdefault(name, Student(name))
        if points in EXCUSED:
            student.excused += 1
        else:
            student.grades.append(Grade(name, exam, parsed(points)))
    return students


def rows(stored: StoredObject) -> Iterator[list[str]]:
    """Those with a student, an exam and points; not the head, and not what was left blank."""
    try:
        table = stored.body.decode()
    except UnicodeDecodeError as e:
        raise BadSheet(f"{stored.key}: {e}") from e
    for at, row in enumerate(csv.reader(io.StringIO(table))):
        if not row or (at == 0 and not any(cell[:1].isdigit() for cell in row)):
            continue
        if len(row) < 3:
            raise BadSheet(f"{stored.key}: row {at + 1} has {len(row)} columns")
        yield row


def parsed(points: str) -> Decimal:
    is_share = points.endswith("%")
    try:
        value = Decimal(points.rstrip("%"))
    except InvalidOperation:
        raise BadSheet(f"{points!r} are no points") from None
    if is_share and value <= 1:
        value *= 100
    if not 0 <= value <= HIGHEST:
        raise BadSheet(f"{points} points")
    return value


def letter(average: Decimal) -> str:
    for least, name in LETTERS:
        if average >= least:
            return name
    return "F"


def keep(stored: StoredObject, student: Student, average: Decimal) -> None:
    key = {"student": student.name, "sheet": stored.name}
    before = get_item(AVERAGES, key)
    was = None if before is None else number(before, "average")
    if was == average:
        return
    item = Item({name: {"S": value} for name, value in key.items()})
    item["average"] = {"N": str(average)}
    item["letter"] = {"S": letter(average)}
    item["grades"] = {"N": str(len(student.grades))}
    if student.excused:
        item["excused"] = {"N": str(student.excused)}
    if was is not None:
        item["trend"] = {"S": "up" if average > was else "down"}
    put_item(AVERAGES, item)
