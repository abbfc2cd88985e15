"""A client of a few lines. One for each process: it reuses connections."""

import os
import time
import uuid

import httpx

db = httpx.Client(
    base_url=os.environ["ROWHOUSE_URL"] + "/v1/data/db",
    headers={"Authorization": "Bearer " + os.environ["ROWHOUSE_API_KEY"]},
    timeout=40,
)


class DataError(Exception):
    def __init__(self, status: int, body: dict) -> None:
        super().__init__(f"{status} {body['error']}: {body['message']}")
        self.status, self.code = status, body["error"]
        self.details = body.get("details", [])


def call(method: str, path: str, **options):
    # With the same key, a write that is sent again is executed once.
    headers = {"Idempotency-Key": str(uuid.uuid4())} if method in ("POST", "PATCH") else {}
    for attempt in range(5):
        try:
            response = db.request(method, path, headers=headers, **options)
        except httpx.ConnectError:  # the service starts again
            if attempt == 4:
                raise
            time.sleep(2**attempt)
            continue
        if response.status_code not in (429, 503):
            break
        if attempt < 4:
            time.sleep(float(response.headers.get("Retry-After", 1)))
    if response.is_error:
        raise DataError(response.status_code, response.json())
    return response.json() if response.content else None


def list_all(path: str, **conditions: str) -> list[dict]:
    rows: list[dict] = []
    position: dict = {"offset": 0}
    while True:
        page = call("GET", path, params={"limit": 1000, **conditions, **position})
        rows += page["rows"]
        if not page["hasMore"]:
            return rows
        # A page of large rows ends early, although rows follow: only the cursor continues.
        after = page.get("next")
        position = {"offset": len(rows)} if after is None else {"after": after}
