/** A served service on a disposable database, with apps: the basis of every HTTP test. @module */

import { type Database, readRows } from "../../src/db/mod.ts";
import type { IdentitySettings } from "../../src/identity/mod.ts";
import type { Log } from "../../src/observe.ts";
import type { Scope } from "../../src/principal.ts";
import { createApp, issueKey } from "../../src/records/apps/mod.ts";
import { type Definition, toDefinition } from "../../src/schema/mod.ts";
import type { Service, ServiceOptions } from "../../src/service/open.ts";
import type { PushDeps } from "../../src/tables/mod.ts";
import {
  type ClusterUrls,
  dropLater,
  makeDatabase,
  setDatabase,
  type TestDatabase,
} from "./cluster.ts";
import { TEST_HASHING, TEST_IDENTITY_SECRET, testDeps } from "./deps.ts";
import { checkDescribed } from "./described.ts";
import { pushDefinition } from "./push_steps.ts";
import { makeSecrets, type Secrets } from "./secrets.ts";
import { openShape, type Shape, serveAnother, TEST_SECRETS } from "./shape.ts";

export type TestApp = { id: string; slug: string; key: string };

export type TestAppOptions = {
  scopes?: readonly Scope[];
  slug?: string;
  origins?: readonly string[];
  redirects?: readonly string[];
  cookieDomain?: string;
};

export type TestResponse = {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; `undefined` if it is empty. */
  json: unknown;
};

export type Call = {
  method?: string;
  headers?: Record<string, string>;
  body?: BodyInit;
  json?: unknown;
  key?: string | null;
};

export type TestService = AsyncDisposable & {
  url: string;
  database: TestDatabase;
  /** The open service. Its `admin` is replaced by the test's own administrator connection. */
  service: Service;
  /** The service's processes: one for all roles, or gateway, data and identity. */
  processes: readonly Service[];
  /** The service's own connections for pushes. */
  pushing: Database;
  /** The service's log lines. */
  log: string[];
  /** Secrets that the log must not contain. */
  secrets: Secrets;
  makeApp: (schema?: unknown, options?: TestAppOptions) => Promise<TestApp>;
  pushSchema: (
    app: TestApp,
    schema: unknown,
  ) => Promise<Awaited<ReturnType<typeof pushDefinition>>>;
  /** Runs a statement as an administrator of the database. */
  query: <Row>(text: string, values?: Parameters<Database["query"]>[1]) => Promise<Row[]>;
  /** Sends one request. Uses the app's key, and sends `json` with its content type. */
  call: (app: TestApp | undefined, path: string, call?: Call) => Promise<TestResponse>;
  /** Closes the service and keeps its database. */
  end: () => Promise<void>;
  /** Fails if the log contains a secret. */
  close: () => Promise<void>;
};

export type VisitedProcess = AsyncDisposable & Pick<TestService, "url" | "call">;

export type TestServiceOptions = {
  login?: "least" | "superuser";
  connections?: number;
  /** The time limit of a statement, in milliseconds. */
  limitMs?: number;
  /** Settings of the database. */
  settings?: Readonly<Record<string, string>>;
  /** Use another cluster than the run's. */
  cluster?: ClusterUrls | undefined;
  /** False behind a pooler that does not support prepared statements. */
  prepare?: boolean;
  /** Changes the URL that the service connects to, for example to a proxy in front of the database. */
  toServingUrl?: (url: string) => string;
  /** Changes the URL for pushes and the Console. Default: direct to the database. */
  toAdminUrl?: (url: string) => string;
  /** One process, or gateway and services apart; default: TEST_SHAPE, else one. */
  shape?: Shape;
  /** Replaces services that a split service opens. */
  upstreams?: Partial<Record<"data" | "identity", string>>;
  /** More options of the services. */
  service?: Partial<ServiceOptions>;
  /** Settings of hosts, cookies and sessions, given the port of the process that callers connect to. */
  identity?: (port: number) => Partial<IdentitySettings>;
};

/**
 * Checks the isolation only at the start. For tests that disable row security for a moment, because the check would stop the
 * service, and for tests that count statements.
 */
export const UNGUARDED = { checkIntervalMs: 3_600_000 } satisfies Partial<ServiceOptions>;

/** Makes the verdict of the template, which makes a copy's first check unnecessary, one of now. */
const RENEW_VERDICT = "update rowhouse.isolation_checks set checked_at = clock_timestamp()";

