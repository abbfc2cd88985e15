/** @jsxImportSource #html @jsxRuntime automatic */
/** One failed, slow or rejected request: cause, key, fields, and a command to repeat it. @module */

import { type Html, type Part, renderCopyButton, renderMarked } from "../../pages/mod.ts";
import { isProblemCode, PROBLEMS, Problem, toSentence } from "../../problem.ts";
import { type RequestContent, type RequestView, readConsole } from "../../records/console/mod.ts";
import { inDigits } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import { FAILED_LIFE_S, REJECTED_LIFE_S } from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import { quoteForShell } from "../../std/quote_shell.ts";
import { uuidTime } from "../../std/uuid_time.ts";
import type { Visit } from "../enter.tsx";
import { toPushNumber } from "../form_page.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { showRequests, toMs } from "../numbers.tsx";
import {
  renderEmpty,
  renderFacts,
  renderLink,
  renderSnippet,
  renderText,
  renderTime,
  toApiUrl,
} from "../parts.tsx";
import { REQUESTS, toAppPath, toChangesPath, toPushPath, toRequestPath } from "../paths.ts";
import { toRequestsPath } from "../requests_filter.tsx";
import { toMinuteText } from "./axis.tsx";
import { renderSincePush } from "./changes.tsx";
import { explainRejected } from "./definition_changes.ts";
import { NO_ROUTE, renderOutcome, renderRequests, toVisiblePath } from "./requests.tsx";

// The page of a request without an entry: when the id was created, why nothing is stored, and what
// else is of that time.

const MINUTE_MS = 60_000;
/** A process adds a minute that has ended within this time. */
const ADD_MS = 5000;

/** The minute in which an id was created, with the time it was created. */
type IdMinute = { at: number; from: Date; until: Date };

/** `undefined` for an id that no process of the service creates. */
function toIdMinute(id: string): IdMinute | undefined {
  const at = uuidTime(id);
  if (at === undefined) return undefined;
  const from = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  return { at, from: new Date(from), until: new Date(from + MINUTE_MS) };
}

function renderAbsent(
  id: string,
  minute: IdMinute | undefined,
  { counted, near, now }: Pick<RequestContent, "counted" | "near"> & { now: number },
): Part {
  if (minute === undefined || minute.at > now + MINUTE_MS)
    return renderEmpty(
      <>
        <code>{id}</code> is not an id that this service creates. Enter the{" "}
        <code>x-request-id</code> of a response, or the reference of 12 characters on an error page.
      </>,
    );
  const range = {
    from: toMinuteText(minute.from.getTime()),
    to: toMinuteText(minute.until.getTime()),
  };
  return [
    <p>
      The request <code>{id}</code> began {renderTime(new Date(minute.at).toISOString(), now)}, at{" "}
      {toUtc(minute.at)}. {toReason(minute, now)}
    </p>,
    !isAdded(minute, now) && <p>{renderLink("Check again", toRequestPath(id))}</p>,
    <h2>Requests of this minute</h2>,
    <p class="quiet">
      {counted > 0
        ? `${showRequests(counted)} ${counted === 1 ? "was" : "were"} counted in this minute.`
        : "No counts of this minute are stored."}
    </p>,
    near.length === 0
      ? renderEmpty("No failed, slow or rejected request of this minute is stored.")
      : [renderRequests(near, now), <p>{renderLink("Filter", toRequestsPath(range))}</p>],
  ];
}

/** Whether its process has added the minute, unless the database was unavailable. */
function isAdded({ until }: IdMinute, now: number): boolean {
  return until.getTime() + ADD_MS < now;
}

function toReason(minute: IdMinute, now: number): string {
  if (!isAdded(minute, now))
    return `Requests are stored when their minute ends: this one at ${toUtc(minute.until.getTime())}.`;
  if (now - minute.at > REJECTED_LIFE_S * 1000)
    return `Requests are stored for ${toDurationText(REJECTED_LIFE_S)} at most, failed and slow requests for ${toDurationText(FAILED_LIFE_S)}.`;
  return "It is not stored: it succeeded within a second, failed more than a day ago, or was one of more requests than a minute stores.";
}

