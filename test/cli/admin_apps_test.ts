/** `rowhouse admin` for apps, keys and limits: its output, its effects, and the audit log. @module */
import { expect, test } from "bun:test";
import { APP_SCOPES } from "../../src/principal.ts";
import { openAdmin } from "../support/admin.ts";
import { eventually } from "../support/eventually.ts";
import { expectSentences } from "../support/sentences.ts";
import { share } from "../support/share.ts";

const admin = await share(openAdmin());

test("an app is created, listed and issued a key that works until it is revoked", async () => {
  const origin = "https://wiki.example.org";
  const callback = "https://app.example.org/callback";
  const words = ["create-app", "wiki", "--origin", origin, "--redirect", callback];
  const app = await admin.json(...words);
  expect(app).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), slug: "wiki" });
  const listed = await admin.json("list-apps");
  expect(listed["apps"]).toContainEqual({
    ...app,
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    disabledAt: null,
    origin: "https://app.example.org",
    tables: 0,
    keys: 0,
    pushedAt: null,
    targets: [callback, origin],
  });

  const issued = await admin.json("issue-key", "wiki", "--name", "server");
  expect(issued).toMatchObject({
    app: "wiki",
    name: "server",
    scopes: ["data:read", "data:write"],
    expiresAt: null,
  });
  const call = async () => {
    const key = String(issued["key"]);
    return (await admin.service.call(undefined, "/v1/data/db/none", { key })).status;
  };
  expect(await call()).toBe(404);
  const revoke = () => admin.run("revoke-key", String(issued["keyId"]));
  expect(await revoke()).toMatchObject({ code: 0, err: "" });
  await eventually(async () => (await call()) === 401);
  expect(await revoke()).toMatchObject({ code: 1, out: "" });
});

test("the command that create-app suggests issues a key that can push, read and write", async () => {
  const { out } = await admin.run("create-app", "proposed");
  const [, words = ""] = /: rowhouse (admin .*)\n$/.exec(out) ?? [];
  const key = (await admin.run(...words.split(" ").slice(1))).out.trim();
  const json = { steps: [{ kind: "define", definition: { tables: [] } }] };
  const sent = { method: "POST", json, key };
  const push = await admin.service.call(undefined, "/v1/data/schema", sent);
  expect([401, 403]).not.toContain(push.status);
  const listed = await admin.json("list-keys", "proposed");
  expect(listed["keys"]).toMatchObject([{ scopes: [...APP_SCOPES] }]);
});

test("create-app suggests an origin with the scheme and the port of the sign-in", async () => {
  const settings = {
    COOKIE_DOMAIN: "rowhouse.localhost",
    IDENTITY_URL: "http://id.rowhouse.localhost:8787",
  };
  await using local = await openAdmin(settings);
  const { out } = await local.run("create-app", "near");
  expect(out).toContain("set-origins near --add-origin http://near.rowhouse.localhost:8787\n");
});

test("set-origins adds, removes and replaces an app's targets, which apply to the pages", async () => {
  const slug = "placed";
  const at = (host: string, path = "") => `https://${host}.example.org${path}`;
  await admin.run("create-app", slug, "--origin", at("one"), "--redirect", at("one", "/back"));
  const isTarget = async (url: string) => {
    const query = `app=${slug}&redirect_uri=${encodeURIComponent(url)}`;
    return (await admin.service.call(undefined, `/authorize?${query}`)).status === 200;
  };
  expect(
    await admin.json("set-origins", slug, "--add-origin", at("two"), "--remove-origin", at("one")),
  ).toEqual({ app: slug, origins: [at("two")], redirects: [at("one", "/back")] });
  expect(
    await Promise.all([at("two", "/x"), at("one", "/x"), at("one", "/back")].map(isTarget)),
  ).toEqual([true, false, true]);
  const replaced = {
    app: slug,
    origins: [at("three"), at("two")],
    redirects: [at("one", "/back")],
  };
  const words = ["set-origins", slug, "--origin", at("two"), "--origin", at("three")];
  expect(await admin.json(...words)).toEqual(replaced);
  expect(await admin.json(...words)).toEqual(replaced);
  const { out } = await admin.run("set-origins", slug, "--remove-redirect", at("one", "/back"));
  expect(out).toStartWith(
    `Origins of placed: ${at("three")}, ${at("two")}\nRedirects of placed: none\n`,
  );
  const changes = (await readAudit(slug)).filter(({ action }) => action === "set_targets");
  expect(changes.map(({ details }) => details["after"])).toEqual([
    { origins: [at("two")], redirects: [at("one", "/back")] },
    { origins: [at("three"), at("two")], redirects: [at("one", "/back")] },
    { origins: [at("three"), at("two")], redirects: [] },
  ]);
});

