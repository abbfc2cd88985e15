/**
 * The rejections of one minute: exact counts by app, table and code, and samples with the key and the fields. Never
 * stores a value, a body, or a name that the app has not declared, except a short name of a query parameter. Bounded, because clients can cause any number of errors.
 *
 * @module
 */

import { QUERY_PARAMETERS } from "../data/mod.ts";
import type { ResponseRecord } from "../observe.ts";
import type { Detail } from "../problem.ts";
import type { TableDefinition } from "../schema/mod.ts";
import type { Found } from "../std/found.ts";
import {
  MAX_MERGED,
  MAX_MERGED_A_MINUTE,
  MAX_REJECTED_A_MINUTE,
  MAX_REJECTED_KINDS,
  MAX_REJECTED_PATHS,
} from "../std/limits.ts";

/** Facts about a rejected request that its response does not contain. */
export type Rejection = {
  /** From the path, as sent. */
  table: string | undefined;
  /** The id of a key that did not authenticate. */
  presentedKey: string | undefined;
  details: readonly Detail[] | undefined;
  /** What was found at the paths of the details. */
  found: readonly Found[] | undefined;
  /** The query parameters that were invalid. */
  parameters: readonly string[] | undefined;
};

export type FindTable = (
  appId: string,
  name: string,
) => { readonly definition: TableDefinition } | undefined;

type RejectionCount = {
  app: string | undefined;
  key: string | undefined;
  table: string | undefined;
  code: string;
  requests: number;
};

/** A stored request. */
export type Stored = {
  id: string;
  app: string | undefined;
  at_ms: number;
  method: string;
  route: string;
  status: number;
  code: string | undefined;
  ms: number;
  key: string | undefined;
  /** Whether the Console sent it for its pages of rows. */
  isOfConsole: boolean;
  table: string | undefined;
  /** JSON pointers: declared columns, and positions in a batch; or names of query parameters, each after a slash, twice if given twice. */
  fields: readonly string[];
  /** What was found in each of these fields; empty if it is not known. */
  found: readonly Found[];
  /** How many requests it represents: itself and equal requests that are not stored. */
  requests: number;
  /** The ids of those equal requests, up to a limit. */
  merged: string[];
};

type Kind = { first: Stored; stored: number };

export type Rejections = {
  counts: Map<string, RejectionCount>;
  /** Number of counts per app. */
  countsOf: Map<string, number>;
  kinds: Map<string, Kind>;
  /** Number of samples per app, and per key and code. */
  samplesOf: Map<string, number>;
  samples: Stored[];
  /** Number of merged ids. */
  merged: number;
};

const MAX_COUNTS = 5000;
const OTHER = "other";
const MAX_SAMPLES_OF_APP = 100;
/** Per key and code, so that the app's other codes and keys are sampled too. */
const MAX_SAMPLES_OF_KEY = 50;
const MAX_SAMPLES_OF_KIND = 5;
/** Callers choose the method; the database stores no others. */
const METHOD = /^[A-Z]{1,20}$/;

export function makeRejections(): Rejections {
  return {
    ...{ counts: new Map(), countsOf: new Map() },
    ...{ kinds: new Map(), samplesOf: new Map(), samples: [], merged: 0 },
  };
}

/** The stored form of a request; only declared fields are included. */
export function toStored(
  response: ResponseRecord,
  { table, presentedKey, details, found: sent, parameters }: Rejection,
  { findTable, now }: { findTable: FindTable; now: number },
): Stored {
  const { requestId: id, appId: app, keyId, method, route, status, code, ms } = response;
  const { isOfConsole = false } = response;
  const found = app === undefined || table === undefined ? undefined : findTable(app, table);
  return {
    ...{ id, app, at_ms: now, method: METHOD.test(method) ? method : "OTHER", route, status, code },
    ms: Math.round(ms),
    key: keyId ?? presentedKey,
    isOfConsole,
    table: found && table,
    ...(found === undefined
      ? NO_FIELDS
      : parameters === undefined
        ? toDeclared(found.definition, details, sent)
        : toKnown(found.definition, parameters)),
    requests: 1,
    merged: [],
  };
}

const PATH = /^(?:\/\d{1,3})?\/([^/]+)$/;

const NO_FIELDS: Pick<Stored, "fields" | "found"> = { fields: [], found: [] };

