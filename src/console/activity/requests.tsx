/** @jsxImportSource #html @jsxRuntime automatic */
/** Failed, slow and rejected requests: the latest ones that match a filter. An id opens the request. @module */

import { type Html, type Part, redirect } from "../../pages/mod.ts";
import { isFailure } from "../../problem.ts";
import { readConsole, type StoredRequest } from "../../records/console/mod.ts";
import { inDigits } from "../../std/count.ts";
import { toDurationText } from "../../std/duration.ts";
import {
  FAILED_LIFE_S,
  MAX_FAILED_A_MINUTE,
  MAX_REJECTED_OF_APP,
  REJECTED_LIFE_S,
  SLOW_MS,
} from "../../std/limits.ts";
import { isUuid } from "../../std/patterns.ts";
import type { Visit } from "../enter.tsx";
import { respondWithConsolePage } from "../frame.tsx";
import { toMs } from "../numbers.tsx";
import {
  numeric,
  renderEmpty,
  renderLink,
  renderPill,
  renderTable,
  renderText,
  renderTime,
} from "../parts.tsx";
import { toAppPath, toRequestPath } from "../paths.ts";
import {
  isReference,
  readRequestsQuery,
  renderRequestsFilter,
  type TypedRequests,
  toRequestFilter,
  toRequestsPath,
} from "../requests_filter.tsx";

const PAGE_ROWS = 100;
const RETENTION = `Failed and slow requests (over ${SLOW_MS / 1000} s) are stored for ${toDurationText(FAILED_LIFE_S)}, max ${MAX_FAILED_A_MINUTE} per minute and process. Rejected requests are stored for ${toDurationText(REJECTED_LIFE_S)}, max ${inDigits(MAX_REJECTED_OF_APP)} per app: the newest of each error and key. Requests appear about a minute after their response.`;

export async function handleRequests({ deps, context }: Visit): Promise<Response> {
  const typed = readRequestsQuery(context.query);
  // The page of an id also explains why nothing is stored.
  if (isUuid(typed.id)) return redirect(toRequestPath(typed.id));
  const isFindable = typed.id === "" || isReference(typed.id);
  const { me, requests } = await readConsole(deps, "list_requests", {
    ...toRequestFilter(typed),
    max_rows: isFindable ? PAGE_ROWS + 1 : 0,
  });
  const [first] = requests;
  if (typed.id !== "" && first !== undefined && requests.length === 1)
    return redirect(toRequestPath(first.id));
  return respondWithConsolePage({
    me,
    title: "Requests",
    body: [
      renderRequestsFilter(typed),
      requests.length === 0
        ? renderEmpty(toAbsence(typed, isFindable))
        : renderRequests(requests.slice(0, PAGE_ROWS), deps.now()),
      renderOlder(typed, requests),
      <p class="quiet">{RETENTION}</p>,
    ],
  });
}

function toAbsence({ id, ...filter }: TypedRequests, isFindable: boolean): string {
  if (id === "")
    return Object.values(filter).every((value) => value === "")
      ? "No failed, slow or rejected requests."
      : "No matching requests.";
  if (!isFindable)
    return "This is not a request id. Enter the x-request-id of its response, or the reference of 12 characters on the error page.";
  return "No stored request has this reference. It succeeded within a second, has expired, is less than a minute old, or was one of many requests. Enter the whole x-request-id of the response to see its time.";
}

function renderOlder(typed: TypedRequests, requests: readonly StoredRequest[]): Part {
  const last = requests[PAGE_ROWS - 1];
  if (requests.length <= PAGE_ROWS || last === undefined) return undefined;
  return <p>{renderLink("Older", toRequestsPath({ ...typed, to: last.at }))}</p>;
}

export function renderRequests(requests: readonly StoredRequest[], now: number): Html {
  return renderTable(
    "Requests",
    ["When", "App", "Request", "Response", "Fields and key", numeric("Took")],
    requests.map((request): Part[] => [
      renderTime(request.at, now),
      request.app === null ? (
        <span class="quiet">none</span>
      ) : (
        <span>
          <a href={toAppPath(request.app)}>{request.app}</a>
          {request.isOfConsole && <> {renderPill("Console")}</>}
        </span>
      ),
      <span>
        <a href={toRequestPath(request.id)} data-row-link>
          <code>
            <b>{request.method}</b> {renderText(toVisiblePath(request))}
          </code>
        </a>
        <span class="row-detail">
          <code class="request-id">{request.id}</code>
        </span>
      </span>,
      renderOutcome(request),
      <span>
        {request.paths.length > 0 && renderPaths(request.paths)}
        {request.keyId !== null && (
          <span class="row-detail">
            <code>{request.keyId}</code>
          </span>
        )}
      </span>,
      request.ms > SLOW_MS ? <b>{toMs(request.ms)}</b> : toMs(request.ms),
    ]),
  );
}

export function renderOutcome({ status, code, requests }: StoredRequest): Html {
  return (
    <span class="outcome">
      {renderPill(String(status), isFailure({ status, code }) ? "bad" : "plain")}
      {code !== null && [" ", <code class="action-name">{code}</code>]}
      {requests > 1 && [
        " ",
        <span class="quiet" title="This request and similar requests in the same minute">
          × {inDigits(requests)}
        </span>,
      ]}
    </span>
  );
}

/** The route of a path that no endpoint and no page has. */
export const NO_ROUTE = "none";

/** The route with the table, if the app has declared it. Paths without a route are not stored. */
export function toVisiblePath({ route, table }: Pick<StoredRequest, "route" | "table">): string {
  if (route === NO_ROUTE) return "unknown path";
  return table === null ? route : route.replace(":table", table);
}

const MAX_PATHS = 3;

function renderPaths(stored: readonly string[]): Html {
  const paths = [...new Set(stored)];
  const more = paths.length - MAX_PATHS;
  return (
    <>
      <code>{renderText(paths.slice(0, MAX_PATHS).join(" "))}</code>
      {more > 0 && [" ", <span class="quiet">and {more} more</span>]}
    </>
  );
}
