"""Writes of many rows, with the generated package. Calls a service with the preview and prints the results."""

import json
import os
import uuid

from rowhouse import AuthenticatedClient
from rowhouse.api.rows import (
    create_refs,
    create_strings,
    delete_many_refs,
    delete_many_strings,
    list_refs,
    update_many_strings,
)
from rowhouse.models import (
    CreateStringsExisting,
    DeleteManyRefsResponse200,
    DeleteManyStringsResponse200,
    Error,
    RefsFound,
    RefsInsert,
    RefsRows,
    StringsInsert,
    StringsRow,
    StringsRows,
    StringsUpdate,
    StringsUpdatesItem,
    StringsUpserted,
    UpdateManyStringsResponse200Type1,
)
from rowhouse.types import Unset

client = AuthenticatedClient(
    base_url=os.environ["CONTRACT_URL"], token=os.environ["CONTRACT_KEY"]
)


def upsert(values: dict[str, str]) -> StringsUpserted:
    body = [StringsInsert(single=single, wanted=wanted) for single, wanted in values.items()]
    upserted = create_strings.sync(client=client, body=body, on_conflict="single")
    assert isinstance(upserted, StringsUpserted), upserted
    return upserted


upsert({"a": "1", "b": "2"})
again = upsert({"a": "1", "b": "3", "c": "4"})
ignored = create_strings.sync(
    client=client,
    body=StringsInsert(single="a", wanted="never"),
    on_conflict="single",
    existing=CreateStringsExisting.IGNORE,
)
assert isinstance(ignored, StringsRow), ignored
wrong = create_strings.sync(client=client, body=StringsInsert(wanted="x"), on_conflict="wanted")
assert isinstance(wrong, Error), wrong

a, b = again.rows[0].id, again.rows[1].id
stale = update_many_strings.sync(
    client=client,
    body=[
        StringsUpdatesItem(id=a, wanted="never"),
        StringsUpdatesItem(id=b, wanted="never", if_match='"old"'),
    ],
)
assert isinstance(stale, Error), stale
updated = update_many_strings.sync(
    client=client,
    body=[StringsUpdatesItem(id=b, wanted="6"), StringsUpdatesItem(id=a, wanted="5")],
)
assert isinstance(updated, StringsRows), updated

later = StringsUpdate(usual="later")
dry = update_many_strings.sync(client=client, body=later, wanted="in.(5,6)", dry_run=True)
assert isinstance(dry, UpdateManyStringsResponse200Type1), dry
assert not isinstance(dry.ids, Unset), dry
changed = update_many_strings.sync(client=client, body=later, wanted="in.(5,6)", limit=1)
assert isinstance(changed, UpdateManyStringsResponse200Type1), changed

refs = create_refs.sync(client=client, body=[RefsInsert(plain=a), RefsInsert(plain=b)])
assert isinstance(refs, RefsRows), refs
listed = list_refs.sync(client=client, plain_single="eq.a")
assert isinstance(listed, RefsFound), listed
deleted = delete_many_refs.sync(client=client, plain_single="eq.a")
assert isinstance(deleted, DeleteManyRefsResponse200), deleted

key = str(uuid.uuid4())
counts = []
for _ in range(2):
    once = delete_many_strings.sync(client=client, single="eq.c", idempotency_key=key)
    assert isinstance(once, DeleteManyStringsResponse200), once
    counts.append(once.count)
unconditional = delete_many_strings.sync(client=client)
assert isinstance(unconditional, Error), unconditional

print(
    json.dumps(
        {
            "results": [result.value for result in again.results],
            "ignored": ignored.wanted,
            "wrong": wrong.error.value,
            "stale": stale.error.value,
            "updated": [row.wanted for row in updated.rows],
            "dry": [dry.count, len(dry.ids)],
            "changed": [changed.count, changed.has_more],
            "listed": len(listed.rows),
            "deleted": deleted.count,
            "once": counts,
            "unconditional": unconditional.error.value,
        }
    )
)
