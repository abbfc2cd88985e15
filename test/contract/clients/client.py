"""An app with the generated package. Calls a service and prints the results."""

import datetime
import json
import os
import uuid

from rowhouse import AuthenticatedClient
from rowhouse.api.identity import get_me
from rowhouse.api.rows import (
    create_booleans,
    create_dates,
    create_decimals,
    create_enums,
    create_integers,
    create_jsons,
    create_numbers,
    create_refs,
    create_strings,
    create_timestamps,
    create_uuids,
    delete_refs,
    get_strings,
    list_strings,
    update_strings,
)
from rowhouse.models import (
    BooleansInsert,
    DatesInsert,
    DatesRow,
    DecimalsInsert,
    DecimalsRow,
    EnumsInsert,
    EnumsInsertWanted,
    EnumsRow,
    Error,
    GetMeResponse200,
    IntegersInsert,
    IntegersRow,
    JsonsInsert,
    JsonsRow,
    NumbersInsert,
    RefsInsert,
    RefsRow,
    StringsInsert,
    StringsPage,
    StringsRow,
    StringsRows,
    StringsUpdate,
    TimestampsInsert,
    TimestampsRow,
    UuidsInsert,
)
from rowhouse.types import Unset

url = os.environ["CONTRACT_URL"]
client = AuthenticatedClient(base_url=url, token=os.environ["CONTRACT_KEY"])

enums = create_enums.sync(client=client, body=EnumsInsert(wanted=EnumsInsertWanted.GREEN))
assert isinstance(enums, EnumsRow), enums
decimals = create_decimals.sync(client=client, body=DecimalsInsert(wanted="0.10"))
assert isinstance(decimals, DecimalsRow), decimals
nested = JsonsInsert(wanted={"nested": [1, "two", None]})
jsons = create_jsons.sync(client=client, body=nested)
assert isinstance(jsons, JsonsRow), jsons
moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
for status in (
    create_numbers.sync_detailed(client=client, body=NumbersInsert(wanted=1.5)).status_code,
    create_booleans.sync_detailed(client=client, body=BooleansInsert(wanted=False)).status_code,
    create_uuids.sync_detailed(client=client, body=UuidsInsert(wanted=uuid.uuid4())).status_code,
):
    assert status == 201, status

integers = create_integers.sync(client=client, body=IntegersInsert(wanted=-9007199254740991))
assert isinstance(integers, IntegersRow), integers
dates = create_dates.sync(client=client, body=DatesInsert(wanted=datetime.date(1, 1, 1)))
assert isinstance(dates, DatesRow) and isinstance(dates.wanted, datetime.date), dates
timestamps = create_timestamps.sync(client=client, body=TimestampsInsert(wanted=moment))
assert isinstance(timestamps, TimestampsRow), timestamps

row = create_strings.sync(client=client, body=StringsInsert(wanted="first"))
assert isinstance(row, StringsRow), row
ref = create_refs.sync(client=client, body=RefsInsert(plain=row.id))
assert isinstance(ref, RefsRow), ref

got = get_strings.sync_detailed(row.id, client=client)
assert isinstance(got.parsed, StringsRow), got
etag = got.headers["etag"]
page = list_strings.sync(client=client, limit=10)
assert isinstance(page, StringsPage), page
second = StringsUpdate(wanted="second")
changed = update_strings.sync(row.id, client=client, body=second, if_match=etag)
assert isinstance(changed, StringsRow), changed
stale = update_strings.sync(row.id, client=client, body=second, if_match=etag)
assert isinstance(stale, Error), stale

batch = create_strings.sync(
    client=client,
    body=[StringsInsert(wanted="third"), StringsInsert(wanted="fourth")],
    idempotency_key=str(uuid.uuid4()),
)
assert isinstance(batch, StringsRows), batch
rejected = create_strings.sync(client=client, body=StringsInsert(wanted="\0"))
assert isinstance(rejected, Error), rejected
assert not isinstance(rejected.details, Unset), rejected
missing = delete_refs.sync(row.id, client=client)
assert isinstance(missing, Error), missing
deleted = delete_refs.sync_detailed(ref.id, client=client)
name, _, session = os.environ["CONTRACT_COOKIE"].partition("=")
browser = client.with_cookies({name: session})
person = get_me.sync(client=browser, app=os.environ["CONTRACT_APP"])
assert isinstance(person, GetMeResponse200), person

print(
    json.dumps(
        {
            "created": {
                "enum": enums.wanted.value,
                "decimal": decimals.wanted,
                "integer": integers.wanted,
                "date": dates.wanted.isoformat(),
                "timestamp": timestamps.wanted.isoformat(),
                "json": jsons.wanted,
            },
            "read": got.parsed.wanted,
            "listed": [item.wanted for item in page.rows],
            "changed": changed.wanted,
            "stale": stale.error.value,
            "batch": [item.wanted for item in batch.rows],
            "rejected": {
                "error": rejected.error.value,
                "paths": [issue.path for issue in rejected.details],
            },
            "deleted": deleted.status_code,
            "missing": missing.error.value,
            "person": {"role": person.role},
        }
    )
)
