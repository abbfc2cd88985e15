/**
 * The requests of a replay: every route with every credential and method, from the route tables; every operator on every kind of
 * column; writes of right and wrong values; and sequences in which a later request names what an earlier one returned.
 *
 * @module
 */
import { OPERATORS } from "../../src/kinds/mod.ts";
import { referenceRoutes } from "../../src/openapi/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { pages, routes } from "../../src/service/routes.ts";
import { CONSOLE_FORMS } from "../support/samples/console.ts";
import { fillPath } from "../support/samples/routes.ts";
import { definitionOf } from "../support/service.ts";
import { CARDS, type KeyName, type World } from "../upgrade/world.ts";

/** A key of the frozen world, a cookie of one of its sessions, or neither. */
export type Credential =
  | KeyName
  | "person"
  | "person of another origin"
  | "malformed key"
  | keyof World["sessions"]
  | "none";

export type Request = {
  readonly method: string;
  /** `{{name}}`, here and in headers and the body: what an earlier response had. */
  readonly path: string;
  readonly credential: Credential;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Sent as it is. */
  readonly text?: string;
  /** Fills in and submits the form of the page. */
  readonly isForm?: boolean;
  /** Names of the response's tag, and of members of its body by path: `rows.0.id`. */
  readonly keep?: Readonly<Record<string, string>>;
};

/** Values of the parameters of paths that exist in the frozen world. */
export type Subjects = Readonly<Record<string, string>>;

const KEYS: readonly Credential[] = [
  ...(["none", "malformed key", "wiki", "old", "next", "shop", "diverged"] as const),
  ...(["revoked", "expired", "disabled", "frozen", "person", "person of another origin"] as const),
];
const COOKIES: readonly Credential[] = ["none", "ended", "live", "administrator"];
const LIST = "/v1/data/db";
/** Without the guides, which are not packed with a version. */
const ROUTES = [...routes, ...referenceRoutes, ...pages];
/** Pages that show what another request has just changed, or send to a provider. */
const ELSEWHERE = /^\/oidc\/|\/assets\/|^\/docs\/search$/;

export function makeRequests(subjects: Subjects): Request[] {
  return [
    ...makeMatrix(subjects),
    ...makeMethods(subjects),
    ...makePages(),
    ...makeQueries(),
    ...makeWrites(),
    ...makeSequences(),
    ...makePushes(),
    ...makePeople(),
    ...makeForms(subjects),
  ];
}

/** Each route with each credential; a body that nothing accepts. */
function makeMatrix(subjects: Subjects): Request[] {
  return ROUTES.filter(({ path }) => !ELSEWHERE.test(path) && !path.endsWith("logout")).flatMap(
    ({ method, path, access }) => {
      const isOfKeys = access === "key" || access === "optional-key";
      const filled = fillPath(path, subjects);
      const credentials = isOfKeys ? KEYS : COOKIES;
      // A deletion succeeds once: of a row that does not exist, it has the same checks.
      const target = method === "DELETE" ? filled.replace(subjects["id"] ?? "", NO_ROW) : filled;
      return credentials.map((credential) => ({
        ...{ method, path: target, credential },
        ...(method === "GET" || method === "DELETE" ? {} : { json: [{ nothing: true }] }),
      }));
    },
  );
}

const NO_ROW = "00000000-0000-7000-8000-00000000000f";

function makeMethods(subjects: Subjects): Request[] {
  const paths = new Set(ROUTES.map(({ path }) => path));
  return [...paths]
    .filter((path) => !ELSEWHERE.test(path))
    .flatMap((path) =>
      ["HEAD", "OPTIONS", "PUT"].map((method) => ({
        ...{ method, path: fillPath(path, subjects) },
        credential: path.startsWith("/v1/data") ? ("wiki" as const) : ("administrator" as const),
        headers: { origin: "http://wiki.rowhouse.localhost" },
      })),
    );
}

function read(path: string, credential: Credential = "wiki", more: Partial<Request> = {}): Request {
  return { method: "GET", path, credential, ...more };
}

