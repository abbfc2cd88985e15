"""Rules that a document cannot express: idempotency keys are new, references name existing rows, numbers are doubles."""

import os
import re
import uuid

import schemathesis
from hypothesis import strategies as st

REFERRED = {"plain": os.environ["CONTRACT_STRING_ID"], "parent": os.environ["CONTRACT_REF_ID"]}
IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}")
UUID = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
LARGEST_EXACT = 2**53

TAG = st.from_regex(r'(W/)?"[!#-~]{0,40}"', fullmatch=True)
TAGS = st.lists(TAG, min_size=1, max_size=3).map(", ".join)
# A random tag matches no state, so most of the writes use "*".
schemathesis.openapi.format("entity-tags", st.one_of(st.just("*"), st.just("*"), TAGS))


@schemathesis.hook
def before_call(context, case, kwargs):
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and IDEMPOTENCY_KEY.fullmatch(key):
        case.headers["Idempotency-Key"] = make_key(len(key))
    if case.path.startswith("/v1/data/db/refs"):
        keep_parent(case)
        case.body = map_rows(point, case.body)
    if case.method == "PATCH" and isinstance(case.body, list):
        name_each_once(case.body)
    case.body = to_doubles(case.body)


def name_each_once(rows):
    """A list of updates names each row once. Invalid ids remain."""
    seen = set()
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("id"), str) or not UUID.fullmatch(row["id"]):
            continue
        if row["id"].lower() in seen:
            row["id"] = str(uuid.uuid4())
        seen.add(row["id"].lower())


def make_key(length):
    """Return an unused key with the length of the generated key, but long enough to be unique."""
    fresh = uuid.uuid4().hex
    return fresh if length < len(fresh) else fresh.ljust(length, "~")


def keep_parent(case):
    """Do not delete the row that all other rows reference."""
    if case.method == "DELETE" and case.path_parameters.get("id") == REFERRED["parent"]:
        case.path_parameters["id"] = str(uuid.uuid4())


def map_rows(change, body):
    if isinstance(body, list):
        return [map_rows(change, row) for row in body]
    if isinstance(body, dict):
        return {name: change(name, value) for name, value in body.items()}
    return body


def point(name, value):
    is_id = isinstance(value, str) and UUID.fullmatch(value)
    return REFERRED[name] if is_id and name in REFERRED else value


def to_doubles(value):
    """Convert large integers to doubles, because JSON Schema has integers of any length."""
    if isinstance(value, int) and abs(value) > LARGEST_EXACT and abs(value) < 10**300:
        return float(value)
    if isinstance(value, list):
        return [to_doubles(item) for item in value]
    if isinstance(value, dict):
        return {name: to_doubles(item) for name, item in value.items()}
    return value