/** Opens and serves a service on a free port. */
export async function openTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const database = await makeDatabase(options.cluster);
  if (options.settings !== undefined) await setDatabase(database.superuserUrl, options.settings);
  const lines: string[] = [];
  const log: Log = (level, event, fields) => {
    lines.push(JSON.stringify({ level, event, ...fields }));
  };
  const secrets = makeSecrets();
  for (const secret of [...Object.values(TEST_SECRETS), TEST_IDENTITY_SECRET]) secrets.add(secret);
  for (const name of ["adminUrl", "servingUrl", "pushUrl"] as const) secrets.addUrl(database[name]);
  const prepare = async (admin: Database) => {
    await admin.message(`${RENEW_VERDICT}; select 1`);
  };
  const opened = await openShape(options, database, log, prepare);
  const { service, processes, url, pushing, close } = opened;
  const pushTo = (app: TestApp, schema: unknown) =>
    pushSchema({ admin: pushing, log }, app, schema);
  const closeAll = async () => {
    await close();
    // The caller stops another cluster next.
    if (options.cluster === undefined) dropLater(database);
    else await database.drop();
    secrets.check(lines);
  };
  return {
    url,
    database,
    service,
    processes,
    pushing,
    log: lines,
    secrets,
    makeApp: async (schema, appOptions) => {
      const app = await makeApp(service, appOptions);
      secrets.add(app.key);
      secrets.add(app.key.split(".")[1]);
      if (schema !== undefined) await pushTo(app, schema);
      return app;
    },
    pushSchema: pushTo,
    query: (text, values) => readRows(service.admin, text, values),
    call: (app, path, call) => callService({ url, secrets }, app, path, call),
    end: close,
    close: closeAll,
    [Symbol.asyncDispose]: closeAll,
  };
}

/** Serves another process on the database of a service, with these options. */
export async function openBeside(
  service: TestService,
  options: Partial<ServiceOptions>,
): Promise<VisitedProcess> {
  const { url, close } = await serveAnother(service.database, {
    hashing: TEST_HASHING,
    ...options,
  });
  return {
    url,
    call: (app, path, call) => callService({ url, secrets: service.secrets }, app, path, call),
    [Symbol.asyncDispose]: close,
  };
}

async function makeApp(service: Service, options: TestAppOptions = {}): Promise<TestApp> {
  const slug = options.slug ?? `app-${crypto.randomUUID().slice(-12)}`;
  const deps = testDeps(service);
  const { id } = await createApp(deps, {
    slug,
    origins: options.origins ?? [],
    redirects: options.redirects ?? [],
    cookieDomain: options.cookieDomain ?? "example.org",
  });
  const { text: key } = await issueKey(deps, {
    slug,
    name: "test",
    scopes: options.scopes ?? [
      "data:read",
      "data:write",
      "schema:push",
      "schema:drop",
      "schema:rules",
    ],
    expiresAt: undefined,
  });
  return { id, slug, key };
}

async function pushSchema(
  deps: PushDeps,
  app: TestApp,
  schema: unknown,
): Promise<Awaited<ReturnType<typeof pushDefinition>>> {
  const definition = definitionOf(schema);
  return await pushDefinition(deps, { app, definition, options: { dryRun: false } });
}

/** @throws {Error} the schema is invalid; with its issues */
export function definitionOf(schema: unknown): Definition {
  const read = toDefinition(schema);
  if ("issues" in read) throw new Error(JSON.stringify(read.issues, null, 2));
  return read.definition;
}

/** Sends one request to any service. Adds the secrets of request and response to `secrets`. */
export async function callService(
  { url, secrets }: { url: string; secrets?: Secrets },
  app: TestApp | undefined,
  path: string,
  call: Call = {},
): Promise<TestResponse> {
  const headers = new Headers(call.headers);
  const key = call.key === undefined ? app?.key : call.key;
  if (key != null) headers.set("authorization", `Bearer ${key}`);
  if (call.json !== undefined) headers.set("content-type", "application/json");
  const body = call.json === undefined ? call.body : JSON.stringify(call.json);
  const response = await fetch(url + path, {
    method: call.method ?? "GET",
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
  });
  secrets?.addExchange(headers, response.headers);
  const text = await response.text();
  const json = readJson(text);
  checkDescribed({
    method: call.method ?? "GET",
    target: path,
    status: response.status,
    code: Object(json).error,
    headers: response.headers,
  });
  if (response.headers.get("content-type")?.startsWith("text/html")) checkParagraphs(text);
  return { status: response.status, headers: response.headers, text, json };
}

/** A browser ends a paragraph at a block, and makes an empty paragraph of the end tag that is left. */
function checkParagraphs(page: string): void {
  const found = /<p\b[^>]*>(?:(?!<\/p>)[\s\S])*?<(?:p|div|ul|ol|form|table|h[1-6]|section)\b/.exec(
    page,
  );
  if (found !== null) throw new Error(`A paragraph contains a block: ${found[0]}`);
}

function readJson(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The test checks `text`.
  }
}
