"""Copies the tasks of another system into two tables. It compares before it writes: a second run changes nothing, and
completes one that stopped in the middle."""

import csv
import json
import sys
from datetime import datetime
from decimal import Decimal

from db import DataError, call, list_all

MAX_ROWS = 1000
MAX_BYTES = 100_000


def create(path: str, rows: list[dict]) -> list[dict]:
    lists: list[list[dict]] = [[]]
    size = 0
    for row in rows:
        size += len(json.dumps(row)) + 2
        if len(lists[-1]) == MAX_ROWS or (lists[-1] and size > MAX_BYTES):
            lists.append([])
            size = len(json.dumps(row)) + 2
        lists[-1].append(row)
    return [row for part in lists if part for row in call("POST", path, json=part)["rows"]]


def is_same(row: dict, task: dict) -> bool:
    stored = row["estimate_hours"]
    return (
        stored is not None
        and Decimal(stored) == Decimal(task["hours"])
        and datetime.fromisoformat(row["noted_at"]) == datetime.fromisoformat(task["noted"])
    )


def sync(tasks: list[dict]) -> str:
    projects = {row["name"]: row["id"] for row in list_all("/projects")}
    new = sorted({task["project"] for task in tasks} - projects.keys())
    projects |= {row["name"]: row["id"] for row in create("/projects", [{"name": name} for name in new])}

    stored = {(row["project"], row["title"]): row for row in list_all("/todos")}
    missing: list[dict] = []
    changed = 0
    for task in tasks:
        project = projects[task["project"]]
        values = {"estimate_hours": task["hours"], "noted_at": task["noted"]}
        row = stored.get((project, task["title"]))
        if row is None:
            missing.append({"project": project, "title": task["title"], **values})
        elif not is_same(row, task):
            call("PATCH", f"/todos/{row['id']}", json=values)
            changed += 1
    create("/todos", missing)
    return f"{len(new)} projects and {len(missing)} todos created, {changed} todos changed"


with open(sys.argv[1], encoding="utf-8-sig", newline="") as file:
    tasks = list(csv.DictReader(file))
try:
    print(sync(tasks))
except DataError as error:
    sys.exit(f"{error} {error.details}")
