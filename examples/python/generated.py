"""The package that openapi-python-client generates from the description of the app's tables."""

import os
from datetime import datetime, timezone
from decimal import Decimal

from rowhouse import AuthenticatedClient
from rowhouse.api.rows import create_todos, list_todos
from rowhouse.models import Error, TodosInsert, TodosPage, TodosRow
from rowhouse.types import Unset

client = AuthenticatedClient(
    base_url=os.environ["ROWHOUSE_URL"], token=os.environ["ROWHOUSE_API_KEY"]
)

# A timestamp is a datetime, and a decimal is a string.
values = TodosInsert(
    title="Mow the lawn",
    estimate_hours="0.75",
    noted_at=datetime(2026, 3, 4, 8, 0, tzinfo=timezone.utc),
)
created = create_todos.sync(client=client, body=values)
if isinstance(created, TodosRow) and isinstance(created.estimate_hours, str):
    print(created.noted_at.isoformat(), Decimal(created.estimate_hours) * 2)

page = list_todos.sync(client=client, limit=2)
if isinstance(page, TodosPage):
    print([(row.title, row.status.value) for row in page.rows])

rejected = create_todos.sync(client=client, body=TodosInsert(title="\0"))
if isinstance(rejected, Error) and not isinstance(rejected.details, Unset):
    print(rejected.error.value, [issue.path for issue in rejected.details])
