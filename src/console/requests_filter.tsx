/** @jsxImportSource #html @jsxRuntime automatic */
/** The filter of the list of requests, and its form. @module */

import { readParameters } from "../http/mod.ts";
import type { Html } from "../pages/mod.ts";
import { PROBLEMS } from "../problem.ts";
import { REQUEST_KINDS, type RequestKind } from "../records/console/mod.ts";
import { toKeyId } from "../std/key_secret.ts";
import { SLOW_MS } from "../std/limits.ts";
import { cleanPasted } from "../std/pasted_text.ts";
import { isUuid } from "../std/patterns.ts";
import { renderCheck, renderLink, renderTextField } from "./parts.tsx";
import { REQUESTS } from "./paths.ts";

const NAMES = [
  "id",
  "app",
  "kind",
  "code",
  "table",
  "key",
  "field",
  "from",
  "to",
  "console",
] as const;
type Name = (typeof NAMES)[number];
/** The input as typed, for the form and for links. */
export type TypedRequests = Record<Name, string>;

const MAX_CHARS = 80;
const REFERENCE = /^[0-9a-f]{12}$/;

export function readRequestsQuery(query: string): TypedRequests {
  const given = new Map(readParameters(query));
  const read = (name: Name) =>
    (given.get(name) ?? "").replaceAll("\0", "").trim().slice(0, MAX_CHARS);
  const typed = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as TypedRequests;
  return {
    ...typed,
    key: toKeyId(typed.key),
    id: toReference(given.get("id") ?? "").slice(0, MAX_CHARS),
  };
}

const ID_WITHIN =
  /(?<![0-9a-z])([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})(?![0-9a-z])/;
const REFERENCE_WITHIN = /(?<![0-9a-z-])[0-9a-f]{12}(?![0-9a-z-])/;

/** The id or reference in a pasted text, such as `x-request-id: …` or a line of a log; otherwise the text. */
export function toReference(pasted: string): string {
  const text = cleanPasted(pasted.replaceAll("\0", "")).toLowerCase();
  const [, ...groups] = ID_WITHIN.exec(text) ?? [];
  if (groups.length > 0) return groups.join("-");
  return REFERENCE_WITHIN.exec(text)?.[0] ?? text;
}

/** Whether the text can be a request's id, or its last characters from an error page. */
export function isReference(text: string): boolean {
  return isUuid(text) || REFERENCE.test(text);
}

/** The arguments of `list_requests`. An empty or undefined value does not filter. */
export function toRequestFilter(typed: TypedRequests) {
  return {
    of_reference: typed.id,
    app_slug: typed.app,
    of_kind: toKind(typed),
    of_code: typed.code,
    of_table: typed.table,
    of_key: typed.key,
    of_field: typed.field,
    from_at: readMoment(typed.from),
    before_at: readMoment(typed.to),
  };
}

/** Without an id, the requests that the Console sent for its own pages are hidden. */
function toKind({ id, kind, console }: TypedRequests): string {
  const known = REQUEST_KINDS.find((name) => name === kind) ?? "";
  return id === "" && console === "" ? `${known} of apps` : known;
}

/** A time in the format of links; other text does not filter. */
function readMoment(text: string): Date | undefined {
  if (!/^[12]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|\+00:00)$/.test(text))
    return undefined;
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

/** The path of the list with a filter, without empty values. */
export function toRequestsPath(typed: Partial<TypedRequests>): string {
  const query = new URLSearchParams(Object.entries(typed).filter(([, value]) => value !== ""));
  return query.size === 0 ? REQUESTS : `${REQUESTS}?${query}`;
}

const KIND_CHOICES: Readonly<Record<RequestKind | "", string>> = {
  "": "all",
  rejected: "rejected",
  failed: "failed",
  slow: `slow (over ${SLOW_MS / 1000} s)`,
};

export function renderRequestsFilter(typed: TypedRequests): Html {
  const { id, app, kind, code, table, key, from, to } = typed;
  return (
    <>
      <form class="filter" method="get" action={REQUESTS} role="search" aria-label="Find requests">
        {renderTyped("id", "Id or reference", id)}
        {renderTyped("app", "App", app, { lookup: "Apps" })}
        {renderTextField({ name: "kind", label: "Result", choices: KIND_CHOICES, value: kind })}
        {renderTyped("code", "Error code", code, { suggestions: Object.keys(PROBLEMS) })}
        {renderTyped("table", "Table", table, { lookup: "Tables" })}
        {renderTyped("key", "Key id", key, { lookup: "Keys" })}
        {(["field", "from", "to"] as const).map(
          (name) => typed[name] !== "" && <input type="hidden" name={name} value={typed[name]} />,
        )}
        {renderCheck("console", "Also the Console's own requests", {
          ...{ isChecked: typed.console !== "", value: "yes" },
        })}
        <div class="filter-buttons">
          <button class="button button-primary" type="submit">
            Find
          </button>
          {renderLink("Clear", REQUESTS)}
        </div>
      </form>
      {(typed.field !== "" || from !== "" || to !== "") && (
        <p class="quiet">{renderHidden(typed)}</p>
      )}
    </>
  );
}

type Picker = Pick<Parameters<typeof renderTextField>[0], "lookup" | "suggestions">;

function renderTyped(name: Name, label: string, value: string, picker: Picker = {}): Html {
  return renderTextField({ name, label, value, maxLength: MAX_CHARS, ...picker });
}

function renderHidden({ field, from, to }: TypedRequests): string {
  const toText = (text: string) => text.slice(0, 16).replace("T", " ");
  const parts = [
    field !== "" && `with an error in ${field}`,
    from !== "" && `from ${toText(from)} UTC`,
    to !== "" && `before ${toText(to)} UTC`,
  ];
  return `Only requests ${parts.filter((part) => part !== false).join(", ")}.`;
}
