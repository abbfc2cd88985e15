"""A web app with sign-in: the cookies of a request are passed on to Rowhouse, which returns the person with the role."""

import html
import os
from typing import Annotated
from urllib.parse import urlencode

import httpx
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from db import DataError, call

ORIGIN = os.environ["ORIGIN"]
APP = os.environ["APP_SLUG"]
identity = httpx.Client(base_url=os.environ["ROWHOUSE_URL"], timeout=5)
app = FastAPI(docs_url=None)


def read_user(request: Request) -> dict:
    """The person with a role on this app."""
    if request.method not in ("GET", "HEAD") and request.headers.get("origin") != ORIGIN:
        raise HTTPException(403, "The request is from a page of another app")
    headers = {"Cookie": request.headers.get("cookie", "")}
    try:
        response = identity.get("/v1/auth/me", params={"app": APP}, headers=headers)
    except httpx.HTTPError:
        raise HTTPException(503, "The service is unavailable")
    if response.status_code == 200:
        return response.json()
    if response.status_code == 401:
        raise HTTPException(401, "You are not signed in")
    if response.status_code == 403:
        raise HTTPException(403, "You have no access to this app")
    raise HTTPException(503, "The service is unavailable")


User = Annotated[dict, Depends(read_user)]


@app.exception_handler(DataError)
def show_error(_request: Request, error: DataError) -> JSONResponse:
    if error.status in (400, 404, 409, 412, 413, 422):
        return JSONResponse({"detail": str(error), "details": error.details}, error.status)
    print(error)
    return JSONResponse({"detail": "The service is unavailable"}, 503)


@app.get("/")
def show_page(request: Request):
    try:
        user = read_user(request)
    except HTTPException as rejected:
        if rejected.status_code != 401:
            raise
        query = urlencode({"app": APP, "redirect_uri": ORIGIN + "/"})
        return RedirectResponse(f"{os.environ['IDENTITY_URL']}/authorize?{query}")
    rows = call("GET", "/todos", params={"limit": 20})["rows"]
    items = "".join(f"<li>{html.escape(row['title'])}</li>" for row in rows)
    return HTMLResponse(f"<p>Signed in as {html.escape(user['role'])}</p><ul>{items}</ul>")


@app.get("/api/todos")
def list_todos(_user: User, offset: int = 0):
    return call("GET", "/todos", params={"limit": 20, "offset": offset})


@app.post("/api/todos", status_code=201)
def create_todo(user: User, values: dict):
    if user["role"] not in ("editor", "admin"):
        raise HTTPException(403, "Only editors can write")
    return call("POST", "/todos", json=values)