test("each output names the next command: add origins, create the first administrator, issue a key", async () => {
  await using own = await openAdmin();
  const steps = async (...words: string[]) =>
    [...(await own.run(...words)).out.matchAll(/^Next, .*: rowhouse admin (\S+)/gm)].map(
      ([, command]) => command,
    );
  expect(await steps("create-app", "first")).toEqual(["set-origins", "create-user", "issue-key"]);
  expect(await steps("set-origins", "first", "--add-origin", "https://first.example.org")).toEqual([
    "create-user",
    "issue-key",
  ]);
  expect(await steps("create-user", "ada@example.org", "--role", "super_admin")).toEqual([
    "issue-key",
  ]);
  await own.run("issue-key", "first");
  expect(await steps("set-origins", "first", "--origin", "https://first.example.org")).toEqual([]);
});

test("issue-key prints only the key", async () => {
  await admin.run("create-app", "quiet");
  const words = ["issue-key", "quiet", "--scope", "schema:push,data:read"];
  const { code, out, err } = await admin.run(...words);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(/^rh_[a-z0-9]{16}\.[0-9A-Za-z]{49}\n$/);
});

test.each([
  { text: "30m", ms: 30 * 60_000 },
  { text: "90d", ms: 90 * 86_400_000 },
])("issue-key --expires $text issues a key with that lifetime", async ({ text, ms }) => {
  await admin.run("create-app", `expiring-${text}`);
  const before = Date.now();
  const issued = await admin.json("issue-key", `expiring-${text}`, "--expires", text);
  const at = Date.parse(String(issued["expiresAt"]));
  expect(at).toBeGreaterThanOrEqual(before + ms);
  expect(at).toBeLessThanOrEqual(Date.now() + ms);
});

type Entry = { actor: string; action: string; app: string; details: Record<string, unknown> };

/** The audit log of an app from `admin audit`, oldest first. */
async function readAudit(slug: string): Promise<Entry[]> {
  const { entries } = await admin.json("audit", "--limit", "500");
  return (entries as Entry[]).filter(({ app }) => app === slug).reverse();
}

test("changes of apps, keys and limits are in the audit log, without a secret", async () => {
  const slug = "audited";
  const { json } = admin;
  await json("create-app", slug, "--origin", "https://audited.example.org");
  const issued = await json("issue-key", slug, "--name", "server", "--expires", "90d");
  const rolled = await json("roll-key", String(issued["keyId"]), "--grace", "1h");
  await json("revoke-key", String(rolled["keyId"]));
  await json("set-limit", slug, "--per-minute", "6000");
  await json("set-limit", slug, "--per-minute", "60", "--per-key", "6");
  const rejected = [
    await admin.run("create-app", slug),
    await admin.run("issue-key", "nobody-here"),
    await admin.run("roll-key", String(rolled["keyId"])),
    await admin.run("revoke-key", String(rolled["keyId"])),
    await admin.run("set-limit", "nobody-here", "--per-minute", "1"),
  ];
  expect(rejected.map(({ code }) => code)).toEqual(rejected.map(() => 1));

  const entries = (await readAudit(slug)).map(
    ({ actor, action, details }) => `${actor} ${action} ${JSON.stringify(details)}`,
  );
  const time = /\d{4}-\d\d-\d\dT[\d:.+]+/g;
  expectSentences(entries.join("\n").replaceAll(time, "<time>"), {
    varies: { [String(issued["keyId"])]: "<key>", [String(rolled["keyId"])]: "<new key>" },
  });
  const { out } = await admin.run("audit", "--limit", "500");
  for (const { key } of [issued, rolled] as { key: string }[]) {
    expect(out).not.toContain(key);
    expect(out).not.toContain(key.split(".")[1] ?? key);
  }
  expect(out).toContain("operator  revoke_key  audited");
});

