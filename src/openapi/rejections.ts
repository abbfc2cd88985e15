/** Errors as responses: one per status, with its codes and an example of each. Pure. @module */
import * as v from "valibot";
import { type JsonSchema, type Operation, ProblemBody, type Route } from "../http/mod.ts";
import { ShortProblemBody } from "../identity/mod.ts";
import type { Scope } from "../principal.ts";
import { PROBLEMS, type ProblemCode, toSentence } from "../problem.ts";
import { toBodySchema } from "./body_schemas.ts";
import { type HeaderName, QUOTA_HEADERS, toHeaders } from "./headers.ts";
import { type Schemas, toReference } from "./references.ts";

/** The parts of a route that a description needs. */
export type DescribedRoute = Pick<
  Route<never>,
  "method" | "path" | "access" | "operation" | "previewed"
> & { readonly scope?: Scope };

/** Errors of any endpoint. */
const ALWAYS: readonly ProblemCode[] = ["invalid_request", "request_failed"];
const KEYED: readonly ProblemCode[] = [
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "unavailable",
  "bad_gateway",
];
const OPTIONALLY_KEYED = KEYED.filter((code) => code !== "forbidden");
/** Errors of a session lookup in the database. */
const SESSION: readonly ProblemCode[] = ["bad_gateway", "unavailable", "overloaded", "timeout"];

const OF_ACCESS: Readonly<Record<DescribedRoute["access"], readonly ProblemCode[]>> = {
  key: KEYED,
  "optional-key": OPTIONALLY_KEYED,
  session: SESSION,
  "optional-session": SESSION,
  open: [],
};

/** Errors of each endpoint that needs the scope. */
const OF_SCOPE: Readonly<Partial<Record<Scope, readonly ProblemCode[]>>> = {
  "data:write": ["read_only", "unknown_outcome"],
  "schema:push": ["read_only", "unknown_outcome"],
};

export type ProblemGroup = { readonly status: number; readonly codes: readonly ProblemCode[] };

/** All errors of an endpoint, by status. */
export function listRejections(route: DescribedRoute, operation: Operation): ProblemGroup[] {
  const codes = new Set<ProblemCode>([
    ...ALWAYS,
    ...OF_ACCESS[route.access],
    ...((route.scope && OF_SCOPE[route.scope]) ?? []),
    ...operation.problems,
  ]);
  const byStatus = Map.groupBy([...codes].toSorted(), (code) => PROBLEMS[code].status);
  return [...byStatus]
    .map(([status, ofStatus]) => ({ status, codes: ofStatus }))
    .toSorted((a, b) => a.status - b.status);
}

/** Endpoints for browser apps return only a code, and one code for all failures of the service. */
type Form = "full" | "short";

export function formOf({ group }: Operation): Form {
  return group === "identity" ? "short" : "full";
}

/** The component of an error: identical errors share one. */
export function toRejectionName({ status, codes }: ProblemGroup, form: Form): string {
  return form === "short"
    ? `${status}-identity-${codes.join("-")}`
    : `${status}-${codes.join("-")}`;
}

export function toRejectionResponse({ status, codes }: ProblemGroup, form: Form): JsonSchema {
  const listed = toPublicCodes({ status, codes }, form);
  return {
    description: codes
      .map(
        (code) => `\`${listed.includes(code) ? code : "request_failed"}\`: ${PROBLEMS[code].when}.`,
      )
      .join("\n\n"),
    headers: toHeaders([
      "X-Request-Id",
      ...(HEADERS_OF[status] ?? []),
      ...(form === "short" ? [] : QUOTA_HEADERS),
    ]),
    content: {
      "application/json": {
        schema: toReference("schemas", SCHEMA_NAMES[form]),
        examples: Object.fromEntries(
          listed.map((code) => [code, { value: toExample(code, form) }]),
        ),
      },
    },
  };
}

function toPublicCodes({ status, codes }: ProblemGroup, form: Form): readonly ProblemCode[] {
  return form === "short" && status >= 500 ? ["request_failed"] : codes;
}

/**
 * The schemas of all errors: every response refers to one of them, because generators of clients write each schema that is
 * not shared once per endpoint and status.
 */
export function toErrorSchemas(
  described: readonly { operation: Operation; rejections: readonly ProblemGroup[] }[],
): Schemas {
  const byForm = Map.groupBy(described, ({ operation }) => formOf(operation));
  return Object.fromEntries(
    [...byForm].map(([form, ofForm]) => {
      const groups = ofForm.flatMap(({ rejections }) => rejections);
      const codes = new Set(groups.flatMap((group) => toPublicCodes(group, form)));
      const { entries } = BODIES[form];
      const error = v.pipe(entries.error, v.metadata({ enum: [...codes].toSorted() }));
      return [SCHEMA_NAMES[form], toBodySchema(v.object({ ...entries, error }))];
    }),
  );
}

const SCHEMA_NAMES: Readonly<Record<Form, string>> = { full: "error", short: "identity-error" };
const BODIES = { full: ProblemBody, short: ShortProblemBody };

const EXAMPLE_ID = "0190163d-8694-739b-aea5-966c26f8ad91";

function toExample(code: ProblemCode, form: Form): JsonSchema {
  if (form === "short") return { error: code };
  return { error: code, message: toSentence(PROBLEMS[code].when), requestId: EXAMPLE_ID };
}

const HEADERS_OF: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ["WWW-Authenticate"],
  409: ["Retry-After"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