/** Pages of lists, their tags, and what lists reject. */
function makePages(): Request[] {
  const queries = [
    ...["", "?limit=0", "?limit=1", "?limit=1000", "?limit=5000", "?limit=-1", "?limit=1.5"],
    ...["?limit=20abc", "?limit=", "?limit=1&limit=2", "?offset=1", "?offset=2147483647"],
    ...["?offset=2147483648", "?offset=x", "?limit=2&offset=1", "?unknown=1", "?select=id"],
    ...["?select=id,nothing", "?order=id", "?order=nothing", "?order=title.up", "?after=x"],
    ...["?%ff=1", "?a%00=1", "?limit=%31", "?__proto__=1", "?constructor=eq.1"],
  ];
  const names = ["pages", "kinds", "drafts", CARDS, "orders", "users", "nothing", "a.b", "%70ages"];
  return [
    ...names.flatMap((name) => queries.map((query) => read(`${LIST}/${name}${query}`))),
    ...queries.map((query) => read(`${LIST}/${CARDS}${query}`, "person")),
    ...["text/event-stream", "text/html", "application/json;q=0", "*/*", ""].flatMap((accept) =>
      [`${LIST}/pages`, `${LIST}/orders/changes`, "/v1/openapi.json", "/docs"].map((path) =>
        read(path, "shop", { headers: { accept } }),
      ),
    ),
    ...["/v1", "/v1/data", "/v1/data/db", "/v2/data/db/pages", "/", "//", "/v1/data/db/pages/"].map(
      (path) => read(path),
    ),
    ...["gzip", "br", "zstd", "identity;q=0", "gzip;q=0, *"].map((coding) =>
      read(`${LIST}/kinds`, "wiki", { headers: { "accept-encoding": coding } }),
    ),
  ];
}

const VALUES = [
  ...["1", "0", "-7", "12.50", "1e3", "true", "null", "2026-01-02", "2026-01-02T03:04:05Z"],
  ...["open", "it's", "Home", "", "%", "(1,3)", "(open,closed)", '("a","b")', "{a}", "NaN"],
];

/** Conditions with each operator, order, cursors, counts, groups and related rows: answered with the preview, rejected without. */
function makeQueries(): Request[] {
  const columns = {
    kinds: ["string", "number", "integer", "decimal", "boolean", "timestamp", "json", "enum", "ref"]
      .map((kind) => `of_${kind}`)
      .concat("id", "of_uuid", "of_date"),
    pages: ["title", "slug", "rank", "price", "day"],
  };
  const conditions = Object.entries(columns).flatMap(([table, names]) =>
    names.flatMap((column) =>
      OPERATORS.flatMap((operator, nth) =>
        // Not every value with every operator: each meets each on some column.
        VALUES.filter((_, at) => (at + nth + column.length) % 4 === 0).map(
          (value) => `${LIST}/${table}?${column}=${operator}.${encodeURIComponent(value)}`,
        ),
      ),
    ),
  );
  const others = [
    ...[
      ...["title", "title.desc", "rank,title", "rank.desc,id", "day.asc", "price.desc", "id.desc"],
    ].map((order) => `pages?order=${order}&limit=2`),
    ...["or=(rank.gt.3,title.eq.Home)", "and=(rank.gte.3,rank.lt.8)", "not.or=(rank.eq.3)"],
    ...["rank=not.eq.3", "rank=eq.3&rank=lt.9", "or=()", "or=(rank.eq.3", "rank=eq", "rank=xx.3"],
    ...["title=ilike.*h*", "title=like.H*", "title=ilike.*&order=title", "select=id,title"],
    ...["select=title,parent(title)", "select=id,pages.parent(title)", "select=*,parent(*)"],
    ...["parent.title=eq.Home", "parent=is.null", "slug=is.not_null", "slug=is.nothing"],
  ].map((query) => (query.startsWith("pages") ? query : `pages?${query}`));
  const groups = [
    "by=rank",
    "by=title&limit=1",
    "by=day.month",
    "by=nothing",
    "",
    "by=rank&sum=price",
  ];
  return [
    ...conditions.map((path) => read(path)),
    ...others.map((path) => read(`${LIST}/${path}`)),
    ...others.map((path) =>
      read(`${LIST}/${path}`, "wiki", { headers: { prefer: "count=exact" } }),
    ),
    ...groups.map((query) => read(`${LIST}/pages/groups?${query}`)),
    ...["title=eq.Final", "author=eq.me", "order=title", "title=ilike.*f*", "nothing=eq.1"].flatMap(
      (query) => [
        read(`${LIST}/${CARDS}?${query}`, "person"),
        read(`${LIST}/${CARDS}/groups?by=title&${query}`, "person"),
        read(`${LIST}/${CARDS}?${query}`, "person", { headers: { prefer: "count=exact" } }),
      ],
    ),
    // A cursor to the end.
    read(`${LIST}/pages?order=title&limit=2`, "wiki", { keep: { next: "next" } }),
    read(`${LIST}/pages?order=title&limit=2&after={{next}}`, "wiki", { keep: { next: "next" } }),
    read(`${LIST}/pages?order=rank&limit=2&after={{next}}`),
  ];
}

