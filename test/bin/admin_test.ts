import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SERVICE_QUEUE } from "../../src/db/mod.ts";
import { SCOPES } from "../../src/principal.ts";
import { makeProject, runCommand } from "../support/command.ts";
import { testRefused } from "../support/refused.ts";
import { openTestService, type TestService } from "../support/service.ts";

let service: TestService;
let project: ReturnType<typeof makeProject>;
beforeAll(async () => {
  service = await openTestService();
  project = makeProject();
});
afterAll(async () => {
  project.remove();
  await service.close();
});

const admin = (...words: string[]) =>
  runCommand(["admin", ...words], {
    ...project,
    env: { ADMIN_DATABASE_URL: service.database.adminUrl, COOKIE_DOMAIN: "example.org" },
  });
const parse = (text: string) => JSON.parse(text) as Record<string, unknown>;

test("an app is made, listed, given a key; the key works until it is revoked", async () => {
  const made = await admin(
    "create-app",
    "wiki",
    "--origin",
    "https://wiki.example.org",
    "--redirect",
    "https://app.example.org/callback",
    "--json",
  );
  expect(made).toMatchObject({ code: 0, err: "" });
  const app = parse(made.out);
  expect(app).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), slug: "wiki" });
  const listed = parse((await admin("list-apps", "--json")).out);
  expect(listed["apps"]).toContainEqual({
    ...app,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    targets: ["https://app.example.org/callback", "https://wiki.example.org"],
  });

  const issued = parse((await admin("issue-key", "wiki", "--name", "server", "--json")).out);
  expect(issued).toMatchObject({
    app: "wiki",
    name: "server",
    scopes: ["data:read", "data:write"],
    expiresAt: null,
  });
  const call = () =>
    service
      .call(undefined, "/v1/data/db/none", { key: String(issued["key"]) })
      .then(({ status }) => status);
  expect(await call()).toBe(404);
  expect(await admin("revoke-key", String(issued["keyId"]))).toMatchObject({ code: 0, err: "" });
  const deadline = performance.now() + 6000;
  while ((await call()) !== 401 && performance.now() < deadline) await Bun.sleep(100);
  expect(await call()).toBe(401);
  expect(await admin("revoke-key", String(issued["keyId"]))).toMatchObject({ code: 1, out: "" });
});

test("the command that create-app proposes gives a key that may push, read and write", async () => {
  const { out } = await admin("create-app", "proposed");
  const [, words = ""] = /: rowhouse (admin .*)\n$/.exec(out) ?? [];
  const key = (await admin(...words.split(" ").slice(1))).out.trim();
  const json = { definition: { tables: [] }, journal: [], dryRun: false };
  const push = await service.call(undefined, "/v1/data/schema", { method: "POST", json, key });
  expect(push.status).not.toBe(401);
  expect(push.status).not.toBe(403);
  const listed = parse((await admin("list-keys", "proposed", "--json")).out);
  expect(listed["keys"]).toMatchObject([{ scopes: [...SCOPES] }]);
});

test("issue-key prints the key and nothing else", async () => {
  await admin("create-app", "quiet");
  const { code, out, err } = await admin("issue-key", "quiet", "--scope", "schema:push,data:read");
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^rh_[a-z0-9]{16}\.[0-9A-Za-z]{49}\n$/);
});

test.each([
  { text: "30m", ms: 30 * 60_000 },
  { text: "90d", ms: 90 * 86_400_000 },
])("issue-key --expires $text is that long", async ({ text, ms }) => {
  await admin("create-app", `expiring-${text}`);
  const before = Date.now();
  const { out } = await admin("issue-key", `expiring-${text}`, "--expires", text, "--json");
  const at = Date.parse(String(parse(out)["expiresAt"]));
  expect(at).toBeGreaterThanOrEqual(before + ms);
  expect(at).toBeLessThanOrEqual(Date.now() + ms);
});

type Entry = { actor: string; action: string; app: string; details: Record<string, unknown> };

/** The audit log of an app, oldest first, as `admin audit` shows it. */
async function readAudit(slug: string): Promise<Entry[]> {
  const { entries } = parse((await admin("audit", "--limit", "500", "--json")).out);
  return (entries as Entry[]).filter(({ app }) => app === slug).reverse();
}

