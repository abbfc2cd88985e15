/**
 * The record: what a caller sees of every route, command, page and right, as text. A refactoring must reproduce it. After an
 * intended change, run UPDATE_RECORD=1 bun test ./test/record/record.ts and review the difference of record.txt.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { SCOPES, type Scope } from "../../src/principal.ts";
import { issueKey, setAppSwitch } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { docs, pages, routes } from "../../src/service/routes.ts";
import { makeProject, runHere } from "../support/command.ts";
import { testDeps } from "../support/deps.ts";
import { type Jar, makePerson, readToken, signInAs, toCookieHeader } from "../support/people.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";
import { describeForms, describeShape, mask } from "./describe.ts";

setDefaultTimeout(300_000);
const FILE = join(import.meta.dirname, "record.txt");
const ROW = "00000000-0000-7000-8000-000000000001";
const REQUEST = "0190163d-8694-739b-aea5-966c26f8ad91";
const SCHEMA = defineSchema({
  projects: { name: t.string().required().unique() },
  todos: { title: t.string().required(), project: t.ref("projects"), kind: t.enum(["a", "b"]) },
});

const ENDPOINTS = [
  ...new Map(
    [...routes, ...docs, ...pages].map((route) => [`${route.method} ${route.path}`, route]),
  ).values(),
].filter(({ path }) => !path.startsWith("/assets/"));

/** Bodies that an endpoint of the API accepts. */
const BODIES: Readonly<Record<string, unknown>> = {
  "POST /v1/data/db/:table": { title: "new" },
  "PATCH /v1/data/db/:table": [{ id: ROW, title: "changed" }],
  "PATCH /v1/data/db/:table/:id": { title: "changed" },
  "POST /v1/data/schema": {
    steps: [
      { kind: "define", definition: { version: 1, tables: [] } },
      {
        kind: "change",
        change: { kind: "rename_column", table: "todos", column: "title", to: "heading" },
      },
    ],
    journal: [],
    dryRun: true,
  },
};

type World = {
  service: TestService;
  app: TestApp;
  jars: ReadonlyMap<string, () => Promise<Jar>>;
  keys: ReadonlyMap<string, string>;
  values: Readonly<Record<string, string>>;
};

async function openWorld(previews: readonly (typeof PREVIEWS)[number][]): Promise<World> {
  const service = await openTestService({
    service: { previews },
    identity: () => ({ cookieDomain: "example.org", requireSecondFactor: "none" }),
  });
  const app = await service.makeApp(SCHEMA, {
    slug: "recorded",
    origins: ["https://recorded.example.org"],
  });
  await setAppSwitch(service.service, app.slug, ["people_list", true]);
  if (previews.includes("live")) await setAppSwitch(service.service, app.slug, ["live", true]);
  await service.service.admin.message(`
insert into data.projects (app_id, id, name) values ('${app.id}', '${ROW}', 'one');
insert into data.todos (app_id, id, title, project, kind) values ('${app.id}', '${ROW}', 'one', '${ROW}', 'a');
insert into rowhouse.stored_requests (id, app_id, at, method, route, status, code, ms)
  values ('${REQUEST}', '${app.id}', now(), 'GET', '/v1/data/db/:table', 422, 'validation_failed', 1)
  returning id`);
  const people = {
    "no role": await makePerson(service),
    role: await makePerson(service, { app }),
    admin: await makePerson(service, { consoleRole: "admin" }),
    super_admin: await makePerson(service, { consoleRole: "super_admin" }),
  };
  const subject = await makePerson(service, { app });
  const jars = new Map<string, () => Promise<Jar>>([["anonymous", async () => new Map()]]);
  for (const [name, person] of Object.entries(people))
    jars.set(name, () => signInAs(service, person));
  const keys = new Map<string, string>();
  for (const scope of SCOPES) {
    keys.set(`key ${scope}`, await makeKey(service, app, [scope]));
  }
  const session = await signInAs(service, subject);
  return {
    service,
    app,
    jars,
    keys,
    values: {
      app: app.slug,
      key: app.key.slice(3, 19),
      person: subject.id,
      session: [...session.values()][0]?.slice(0, 16) ?? "",
      table: "todos",
      seq: "1",
      row: ROW,
      id: ROW,
      request: REQUEST,
      provider: "none",
    },
  };
}

async function makeKey(service: TestService, app: TestApp, scopes: Scope[]): Promise<string> {
  const { text } = await issueKey(testDeps(service.service), {
    slug: app.slug,
    name: scopes.join(),
    scopes,
    expiresAt: undefined,
  });
  service.secrets.add(text);
  service.secrets.add(text.split(".")[1]);
  return text;
}

