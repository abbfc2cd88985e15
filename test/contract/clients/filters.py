"""Lists with conditions, with the generated package. Calls a service with the preview and prints the results."""

import json
import os

from rowhouse import AuthenticatedClient
from rowhouse.api.rows import create_strings, list_strings
from rowhouse.models import StringsFound, StringsInsert, StringsRows

client = AuthenticatedClient(
    base_url=os.environ["CONTRACT_URL"], token=os.environ["CONTRACT_KEY"]
)

titles = ("first", "second", "third", "fourth")
created = create_strings.sync(
    client=client, body=[StringsInsert(wanted=title) for title in titles]
)
assert isinstance(created, StringsRows), created
first_page = list_strings.sync(client=client, wanted="like.*ir*", limit=1)
assert isinstance(first_page, StringsFound), first_page
found = list_strings.sync(
    client=client, wanted="in.(second,third,first)", order="wanted.desc", limit=2
)
assert isinstance(found, StringsFound), found

print(
    json.dumps(
        {
            "listed": [row.wanted for row in found.rows],
            "hasNext": isinstance(found.next_, str),
            "one": [row.wanted for row in first_page.rows],
        }
    )
)