test("what is done to apps, keys and limits is in the audit log, without a secret", async () => {
  const slug = "audited";
  const json = async (...words: string[]) => parse((await admin(...words, "--json")).out);
  const app = await json("create-app", slug, "--origin", "https://audited.example.org");
  const issued = await json("issue-key", slug, "--name", "server", "--expires", "90d");
  const rolled = await json("roll-key", String(issued["keyId"]), "--grace", "1h");
  await json("revoke-key", String(rolled["keyId"]));
  await json("set-limit", slug, "--per-minute", "6000");
  await json("set-limit", slug, "--per-minute", "60", "--per-key", "6");
  const refused = [
    await admin("create-app", slug),
    await admin("issue-key", "nobody-here"),
    await admin("roll-key", String(rolled["keyId"])),
    await admin("revoke-key", String(rolled["keyId"])),
    await admin("set-limit", "nobody-here", "--per-minute", "1"),
  ];
  expect(refused.map(({ code }) => code)).toEqual(refused.map(() => 1));

  const entries = await readAudit(slug);
  expect(entries.map(({ actor, action, details }) => ({ actor, action, details }))).toEqual([
    {
      actor: "operator",
      action: "create_app",
      details: { id: app["id"], targets: ["https://audited.example.org"] },
    },
    {
      actor: "operator",
      action: "issue_key",
      details: {
        keyId: issued["keyId"],
        name: "server",
        scopes: ["data:read", "data:write"],
        expiresAt: expect.any(String),
      },
    },
    {
      actor: "operator",
      action: "roll_key",
      details: {
        keyId: issued["keyId"],
        newKeyId: rolled["keyId"],
        name: "server",
        expiresAt: expect.any(String),
        oldExpiresAt: expect.any(String),
      },
    },
    { actor: "operator", action: "revoke_key", details: { keyId: rolled["keyId"] } },
    {
      actor: "operator",
      action: "set_limit",
      details: {
        before: { perMinute: null, perMinuteOfKey: null },
        after: { perMinute: 6000, perMinuteOfKey: null },
      },
    },
    {
      actor: "operator",
      action: "set_limit",
      details: {
        before: { perMinute: 6000, perMinuteOfKey: null },
        after: { perMinute: 60, perMinuteOfKey: 6 },
      },
    },
  ]);
  const { out } = await admin("audit", "--limit", "500");
  for (const { key } of [issued, rolled] as { key: string }[]) {
    expect(out).not.toContain(key);
    expect(out).not.toContain(key.split(".")[1] ?? key);
  }
  expect(out).toContain("operator  revoke_key  audited");
});

test("what cannot be noted in the audit log is not done", async () => {
  const slug = "unnoted";
  await admin("create-app", slug);
  const issued = parse((await admin("issue-key", slug, "--json")).out);
  const keyId = String(issued["keyId"]);
  const readAll = async () =>
    (
      await service.service.admin.query<{ text: string }>(
        `select concat((select json_agg(a order by id)::text from rowhouse.apps a),
          (select json_agg(t order by url)::text from rowhouse.targets t),
          (select json_agg(k order by key_id)::text from rowhouse.api_keys k)) as text`,
        [],
        { retry: "safe", queue: SERVICE_QUEUE },
      )
    )[0]?.text;
  const before = await readAll();
  await service.service.admin.message(
    `create trigger refuse_insert before insert on rowhouse.audit
    for each statement execute function rowhouse.refuse_change(); select 1`,
  );
  try {
    for (const words of [
      ["create-app", "unnoted-too", "--origin", "https://unnoted.example.org"],
      ["issue-key", slug],
      ["roll-key", keyId],
      ["revoke-key", keyId],
      ["set-limit", slug, "--per-minute", "1"],
    ]) {
      const { code, out } = await admin(...words);
      expect([words[0], code, out]).toEqual([words[0], 1, ""]);
    }
    expect(await readAll()).toBe(before ?? "nothing");
  } finally {
    await service.service.admin.message("drop trigger refuse_insert on rowhouse.audit; select 1");
  }
});