function toPath({ values }: World, path: string): string {
  const filled = fillPath(path, values);
  if (path === "/authorize")
    return `${filled}?app=recorded&redirect_uri=https%3A%2F%2Frecorded.example.org%2F`;
  if (path.startsWith("/v1/auth/") && !path.endsWith("logout")) return `${filled}?app=recorded`;
  return path.endsWith("/find") ? `${filled}?q=recorded` : filled;
}

const VARYING_HEADERS = new Set([
  ...["date", "content-length", "transfer-encoding", "ratelimit", "x-request-id"],
]);

async function describeResponse(response: Response): Promise<string> {
  const headers = [...response.headers]
    .filter(([name]) => !VARYING_HEADERS.has(name))
    .map(([name, value]) => mask(`${name}: ${value}`).replace(/<key>|__[\w-]+=[^;]+/g, "…"))
    .sort();
  const text = await response.text();
  const body = /json/.test(response.headers.get("content-type") ?? "")
    ? describeShape(JSON.parse(text || "null"))
    : `${text.length > 0 ? "text" : "empty"}`;
  const title = /<title>([^<]*)/.exec(text)?.[1];
  return [
    `${response.status} ${title === undefined ? body : `page "${mask(title)}"`} [${nameHeaders(headers)}]`,
    ...describeForms(text).map((form) => `    ${form}`),
  ].join("\n");
}

/** The combinations of headers, each printed once. */
const headerSets = new Map<string, string>();

/** Headers whose value names the route are printed with it. */
function nameHeaders(headers: readonly string[]): string {
  const isOwn = (header: string) => /^location:/.test(header);
  const set = headers.filter((header) => !isOwn(header)).join("\n    ");
  const name = headerSets.get(set) ?? `headers ${headerSets.size + 1}`;
  headerSets.set(set, name);
  return [name, ...headers.filter(isOwn)].join("; ");
}

/** The head of an event stream: its body does not end. */
async function send(world: World, path: string, init: RequestInit): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(world.service.url + path, {
    redirect: "manual",
    ...init,
    signal: stop.signal,
  });
  world.service.secrets.addExchange(new Headers(init.headers), response.headers);
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return await describeResponse(response);
  const head = new Response(null, response);
  stop.abort();
  return await describeResponse(head);
}

/** Every kind of caller that reaches the route: cookies for sessions and pages, keys for the data service. */
async function recordRoute(
  world: World,
  { method, path, access }: (typeof ENDPOINTS)[number],
): Promise<string[]> {
  const endpoint = `${method} ${path}`;
  const target = toPath(world, path);
  const json = BODIES[endpoint];
  const body = json === undefined ? undefined : JSON.stringify(json);
  const results = new Map<string, string[]>();
  const add = (result: string, caller: string) =>
    results.set(result, [...(results.get(result) ?? []), caller]);
  const headers = { ...(body === undefined ? {} : { "content-type": "application/json" }) };
  if (access === "key" || access === "optional-key") {
    add(await send(world, target, { method, headers, body: body ?? null }), "anonymous");
    for (const [caller, key] of world.keys) {
      const authorization = `Bearer ${key}`;
      const init = { method, headers: { ...headers, authorization }, body: body ?? null };
      add(await send(world, target, init), caller);
    }
  } else
    for (const [caller, open] of world.jars) {
      add(await send(world, target, { method, headers: await toHeaders(world, open) }), caller);
      if (method !== "POST" || !path.startsWith("/console")) continue;
      // A form without its typed fields: what it rejects, and what it needs.
      const jar = await open();
      const page = await fetch(world.service.url + target, {
        headers: { cookie: toCookieHeader(jar) },
        redirect: "manual",
      });
      const html = await page.text();
      if (page.status !== 200 || !html.includes("form_token")) continue;
      const sent = await toHeaders(world, async () => jar);
      const fields = new URLSearchParams({ form_token: readToken(html) });
      add(await send(world, target, { method, headers: sent, body: fields }), `${caller}, form`);
    }
  return [...results].map(([result, callers]) => `${endpoint} (${callers.join("; ")}): ${result}`);
}

async function toHeaders(world: World, open: () => Promise<Jar>): Promise<Record<string, string>> {
  const cookie = toCookieHeader(await open());
  return { ...(cookie === "" ? {} : { cookie }), origin: world.service.url };
}