test("a change without an audit entry is rolled back", async () => {
  const slug = "unnoted";
  await admin.run("create-app", slug);
  const issued = await admin.json("issue-key", slug);
  const keyId = String(issued["keyId"]);
  const readAll = async () => {
    const [row] = await admin.service.query<{ text: string }>(
      `select concat((select json_agg(a order by id)::text from rowhouse.apps a),
        (select json_agg(t order by url)::text from rowhouse.targets t),
        (select json_agg(k order by key_id)::text from rowhouse.api_keys k)) as text`,
    );
    return row?.text;
  };
  const before = await readAll();
  await admin.service.service.admin.message(
    `create trigger reject_insert before insert on rowhouse.audit
    for each statement execute function rowhouse.reject_change(); select 1`,
  );
  try {
    for (const words of [
      ["create-app", "unnoted-too", "--origin", "https://unnoted.example.org"],
      ["issue-key", slug],
      ["roll-key", keyId],
      ["revoke-key", keyId],
      ["set-limit", slug, "--per-minute", "1"],
      ["set-origins", slug, "--add-origin", "https://unnoted.example.org"],
      ["set-app", slug, "disabled", "on"],
      ["rename-app", slug, "unnoted-too"],
    ]) {
      const { code, out } = await admin.run(...words);
      expect([words[0], code, out]).toEqual([words[0], 1, ""]);
    }
    expect(await readAll()).toBe(before ?? "nothing");
  } finally {
    await admin.service.service.admin.message(
      "drop trigger reject_insert on rowhouse.audit; select 1",
    );
  }
});

test("roll-key reports the end of the old key on standard error", async () => {
  await admin.run("create-app", "piping");
  const issued = await admin.json("issue-key", "piping");
  const { code, out, err } = await admin.run("roll-key", String(issued["keyId"]));
  expect([code, out]).toEqual([0, expect.stringMatching(/^rh_\S+\n$/)]);
  expect(err).toMatch(/^The old key works until \d{4}-\S+Z\n$/m);
});

test("a key is rolled and listed, and an app's limit is set", async () => {
  await admin.run("create-app", "rolling");
  const issued = await admin.json("issue-key", "rolling", "--name", "server");
  const keyId = String(issued["keyId"]);
  const copy = await admin.json("roll-key", keyId, "--grace", "1h");
  expect(copy).toMatchObject({ expiresAt: null, old: { keyId } });
  for (const key of [String(issued["key"]), String(copy["key"])])
    expect((await admin.service.call(undefined, "/v1/data/db/none", { key })).status).toBe(404);

  const listed = await admin.json("list-keys", "rolling");
  const common = { name: "server", scopes: ["data:read", "data:write"], status: "active" };
  expect(listed).toMatchObject({
    app: "rolling",
    keys: [
      { ...common, keyId: copy["keyId"], expiresAt: null },
      { ...common, keyId, lastUsedAt: expect.stringMatching(/Z$/) },
    ],
  });
  for (const secret of [issued["key"], copy["key"]])
    expect(JSON.stringify(listed)).not.toContain(String(secret).split(".")[1] ?? "no key");

  const set = await admin.json("set-limit", "rolling", "--per-minute", "60", "--per-key", "30");
  expect(set).toEqual({ app: "rolling", perMinute: 60, perMinuteOfKey: 30 });
  const reset = await admin.run("set-limit", "rolling");
  expect(reset.out).toBe(
    "App rolling can send 600000 requests per minute, each of its keys 600000\n",
  );
});
