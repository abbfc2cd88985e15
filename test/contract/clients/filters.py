"""A list with conditions by the generated package: run against a service with the preview, it prints what it saw."""

import json
import os

from rowhouse import AuthenticatedClient
from rowhouse.api.rows import create_strings, list_strings
from rowhouse.models import StringsFound, StringsInsert, StringsRows

client = AuthenticatedClient(
    base_url=os.environ["CONTRACT_URL"], token=os.environ["CONTRACT_KEY"]
)

words = ("first", "second", "third", "fourth")
made = create_strings.sync(
    client=client, body=[StringsInsert(wanted=word) for word in words]
)
assert isinstance(made, StringsRows), made
one = list_strings.sync(client=client, wanted="like.*ir*", limit=1)
assert isinstance(one, StringsFound), one
found = list_strings.sync(
    client=client, wanted="in.(second,third,first)", order="wanted.desc", limit=2
)
assert isinstance(found, StringsFound), found

print(
    json.dumps(
        {
            "listed": [row.wanted for row in found.rows],
            "hasNext": isinstance(found.next_, str),
            "one": [row.wanted for row in one.rows],
        }
    )
)