describe("refusals", () => {
  testRefused(admin, [
    { words: ["create-app", "Wiki"], code: 1, says: 'Cannot name an app "Wiki"' },
    {
      words: ["create-app", "a", "--origin", "https://a.example.org"],
      code: 1,
      says: "must match",
    },
    {
      words: ["create-app", "evil", "--origin", "https://evil.test"],
      code: 1,
      says: "must be a host under example.org",
    },
    {
      words: ["create-app", "http", "--origin", "http://a.example.org"],
      code: 1,
      says: "must begin with https://",
    },
    { words: ["issue-key", "nobody"], code: 1, says: 'No app has the slug "nobody"' },
    {
      words: ["issue-key", "x1", "--scope", "data:all"],
      code: 2,
      says: 'Unknown scope "data:all"',
    },
    { words: ["issue-key", "x1", "--expires", "soon"], code: 2, says: "Cannot read --expires" },
    {
      words: ["issue-key", "x1", "--expires", "2001-01-01"],
      code: 2,
      says: "must be in the future",
    },
    ...["name", "scope", "expires"].map((flag) => ({
      words: ["issue-key", "x1", `--${flag}`, ""],
      code: 2,
      says: `Flag --${flag} lacks its value`,
    })),
    { words: ["revoke-key", "rh_abc.secret"], code: 2, says: "must be the 16 characters" },
    { words: ["revoke-key", "aaaaaaaaaaaaaaaa"], code: 1, says: "is unknown, or revoked already" },
  ]);

  test("an app that exists stays as it is", async () => {
    expect((await admin("create-app", "twice")).code).toBe(0);
    const { code, err } = await admin("create-app", "twice");
    expect([code, err]).toEqual([1, 'Cannot create app "twice": it exists already\n']);
  });
});

test("a key is rolled over and listed; an app's limit is set", async () => {
  await admin("create-app", "rolling");
  const issued = parse((await admin("issue-key", "rolling", "--name", "server", "--json")).out);
  const keyId = String(issued["keyId"]);
  const rolled = await admin("roll-key", keyId, "--grace", "1h", "--json");
  expect(rolled).toMatchObject({ code: 0, err: "" });
  const copy = parse(rolled.out);
  expect(copy).toMatchObject({ expiresAt: null, old: { keyId } });
  for (const key of [issued["key"], copy["key"]])
    expect((await service.call(undefined, "/v1/data/db/none", { key: String(key) })).status).toBe(
      404,
    );

  const listed = await admin("list-keys", "rolling", "--json");
  const common = { name: "server", scopes: ["data:read", "data:write"], status: "active" };
  expect(parse(listed.out)).toMatchObject({
    app: "rolling",
    keys: [
      { ...common, keyId: copy["keyId"], expiresAt: null },
      { ...common, keyId, lastUsedAt: expect.stringMatching(/Z$/) },
    ],
  });
  for (const secret of [issued["key"], copy["key"]])
    expect(listed.out).not.toContain(String(secret).split(".")[1] ?? "no key");

  const set = await admin(
    "set-limit",
    "rolling",
    "--per-minute",
    "60",
    "--per-key",
    "30",
    "--json",
  );
  expect(parse(set.out)).toEqual({ app: "rolling", perMinute: 60, perMinuteOfKey: 30 });
  const reset = await admin("set-limit", "rolling");
  expect(reset.out).toBe(
    "App rolling may send 600000 requests a minute, each of its keys 600000\n",
  );
});

test.each([
  { words: ["roll-key", "a".repeat(16)], code: 1 },
  { words: ["roll-key", "a".repeat(16), "--grace", "2h"], code: 2 },
  { words: ["roll-key", "rh_abc.secret"], code: 2 },
  { words: ["list-keys", "no-such-app"], code: 1 },
  { words: ["set-limit", "no-such-app", "--per-minute", "5"], code: 1 },
  { words: ["set-limit", "no-such-app", "--per-minute", "0"], code: 2 },
])("admin $words exits with $code", async ({ words, code }) => {
  const refused = await admin(...words);
  expect([refused.code, refused.out]).toEqual([code, ""]);
  expect(refused.err).not.toContain("abc.secret");
});

describe("a key is refused", () => {
  test.each([
    { name: "with a second line", flags: ["--name", "a\nb"], wanted: "control characters" },
    {
      name: "with a terminal's words",
      flags: ["--name", "a\u001b[31m"],
      wanted: "control characters",
    },
    {
      name: "until a day that does not exist",
      flags: ["--expires", "2030-02-31"],
      wanted: "--expires",
    },
    {
      name: "until a time without offset",
      flags: ["--expires", "2030-01-01T00:00:00"],
      wanted: "--expires",
    },
  ])("$name", async ({ flags, wanted }) => {
    await admin("create-app", "names");
    const { code, out, err } = await admin("issue-key", "names", ...flags);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(wanted);
  });
});
