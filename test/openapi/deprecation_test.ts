/** Responses and the document name deprecated parts with their dates. The service has no deprecated parts yet. */
import { describe, expect, test } from "bun:test";
import { makeOpenReceive } from "../../src/gateway/mod.ts";
import {
  type JsonSchema,
  type Operation,
  type Route,
  respondWithJson,
} from "../../src/http/mod.ts";
import { followReference, makeDocument } from "../../src/openapi/mod.ts";
import { type FetchDeps, makeFetch } from "../../src/service/fetch.ts";
import { routes } from "../../src/service/routes.ts";

const LINK = '</docs/operating.md>; rel="deprecation"; type="text/markdown"';
const WHOLE = { since: "2027-01-31", until: "2028-02-01" };
const PARTS = {
  first: { since: "2026-12-01" },
  second: { since: "2027-03-01", until: "2027-12-24" },
};

const operation: Operation = {
  id: "old",
  group: "service",
  summary: "Do it the old way",
  responses: [{ status: 200, when: "Done." }],
  problems: [],
};
const makeRoute = (path: string, more: Partial<Operation>): Route<FetchDeps> => ({
  ...{ method: "GET", path, access: "open", operation: { ...operation, id: path, ...more } },
  handle: () => respondWithJson({}),
});
const parameter = { description: "Some.", schema: { type: "string" } } as const;
const own = [
  makeRoute("/old", { deprecated: WHOLE }),
  makeRoute("/parts", {
    parameters: [
      { in: "query", name: "first", ...parameter, deprecated: PARTS.first },
      { in: "header", name: "Second", ...parameter, deprecated: PARTS.second },
      { in: "query", name: "third", ...parameter },
    ],
  }),
];

const deps: FetchDeps = {
  receive: makeOpenReceive({
    makeRequestId: () => "an id",
    readAddress: () => "",
    readVirtualHost: () => "both",
  }),
  callers: undefined,
  guard: { check: async () => {}, checkApp: () => undefined },
  traffic: { inFlight: 0 },
  log: () => {},
  onResponse: () => {},
  makeSpanId: () => "0".repeat(16),
  now: () => 0,
};
const fetch = makeFetch(deps, { gateway: own, identity: [], both: own });
const ask = (path: string, init?: RequestInit) =>
  fetch(new Request(`http://localhost${path}`, init), { requestIP: () => null });

describe("a response", () => {
  const SECOND = { headers: { second: "x" } };
  const NONE = [null, null, null];
  test.each<{ name: string; path: string; init?: RequestInit; want: (string | null)[] }>([
    {
      name: "has the headers on a deprecated endpoint",
      path: "/old",
      want: ["@1801353600", "Tue, 01 Feb 2028 00:00:00 GMT", LINK],
    },
    {
      name: "has the headers on HEAD",
      path: "/old",
      init: { method: "HEAD" },
      want: ["@1801353600", "Tue, 01 Feb 2028 00:00:00 GMT", LINK],
    },
    {
      name: "has no headers on a rejected method",
      path: "/old",
      init: { method: "POST" },
      want: NONE,
    },
    {
      name: "has no headers without the deprecated parameters",
      path: "/parts?third=1",
      want: NONE,
    },
    {
      name: "has the headers for a deprecated query parameter",
      path: "/parts?first=1",
      want: ["@1796083200", null, LINK],
    },
    {
      name: "has the headers for a deprecated header",
      path: "/parts",
      init: SECOND,
      want: ["@1803859200", "Fri, 24 Dec 2027 00:00:00 GMT", LINK],
    },
    {
      name: "has the earliest dates for two deprecated parameters",
      path: "/parts?first=",
      init: SECOND,
      want: ["@1796083200", "Fri, 24 Dec 2027 00:00:00 GMT", LINK],
    },
  ])("$name", async ({ path, init, want }) => {
    const { headers } = await ask(path, init);
    const names = ["deprecation", "sunset", "link"];
    expect(names.map((name) => headers.get(name))).toEqual(want);
  });
});

test("the description marks deprecated parts with their dates", () => {
  const document = makeDocument(own, { tables: undefined });
  const { paths } = document;
  expect(paths["/old"]?.["get"]).toMatchObject({
    deprecated: true,
    description: "Deprecated since 2027-01-31, removed from 2028-02-01.",
  });
  const parts = paths["/parts"]?.["get"];
  expect(parts).not.toHaveProperty("deprecated");
  const references = parts?.["parameters"] as JsonSchema[];
  expect(references.map((reference) => followReference(document, reference))).toEqual([
    {
      ...{ in: "query", name: "first", required: false, schema: parameter.schema },
      ...{ deprecated: true, description: "Some. Deprecated since 2026-12-01." },
    },
    {
      ...{ in: "header", name: "Second", required: false, schema: parameter.schema },
      deprecated: true,
      description: "Some. Deprecated since 2027-03-01, removed from 2027-12-24.",
    },
    { in: "query", name: "third", required: false, ...parameter },
  ]);
});

test("v1 has no deprecated parts", () => {
  expect(JSON.stringify(makeDocument(routes, { tables: undefined }))).not.toContain('"deprecated"');
});