/** Forms that end what the other forms need come last. */
const LATE = /revoke|withdraw|second-factor|end|state|delete|sign-out|logout|disabled/;

async function recordRoutes(previews: (typeof PREVIEWS)[number][]): Promise<string[]> {
  const world = await openWorld(previews);
  try {
    const order = ENDPOINTS.toSorted(
      (a, b) =>
        Number(a.method !== "GET") - Number(b.method !== "GET") ||
        Number(LATE.test(a.path)) - Number(LATE.test(b.path)),
    );
    const lines: string[] = [];
    for (const route of order) lines.push(...(await recordRoute(world, route)));
    return lines;
  } finally {
    await world.service.close();
  }
}

async function recordHelp(): Promise<string[]> {
  const project = makeProject();
  try {
    const lines: string[] = [];
    for (const { name } of COMMANDS) {
      const { out } = await runHere([...name.split(" "), "--help"], { folder: project.folder });
      lines.push(`$ rowhouse ${name} --help\n${out}`);
    }
    return lines;
  } finally {
    project.remove();
  }
}

/** The arguments with which a command that reads or changes records prints its document. */
const ARGUMENTS: readonly string[][] = [
  ["create-app", "second", "--origin", "https://second.example.org"],
  ["list-apps"],
  ["set-limit", "recorded", "--per-minute", "6000"],
  ["set-origins", "recorded", "--add-origin", "https://more.example.org"],
  ["issue-key", "recorded", "--name", "json"],
  ["list-keys", "recorded"],
  ["list-pushes", "recorded"],
  ["list-tables"],
  ["create-user", "ada@example.org"],
  ["password-link", "ada@example.org"],
  ["grant", "ada@example.org", "recorded", "editor"],
  ["list-grants", "recorded"],
  ["show-user", "ada@example.org"],
  ["export-user", "ada@example.org"],
  ["list-users"],
  ["sessions", "ada@example.org"],
  ["invite", "grace@example.org", "recorded", "editor"],
  ["list-invitations"],
  ["set-role", "ada@example.org", "admin"],
  ["disable", "ada@example.org"],
  ["enable", "ada@example.org"],
  ["set-app", "second", "disabled", "on"],
  ["set-app", "second", "disabled", "off"],
  ["rename-app", "second", "third"],
  ["audit"],
  ["delete-app", "third", "--yes"],
  ["delete-user", "ada@example.org", "--yes"],
];

async function recordDocuments(): Promise<string[]> {
  const world = await openWorld([]);
  const project = makeProject();
  try {
    const { database } = world.service;
    const env = {
      ADMIN_DATABASE_URL: database.adminUrl,
      DATABASE_URL: database.servingUrl,
      IDENTITY_URL: "https://id.example.org",
      COOKIE_DOMAIN: "example.org",
      IDENTITY_SECRET: "0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    const lines: string[] = [];
    for (const words of ARGUMENTS) {
      const argv = ["admin", ...words, "--json"];
      const { code, out, err } = await runHere(argv, { folder: project.folder, env });
      const shape = out.trim() === "" ? mask(err.trim()) : describeShape(JSON.parse(out));
      lines.push(`$ rowhouse ${argv.join(" ")}\n${code} ${shape}`);
    }
    return lines;
  } finally {
    project.remove();
    await world.service.close();
  }
}

async function recordDocument(): Promise<string[]> {
  const world = await openWorld([...PREVIEWS]);
  try {
    const { text } = await world.service.call(world.app, "/v1/openapi.json");
    return [mask(JSON.stringify(JSON.parse(text), null, 1))];
  } finally {
    await world.service.close();
  }
}

test("every route, command, page and the API description are as recorded", async () => {
  const plain = await recordRoutes([]);
  const previewed = await recordRoutes([...PREVIEWS]);
  const sections: [string, string[]][] = [
    ["Routes", plain],
    ["Routes that differ with every preview", previewed.filter((line) => !plain.includes(line))],
    ["Headers", [...headerSets].map(([set, name]) => `${name}:\n    ${set}`)],
    ["Help", await recordHelp()],
    ["JSON of commands", await recordDocuments()],
    ["API description", await recordDocument()],
  ];
  const record = sections.map(([title, lines]) => `# ${title}\n\n${lines.join("\n")}\n`).join("\n");
  if (process.env["UPDATE_RECORD"] === "1") writeFileSync(FILE, record);
  expect(record.split("\n")).toEqual(readFileSync(FILE, "utf8").split("\n"));
});