function toDeclared(
  { columns }: TableDefinition,
  details: readonly Detail[] = [],
  found: readonly Found[] = [],
): Pick<Stored, "fields" | "found"> {
  const sent = details.slice(0, MAX_REJECTED_PATHS).map(({ path }, index) => {
    const [, name] = PATH.exec(path) ?? [];
    const isDeclared = columns.some((column) => column.name === name);
    return { path, found: found[index], isDeclared };
  });
  const declared = sent.filter(({ isDeclared }) => isDeclared);
  return {
    fields: declared.map(({ path }) => path),
    found: declared.flatMap((field) => field.found ?? []),
  };
}

/** A misspelled parameter. A key, an id or another secret that was sent as a name has digits, or is longer. */
const MISSPELLED = /^[a-z][a-z_]{0,30}$/i;

/**
 * Of a parameter for the row of a reference, such as `project.name`, the reference; of `not.or`, the group. A parameter of the
 * endpoint that was given twice is stored twice.
 */
function toKnown(
  { columns }: TableDefinition,
  parameters: readonly string[],
): Pick<Stored, "fields" | "found"> {
  const names = parameters.map((name) => name.replace(/^not\./, "").replace(/\..*/s, ""));
  const known = names.filter(
    (name, index) =>
      (QUERY_PARAMETERS.has(name) || names.indexOf(name) === index) &&
      (QUERY_PARAMETERS.has(name) ||
        columns.some((column) => column.name === name) ||
        MISSPELLED.test(name)),
  );
  const fields = known.map((name) => `/${name}`);
  return { fields: fields.slice(0, MAX_REJECTED_PATHS), found: [] };
}

/** Counts a rejected request, and stores it below the limit. */
export function addRejection(rejections: Rejections, stored: Stored): void {
  count(rejections, stored);
  sample(rejections, stored);
}

function count({ counts, countsOf }: Rejections, { app, key, table, status, code }: Stored): void {
  // The database finds the app of a key that did not authenticate.
  const of = app ?? `key ${key ?? ""}`;
  const rejected = { app, key: app === undefined ? key : undefined, code: code ?? String(status) };
  const name = `${of} ${table ?? ""} ${rejected.code}`;
  const known = counts.get(name);
  if (known !== undefined) {
    known.requests++;
    return;
  }
  const ofApp = countsOf.get(app ?? "") ?? 0;
  if (ofApp < MAX_REJECTED_KINDS && counts.size < MAX_COUNTS) {
    countsOf.set(app ?? "", ofApp + 1);
    counts.set(name, { ...rejected, table, requests: 1 });
    return;
  }
  const rest = counts.get(`${app} ${OTHER}`);
  if (rest === undefined)
    counts.set(`${app} ${OTHER}`, {
      app,
      key: undefined,
      table: undefined,
      code: OTHER,
      requests: 1,
    });
  else rest.requests++;
}

function sample(rejections: Rejections, stored: Stored): void {
  const { kinds, samplesOf, samples } = rejections;
  const { app = "", key, code, table, fields, found } = stored;
  const ofKey = `${app} ${key} ${code}`;
  const name = `${ofKey} ${table} ${fields.join(" ")} ${found.join(" ")}`;
  const kind = kinds.get(name);
  const [appSamples, keySamples] = [samplesOf.get(app) ?? 0, samplesOf.get(ofKey) ?? 0];
  const isFull =
    samples.length >= MAX_REJECTED_A_MINUTE ||
    appSamples >= MAX_SAMPLES_OF_APP ||
    keySamples >= MAX_SAMPLES_OF_KEY;
  if (isFull || (kind !== undefined && kind.stored >= MAX_SAMPLES_OF_KIND)) {
    if (kind !== undefined) merge(rejections, kind.first, stored.id);
    return;
  }
  samplesOf.set(app, appSamples + 1).set(ofKey, keySamples + 1);
  samples.push(stored);
  if (kind === undefined) kinds.set(name, { first: stored, stored: 1 });
  else kind.stored++;
}

/** Counts a request in the entry of an equal request. */
function merge(rejections: Rejections, first: Stored, id: string): void {
  first.requests++;
  if (first.merged.length >= MAX_MERGED || rejections.merged >= MAX_MERGED_A_MINUTE) return;
  first.merged.push(id);
  rejections.merged++;
}
