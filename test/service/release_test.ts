/** Operators learn the version of the service and of its processes; no response to anyone else contains it. */
import { describe, expect, test } from "bun:test";
import { RELEASE, RELEASE_TEXT } from "../../src/db/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { checkProcesses, evaluateProcesses } from "../../src/service/doctor/schema_state.ts";
import { docs, pages, routes } from "../../src/service/routes.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, signInAs, toCookieHeader } from "../support/people.ts";
import { fillPath } from "../support/samples/routes.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(
  openTestService({
    service: { previews: [...PREVIEWS] },
    identity: () => ({ cookieDomain: "example.org", requireSecondFactor: "none" }),
  }),
);
const app = await service.makeApp(defineSchema({ todos: { title: t.string() } }), { slug: "wiki" });

/** The version is not a part of a longer number. */
const VERSION = new RegExp(
  [RELEASE_TEXT, RELEASE.code, RELEASE.version]
    .map((text) => `(?<![\\d.])${RegExp.escape(text)}(?![\\d.])`)
    .join("|"),
);

/** Reads first: some of the others end the session. */
const ENDPOINTS = [
  ...new Set([...routes, ...docs, ...pages].map(({ method, path }) => `${method} ${path}`)),
].sort();
const toId = (last: number) => `00000000-0000-7000-8000-00000000000${last}`;
const VALUES = {
  ...{ table: "todos", seq: "1", row: toId(1), id: toId(1), request: toId(2), act: toId(5) },
  ...{ person: toId(3), session: "abcdefghijklmnop", provider: "none", key: "abcdefghijklmnop" },
  ...{ app: "wiki", column: "title", invitation: toId(4) },
};
/** Errors before any route. */
const OTHERS = ["GET /nowhere", "PUT /v1/data/db/todos", "GET /v1/data/db/%zz", "POST /console"];

/** Sends a request, and returns everything that the caller sees. */
async function see(endpoint: string, headers: Record<string, string>): Promise<string> {
  const [method = "", path = ""] = endpoint.split(" ");
  const stop = new AbortController();
  const response = await fetch(service.url + fillPath(path, VALUES), {
    method,
    headers,
    redirect: "manual",
    signal: stop.signal,
  });
  const head = JSON.stringify([...response.headers]);
  // The body of an event stream does not end.
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    stop.abort();
    return head;
  }
  return `${head}\n${await response.text()}`;
}

const CALLERS: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
  "a stranger": async () => ({}),
  "a key": async () => ({ authorization: `Bearer ${app.key}` }),
  "a person without a role": async () => ({
    cookie: toCookieHeader(await signInAs(service, await makePerson(service))),
  }),
  "a person with a role": async () => ({
    cookie: toCookieHeader(await signInAs(service, await makePerson(service, { app }))),
  }),
};

test.each(Object.keys(CALLERS))("no route reveals the version to %s", async (caller) => {
  const headers = (await CALLERS[caller]?.()) ?? {};
  const revealing: string[] = [];
  const all = [...ENDPOINTS, ...OTHERS];
  for (const endpoint of all)
    if (VERSION.test(await see(endpoint, headers))) revealing.push(endpoint);
  expect(all.length).toBeGreaterThan(150);
  expect(revealing).toEqual([]);
});

describe("operators see the version", () => {
  test("in the footer of the Console, which its error pages do not have", async () => {
    const admin = await makePerson(service, { consoleRole: "admin" });
    const cookie = toCookieHeader(await signInAs(service, admin));
    expect(await see("GET /console", { cookie })).toContain(`Rowhouse ${RELEASE_TEXT}`);
    expect(await see("GET /console/apps/none", { cookie })).not.toMatch(VERSION);
  });

  test("in the metrics", async () => {
    const { adminFetch } = service.service;
    const metrics = await adminFetch(new Request("http://localhost/metrics"));
    const { version, tables, code } = RELEASE;
    expect(await metrics.text()).toContain(
      `rowhouse_build_info{version="${version}",tables="${tables}",code="${code}"} 1`,
    );
    for (const path of ["/live", "/ready", "/none"])
      expect(await (await adminFetch(new Request(`http://localhost${path}`))).text()).not.toMatch(
        VERSION,
      );
  });
});

describe("processes of different versions", () => {
  const older = "0.0.9 (tables 2, code 0123456789ab)";

  /** Adds a minute of a process, as a release sends it. */
  const report = (sent: { version: string; hasEnded?: boolean; id?: string }) =>
    service.service.admin.message(`select rowhouse.add_minute(
      process => '${sent.id ?? Bun.randomUUIDv7()}', process_role => 'all', started => '2026-01-02T03:04:05Z',
      added_minute => now() - interval '${sent.hasEnded === true ? 1 : 2} minutes',
      has_ended => ${sent.hasEnded ?? false}, checked_s => null, issues => '[]', counted => '[]', rejected => '[]',
      stored => '[]', process_version => '${sent.version}')`);
  const check = () => checkProcesses(service.service.db);

  test("are reported by doctor and on Home until the last of the older ones has ended", async () => {
    await eventually(async () => (await check()).message.includes("1 process of"), {
      describe: () => "the service has not reported",
    });
    expect(await check()).toMatchObject({
      level: "ok",
      message: expect.stringContaining(RELEASE_TEXT),
    });

    const id = Bun.randomUUIDv7();
    await report({ id, version: older });
    const { level, message, remedy } = await check();
    expect(level).toBe("warn");
    expect(message).toStartWith("of different versions run: ");
    expect(message).toContain(`1 process of ${RELEASE_TEXT}, since 20`);
    expect(message).toContain(`1 process of ${older}, since 2026-01-02T03:04:05Z`);
    expect(remedy).toContain(`this command is ${RELEASE_TEXT}`);

    const admin = await makePerson(service, { consoleRole: "admin" });
    const cookie = toCookieHeader(await signInAs(service, admin));
    const home = await see("GET /console", { cookie });
    expect(home).toContain("Processes of different versions are running");
    expect(home).toContain(`1 process of ${older}`);

    await report({ id, version: older, hasEnded: true });
    expect(await check()).toMatchObject({ level: "ok" });
    expect(await see("GET /console", { cookie })).not.toContain("different versions");
  });

  test("cannot store other text", async () => {
    for (const version of ["0.1.0", "$(reboot)", `${older}\n`, "<b>0.1.0 (tables 2, code 01)"])
      await expect(report({ version })).rejects.toThrow();
  });
});

test.each([
  { name: "no process", running: [], level: "ok", message: "none has reported" },
  {
    name: "processes of another version only",
    running: [{ version: "0.2.0 (tables 9, code ab)", processes: 2, since: new Date(0) }],
    level: "warn",
    message:
      "run another version than this command: 2 processes of 0.2.0 (tables 9, code ab), since 1970-01-01T00:00:00Z",
  },
])("doctor reports $name", ({ running, level, message }) => {
  expect(evaluateProcesses(running)).toMatchObject({
    level,
    message: expect.stringContaining(message),
  });
});