function send(method: string, path: string, json: unknown, more: Partial<Request> = {}): Request {
  return { method, path: `${LIST}/${path}`, credential: "wiki", json, ...more };
}

const SENT: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e21, 12345678901234, "", "a", "1", "1.50", "true", "2026-01-02"],
  ...["2026-01-02T03:04:05Z", "2026-02-30", "open", "it's", "\0", "\ud800", [], {}, [1, "a"]],
  ...[{ a: null }, "0190163d-8694-739b-aea5-966c26f8ad91", "1e5", "x".repeat(5000)],
];

/** Each kind of column with right and wrong values, and bodies that are no rows. */
function makeWrites(): Request[] {
  const kinds = ["string", "number", "integer", "decimal", "boolean", "uuid", "timestamp", "date"];
  const texts = [
    ...["", "{", "[]", "null", "1", '"a"', "[1]", "[{}, 1]", '{"title":"a","title":"b"}'],
    ...['{"title":1e400}', '{"__proto__":{"title":"x"},"title":"p"}', `${"[".repeat(70)}1`],
    ...[
      '{"of_number":1.0000000000000000001}',
      '{"of_json":{"a":1.10}}',
      `{"a":"${"x".repeat(102_400)}"}`,
    ],
  ];
  return [
    ...[...kinds, "json", "enum", "ref"].flatMap((kind) =>
      SENT.map((value) => send("POST", "kinds", { [`of_${kind}`]: value })),
    ),
    ...texts.flatMap((text) => [
      send("POST", "kinds", undefined, { text }),
      send("PATCH", `kinds/${NO_ROW}`, undefined, { text }),
      send("PATCH", "kinds", undefined, { text }),
    ]),
    ...["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded"].map(
      (type) => send("POST", "kinds", {}, { headers: { "content-type": type } }),
    ),
    ...["strict", "lenient"].map((handling) =>
      send(
        "POST",
        "pages",
        { title: "p", nothing: 1, id: NO_ROW },
        { headers: { prefer: `handling=${handling}` } },
      ),
    ),
    send("POST", "pages", {}),
    send("POST", "pages", { title: null, rank: "x", day: 1, parent: NO_ROW }),
    send("POST", "pages", { title: "dangling", parent: NO_ROW }),
    send("POST", "pages", { title: "again", slug: "home" }),
    send("POST", "pages", [{ title: "one" }, { title: 2 }, {}]),
    send("POST", "pages", [
      { title: "one", slug: "s" },
      { title: "two", slug: "s" },
    ]),
    ...(["person", "old", "frozen", "none"] as const).flatMap((credential) => [
      send("POST", CARDS, { title: "own" }, { credential }),
      send("POST", CARDS, { title: "of another", author: NO_ROW }, { credential }),
      send("PATCH", `${CARDS}/${NO_ROW}`, { title: "x" }, { credential }),
      send("DELETE", `${CARDS}/${NO_ROW}`, undefined, { credential }),
    ]),
    ...["*", '"a"', 'W/"a"', "a", '"a", "b"'].flatMap((tag) => [
      send("PATCH", `pages/${NO_ROW}`, { title: "x" }, { headers: { "if-match": tag } }),
      send("DELETE", `pages/${NO_ROW}`, undefined, { headers: { "if-match": tag } }),
      read(`${LIST}/pages`, "wiki", { headers: { "if-none-match": tag } }),
    ]),
  ];
}

