"""Dates, upserts and related rows, with the generated package. Calls a service with the preview and prints the results."""

import datetime
import json
import os

from rowhouse import AuthenticatedClient
from rowhouse.api.rows import create_dates, create_refs, create_strings, list_dates, list_refs
from rowhouse.models import (
    DatesFound,
    DatesInsert,
    DatesUpserted,
    RefsFound,
    RefsInsert,
    RefsRow,
    StringsInsert,
    StringsRow,
)

client = AuthenticatedClient(
    base_url=os.environ["CONTRACT_URL"], token=os.environ["CONTRACT_KEY"]
)
day = datetime.date(2026, 2, 28)


def upsert(days: int) -> DatesUpserted:
    wanted = day + datetime.timedelta(days=days)
    body = [DatesInsert(single=day, wanted=wanted), DatesInsert(single=wanted, wanted=day)]
    upserted = create_dates.sync(client=client, body=body, on_conflict="single")
    assert isinstance(upserted, DatesUpserted), upserted
    return upserted


upsert(1)
again = upsert(2)
found = list_dates.sync(client=client, single="gte.2026-03-01", order="single.asc")
assert isinstance(found, DatesFound), found
days = [row.single for row in found.rows]
assert all(isinstance(single, datetime.date) for single in days), days

string = create_strings.sync(client=client, body=StringsInsert(wanted="referred to"))
assert isinstance(string, StringsRow), string
ref = create_refs.sync(client=client, body=RefsInsert(plain=string.id))
assert isinstance(ref, RefsRow), ref
related = list_refs.sync(client=client, select="id,plain(wanted)")
assert isinstance(related, RefsFound), related
[row] = related.rows

print(
    json.dumps(
        {
            "results": [result.value for result in again.results],
            "days": [single.isoformat() for single in days if isinstance(single, datetime.date)],
            "related": row.to_dict()["plain"],
        }
    )
)
