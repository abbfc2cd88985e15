/** @jsxImportSource #html @jsxRuntime automatic */
/** The page of a request without an entry: when the id was created, why nothing is stored, and what else is of that time. @module */
import type { RequestContent } from "../accounts/console/mod.ts";
import type { Part } from "../pages/mod.ts";
import { toDurationText } from "../std/duration.ts";
import { FAILED_LIFE_S, REJECTED_LIFE_S } from "../std/limits.ts";
import { uuidTime } from "../std/uuid_time.ts";
import { toMinuteText } from "./axis.tsx";
import { toCount } from "./numbers.tsx";
import { renderEmpty, renderLink, renderTime } from "./parts.tsx";
import { toRequestPath } from "./paths.ts";
import { renderRequests } from "./requests.tsx";
import { toRequestsPath } from "./requests_filter.tsx";

const MINUTE_MS = 60_000;
/** A process adds a minute that has ended within this time. */
const ADD_MS = 5000;

/** The minute in which an id was created, with the time it was created. */
export type IdMinute = { at: number; from: Date; until: Date };

/** `undefined` for an id that no process of the service creates. */
export function toIdMinute(id: string): IdMinute | undefined {
  const at = uuidTime(id);
  if (at === undefined) return undefined;
  const from = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  return { at, from: new Date(from), until: new Date(from + MINUTE_MS) };
}

export function renderAbsent(
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
        ? `${toCount(counted)} requests were counted in this minute.`
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