/** The life of a row, of lists of rows, of writes by condition, and of repeated writes. */
function makeSequences(): Request[] {
  const row = "pages/{{row}}";
  const tagged = (tag: string) => ({ headers: { "if-match": tag } });
  const known = (tag: string) => ({ headers: { "if-none-match": tag } });
  const once = (key: string) => ({ headers: { "idempotency-key": key } });
  const keep = { row: "id", tag: "etag" };
  return [
    send("POST", "pages", { title: "replayed", slug: "replayed", rank: 9 }, { keep }),
    read(`${LIST}/${row}`, "wiki", known("{{tag}}")),
    read(`${LIST}/${row}`, "shop"),
    read(`${LIST}/pages?limit=3`, "wiki", { keep: { page: "etag" } }),
    read(`${LIST}/pages?limit=3`, "wiki", known("{{page}}")),
    send("PATCH", row, {}, { keep: { tag: "etag" } }),
    send("PATCH", row, { title: "changed" }, { ...tagged("{{tag}}"), keep: { next: "etag" } }),
    send("PATCH", row, { title: "lost" }, tagged("{{tag}}")),
    read(`${LIST}/${row}`, "wiki", known("{{tag}}")),
    read(`${LIST}/${row}`, "wiki", known("{{next}}")),
    read(`${LIST}/pages?limit=3`, "wiki", known("{{page}}")),
    send("PATCH", "pages", [
      { id: "{{row}}", rank: 10 },
      { id: NO_ROW, rank: 1 },
    ]),
    send("PATCH", "pages", [{ id: "{{row}}", rank: 11, ifMatch: "x" }]),
    send("PATCH", "pages", [
      { id: "{{row}}", rank: 11 },
      { id: "{{row}}", rank: 12 },
    ]),
    send("PATCH", "pages", [{ id: "{{row}}", rank: 11 }]),
    send("PATCH", "pages", { rank: 12 }),
    send("PATCH", "pages?slug=eq.replayed", { rank: 13 }),
    send("PATCH", "pages?slug=eq.replayed", { rank: "x", nothing: 1 }),
    send("PATCH", "pages?slug=eq.replayed&dryRun=true", { rank: 14 }),
    send("PATCH", "pages?slug=eq.replayed&dryRun=x&limit=1", { rank: 14 }),
    send("DELETE", "pages?all=true&dryRun=true", undefined),
    send("PATCH", "pages?nothing=eq.1", { rank: 14 }),
    send("DELETE", "pages", undefined),
    send("DELETE", "pages?slug=eq.nothing", undefined),
    send("POST", "pages?key=slug", { title: "upserted", slug: "upserted" }),
    send("POST", "pages?key=slug", { title: "upserted again", slug: "upserted" }),
    send("POST", "pages?key=slug&existing=ignore", [{ title: "x", slug: "upserted" }]),
    send("POST", "pages?key=title", { title: "x" }),
    send("POST", "pages?key=slug", { title: "no key" }),
    send("DELETE", "pages?slug=eq.upserted", undefined, { headers: { prefer: "count=exact" } }),
    send("POST", "pages", { title: "once", slug: "once" }, once("replay-1")),
    send("POST", "pages", { title: "once", slug: "once" }, once("replay-1")),
    send("POST", "pages", { title: "other", slug: "other" }, once("replay-1")),
    send("POST", "pages", { title: "once" }, once("")),
    send("PATCH", row, { rank: 20 }, once("replay-2")),
    send("PATCH", row, { rank: 20 }, once("replay-2")),
    send("PATCH", row, { rank: 21 }, once("replay-2")),
    send("POST", "pages", { title: "child", parent: "{{row}}" }, { keep: { child: "id" } }),
    send("DELETE", row, undefined, tagged('"0123456789abcdef0123456789abcdef"')),
    send("DELETE", row, undefined),
    send("DELETE", row, undefined),
    read(`${LIST}/pages/{{child}}`),
    send("PATCH", row, { title: "gone" }),
    send(
      "POST",
      CARDS,
      { title: "own" },
      { credential: "person", keep: { card: "id", tag: "etag" } },
    ),
    send(
      "PATCH",
      `${CARDS}/{{card}}`,
      { title: "own, again" },
      { ...{ credential: "person", ...tagged("{{tag}}") } },
    ),
    send("PATCH", `${CARDS}/{{card}}`, { author: NO_ROW }, { credential: "person" }),
    send("PATCH", `${CARDS}?title=eq.own`, { title: "x" }, { credential: "person" }),
    send("DELETE", `${CARDS}/{{card}}`, undefined, { credential: "person" }),
    send("DELETE", `${CARDS}/{{card}}`, undefined),
  ];
}

