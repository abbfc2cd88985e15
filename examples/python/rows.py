"""Creates, changes, lists and deletes a row."""

from db import DataError, call

todo = call("POST", "/todos", json={"title": "Water the plants"})
call("PATCH", f"/todos/{todo['id']}", json={"status": "done"})
for row in call("GET", "/todos", params={"limit": 20})["rows"]:
    print(row["title"], row["status"])
try:
    call("POST", "/todos", json={"title": 7})
except DataError as error:
    print(error.code, error.details)
call("DELETE", f"/todos/{todo['id']}")