function toUtc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export async function handleRequest(visit: Visit): Promise<Response> {
  const { deps, context } = visit;
  const { request: id = "" } = context.params;
  if (!isUuid(id)) throw new Problem("not_found", { message: "This is not a request id" });
  const minute = toIdMinute(id);
  const { me, request, ...absent } = await readConsole(deps, "show_request", {
    wanted: id,
    from_at: minute?.from,
    until_at: minute?.until,
  });
  const crumbs = [{ name: "Requests", path: REQUESTS }];
  if (request === null)
    return respondWithConsolePage({
      ...{ me, crumbs, title: "No stored request has this id", status: 404 },
      body: renderAbsent(id, minute, { ...absent, now: deps.now() }),
    });
  const url = toApiUrl(visit);
  const isPage = deps.isPage(request.route);
  return respondWithConsolePage({
    me,
    title: `${request.method} ${toVisiblePath(request)}`,
    crumbs,
    body: [
      request.id !== id.toLowerCase() && (
        <p class="notice notice-warn">
          The request <code>{id}</code> is one of {inDigits(request.requests)} similar requests in
          the same minute. This is the first of them.
        </p>
      ),
      renderFigures(request, deps.now()),
      <section class="sheet why">
        <h2>Why</h2>
        {renderCause(request, { url, isPage })}
      </section>,
      renderKey(request, deps.now()),
      renderBefore(request, deps.now()),
      !isPage && [
        <h2>Repeat the request</h2>,
        renderSnippet({
          id: "curl",
          name: "curl",
          text: toCurl(request, { url, isRoute: deps.isRoute }),
        }),
        <p class="quiet">Values are not stored. Replace the placeholders before you send it.</p>,
      ],
    ],
  });
}

function renderFigures(request: RequestView, now: number): Html {
  const { id, app, at, ms, table } = request;
  return renderFacts("figures", [
    ["Response", renderOutcome(request)],
    ["When", renderTime(at, now)],
    ["Took", toMs(ms)],
    ["App", app === null ? "none" : <a href={toAppPath(app)}>{app}</a>],
    ["Table", table !== null && renderText(table)],
    ["Id", [<code id="request-id">{id}</code>, " ", renderCopyButton("request-id", "the id")]],
  ]);
}

/** The meaning of its code, and the fields that the response named. */
function renderCause(
  request: RequestView,
  { url, isPage }: { url: string; isPage: boolean },
): Part {
  const { code, status, ms, paths, route, table } = request;
  if (!isProblemCode(code)) return <p>{toPlainCause(status, ms)}</p>;
  // What an error code means for a program does not help a person with a browser.
  if (isPage) return <p>{toPageCause(request)}</p>;
  return [
    <p>{renderMarked(toSentence(PROBLEMS[code].when))}.</p>,
    paths.length > 0 && (
      <>
        <p>
          Invalid {isOfQuery(request) ? "query parameter" : "field"}
          {new Set(paths).size === 1 ? "" : "s"}:
        </p>
        <ul class="plain">
          {paths.map(
            (path, index) =>
              paths.indexOf(path) === index && (
                <li>
                  {renderPath(index, request)}
                  {isOfQuery(request) && paths.lastIndexOf(path) > index && ", given twice"}
                </li>
              ),
          )}
        </ul>
      </>
    ),
    paths.length === 0 && table !== null && isOfQuery(request) && (
      <p>
        The name of the parameter is not stored: it is no column of the table, and has digits or is
        long.
      </p>
    ),
    <p>
      {renderMarked(PROBLEMS[code].fix)} <a href={`${url}/docs#code-${code}`}>All about {code}</a>
    </p>,
    route === NO_ROUTE && (
      <p>
        If someone opened this path in a browser, the link is wrong: the Console and the account
        page link to all pages.
      </p>
    ),
  ];
}

/** Whether the invalid fields are parameters of the query string. */
function isOfQuery({ code }: Pick<RequestView, "code">): boolean {
  return code === "invalid_query" || code === "unsupported_query";
}

function toPageCause({ code, status }: RequestView): string {
  const cause = `A page responded with status ${status} and the code ${code}.`;
  return status === 404
    ? `${cause} Its subject does not exist: it was deleted, or the link is wrong.`
    : cause;
}

function toPlainCause(status: number, ms: number): string {
  if (status < 400) return `The request succeeded and took ${toMs(ms)}.`;
  return `The server responded with status ${status} and no error code.`;
}

/** What was expected and found in the field, and the push since which. A pointer with a position names the row of a batch, from 0. */
function renderPath(index: number, { code, table, pushes, ...request }: RequestView): Html {
  const [path = "", found] = [request.paths[index], request.found[index]];
  const [, position, column = path] = /^\/(?:(\d+)\/)?([^/]+)$/.exec(path) ?? [];
  const row = position === undefined ? "" : ` of row ${Number(position) + 1} of the batch`;
  const [last] = pushes;
  const isOfValue = code === "validation_failed" && table !== null;
  const value = isOfValue && last && explainRejected(last, { table, field: column, found });
  const since = renderSincePush(pushes, { table, field: column });
  return (
    <>
      <code>{renderText(column)}</code>
      {row}
      {value && [
        ": expected ",
        renderText(value.expected),
        value.found && `, found ${value.found}`,
      ]}
      {since && [". Rejected", since]}
    </>
  );
}