const GROWN = defineSchema({
  notes: { title: t.string(), note: t.string().index(), at: t.date() },
});
const OTHER = defineSchema({ notes: { title: t.integer() } });
const RESERVED = { version: 1, tables: [{ name: "users", columns: [] }] };

/** Plans and pushes of an app of its own. */
function makePushes(): Request[] {
  const push = (body: unknown, credential: Credential = "diverged"): Request => ({
    ...{ method: "POST", path: "/v1/data/schema", credential, json: body },
  });
  const define = (schema: unknown) => ({ kind: "define", definition: schema });
  const change = (change: object) => ({ steps: [{ kind: "change", change }] });
  const column = { table: "notes", column: "at" };
  const bodies = [
    ...[{}, [], { steps: [] }, { steps: [{ kind: "nothing" }] }, { steps: [define({})] }],
    { steps: [define(RESERVED)], dryRun: true },
    { steps: [define(definitionOf(OTHER))], dryRun: true },
    { steps: [define(definitionOf(GROWN))], dryRun: true },
    { steps: [define(definitionOf(GROWN)), define(definitionOf(GROWN))] },
    { steps: [define(definitionOf(GROWN))], journal: [{ seq: 1, checksum: "x" }] },
    { steps: [define(definitionOf(GROWN))] },
    { steps: [define(definitionOf(GROWN))] },
    change({ kind: "rename_column", ...column, to: "on" }),
    change({ kind: "rename_column", ...column, to: "on" }),
    change({ kind: "retype_column", table: "notes", column: "on", type: { kind: "string" } }),
    change({ kind: "drop_column", table: "notes", column: "on" }),
    change({ kind: "drop_column", table: "notes", column: "on" }),
  ];
  return [
    ...bodies.map((body) => push(body)),
    ...(["old", "shop", "frozen", "person", "none"] as const).map((credential) =>
      push({ steps: [define(definitionOf(GROWN))], dryRun: true }, credential),
    ),
    read("/v1/data/schema", "diverged"),
    ...["1", "2", "9", "0", "x"].map((seq) =>
      read(`/v1/data/schema/migrations/${seq}`, "diverged"),
    ),
    read("/v1/openapi.json", "diverged"),
    send(
      "POST",
      "notes",
      { title: "after", note: "n", at: "2026-01-02" },
      { credential: "diverged" },
    ),
    read(`${LIST}/notes`, "diverged"),
  ];
}

function makePeople(): Request[] {
  const paths = ["me", "me?app=wiki", "me?app=shop", "me?app=nothing", "me?app=a&app=b", "me?app="];
  const people = ["people?app=wiki", "people?app=shop", "people", "people?app=wiki&limit=1"];
  const origins = ["http://wiki.rowhouse.localhost", "https://evil.example.org", "null"];
  return [
    ...[...paths, ...people].flatMap((path) =>
      COOKIES.map((credential) => read(`/v1/auth/${path}`, credential)),
    ),
    ...origins.flatMap((origin) => [
      read("/v1/auth/me?app=wiki", "live", { headers: { origin } }),
      read(`${LIST}/${CARDS}`, "person", { headers: { origin } }),
      {
        ...{ method: "POST", path: "/session-key?app=wiki", credential: "live", json: {} },
        headers: { origin, "sec-fetch-site": "same-site" },
      } satisfies Request,
      {
        ...{ method: "POST", path: "/v1/auth/logout", headers: { origin } },
        credential: "ended",
      } satisfies Request,
    ]),
    ...[
      "/authorize?app=wiki&redirect_uri=http%3A%2F%2Fwiki.rowhouse.localhost%2Fin",
      "/authorize",
    ].flatMap((path) => COOKIES.map((credential) => read(path, credential))),
  ];
}

/** Forms of the Console, in an order in which each can succeed. */
function makeForms(subjects: Subjects): Request[] {
  return CONSOLE_FORMS.filter(({ isOfDev }) => isOfDev !== true).map(({ path }) => ({
    ...{ method: "POST", path: fillPath(path, subjects), isForm: true },
    credential: "administrator",
  }));
}