function renderKey({ keyId, key, app }: RequestView, now: number): Part {
  if (keyId === null) return undefined;
  const name = key === null || key.name === "" ? "" : ` (${key.name.slice(0, 60)})`;
  return (
    <section class="sheet why">
      <h2>Key</h2>
      <p>
        <code>{keyId}</code>
        {name}
        {key !== null && [" of ", <a href={toAppPath(key.app)}>{key.app}</a>]}:{" "}
        {renderKeyState(key, now)}
      </p>
      <p>{renderLink("Requests of this key", toRequestsPath({ key: keyId, app: app ?? "" }))}</p>
    </section>
  );
}

function renderKeyState(key: RequestView["key"], now: number): Part {
  if (key === null) return "the key no longer exists.";
  const { revokedAt, expiresAt, scopes } = key;
  if (revokedAt !== null) return ["revoked ", renderTime(revokedAt, now), "."];
  if (expiresAt !== null && new Date(expiresAt).getTime() <= now)
    return ["expired ", renderTime(expiresAt, now), "."];
  return `valid, with ${scopes.length === 0 ? "no scopes" : `the ${scopes.length === 1 ? "scope" : "scopes"} ${scopes.join(", ")}`}.`;
}

const HALF_HOUR_MS = 1_800_000;

/** Earlier changes, and other requests with the same result. */
function renderBefore({ at, app, code, table, pushes }: RequestView, now: number): Html {
  const [lastPush] = pushes;
  const ms = new Date(at).getTime();
  // What came later is no cause.
  const span = { from: toMinuteText(ms - HALF_HOUR_MS), to: toMinuteText(ms + MINUTE_MS) };
  return (
    <section class="sheet why">
      <h2>Around this time</h2>
      {lastPush !== undefined && app !== null && (
        <p>
          The last push before it:{" "}
          <a href={toPushPath(app, lastPush.seq)}>{toPushNumber(lastPush.seq)}</a>,{" "}
          {renderTime(lastPush.at, now)}.
        </p>
      )}
      <p>
        {renderLink("What changed", toChangesPath({ app: app ?? "", ...span }))}{" "}
        {code !== null &&
          renderLink(
            "Similar requests",
            toRequestsPath({ app: app ?? "", code, table: table ?? "" }),
          )}
      </p>
    </section>
  );
}

/** A command to paste, with placeholders for values that are not stored. A process can have stored any texts that the table accepts. */
function toCurl(
  { method, route, table, paths, code }: RequestView,
  { url, isRoute }: { url: string; isRoute: Visit["deps"]["isRoute"] },
): string {
  const path = isRoute(route) ? route.replace(":table", table ?? "{table}") : "/{path}";
  const parameters = isOfQuery({ code }) ? paths.map((name) => name.slice(1)) : [];
  const query = parameters.map((name) => `${name}={${name}}`).join("&");
  const target =
    path.replaceAll(/:(\w+)/g, (_, name: string) => `{${name}}`) +
    (query === "" ? "" : `?${query}`);
  const hasBody = ["POST", "PATCH", "PUT"].includes(method);
  const lines = [
    `curl -sS${method === "GET" ? "" : ` -X ${quoteForShell(method)}`} ${quoteForShell(`${url}${target}`)}`,
    path.startsWith("/v1/auth/") ? "" : `-H "Authorization: Bearer $ROWHOUSE_API_KEY"`,
    hasBody ? "-H 'Content-Type: application/json'" : "",
    hasBody ? `-d ${quoteForShell(toBody(isOfQuery({ code }) ? [] : paths))}` : "",
  ];
  return lines.filter((line) => line !== "").join(" \\\n  ");
}

/** A body with the invalid columns; for a batch, of one row. */
function toBody(paths: readonly string[]): string {
  const columns = new Set(paths.map((path) => path.replace(/^\/(\d+\/)?/, "")));
  const fields = [...columns].map((column) => `${JSON.stringify(column)}: "{${column}}"`);
  const row = `{${fields.length === 0 ? "…" : [...fields, "…"].join(", ")}}`;
  return paths.some((path) => /^\/\d+\//.test(path)) ? `[${row}]` : row;
}
