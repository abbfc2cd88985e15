/** A service in three processes: the deployed command, each with the login of its role. */
import { afterAll, describe, expect, test } from "bun:test";
import { readConfig } from "../../src/settings/mod.ts";
import { cases } from "../support/cases.ts";
import { makeDatabase, type SplitRole } from "../support/cluster.ts";
import {
  makeProject,
  type Running,
  runCommand,
  runHere,
  type Settings,
  schemaText,
  startCommand,
} from "../support/command.ts";
import { TEST_IDENTITY_SECRET } from "../support/deps.ts";

const SECRET = "a secret of the processes - 32 bytes or more";
const IDENTITY_SECRET = "a secret of identity's own - 32 bytes or more";
const LIST = "/v1/data/db/todos";

let running: Running[] = [];
const project = makeProject({
  "schema/mod.ts": schemaText("{ todos: { title: t.string().required() } }"),
});
const database = await makeDatabase();
afterAll(async () => {
  await Promise.all(running.map((child) => child.kill("SIGTERM")));
  project.remove();
  await database.drop();
});

async function start(role: SplitRole, settings: Settings = {}): Promise<string> {
  const env: Settings = {
    DATABASE_URL: database.roleUrls[role],
    DATABASE_PREPARE: database.prepare ? "on" : "off",
    INTERNAL_HMAC_SECRET: SECRET,
    HOST: "127.0.0.1",
    PORT: "0",
    ...settings,
  };
  const started = startCommand(["serve", "--role", role], { ...project, env });
  running = [...running, started];
  const [, port] = await started.until(/"event":"listening".*"port":(\d+)/);
  return `http://127.0.0.1:${port}`;
}

test("gateway, data and identity serve together, change their secret without an outage, and stop", async () => {
  const env = { ADMIN_DATABASE_URL: database.adminUrl };
  const run = async (...args: string[]) => {
    const { code, out, err } = await runHere(args, { ...project, env });
    expect([code, err]).toEqual([0, ""]);
    return out.trim();
  };
  await run("admin", "create-app", "shop");
  const key = await run(
    "admin",
    "issue-key",
    "shop",
    "--scope",
    "data:read,data:write,schema:push",
  );
  const [data, identity] = await Promise.all([
    start("data", {
      ADMIN_DATABASE_URL: database.pushUrl,
      INTERNAL_HMAC_SECRET: `next ${SECRET},${SECRET}`,
    }),
    start("identity", {
      INTERNAL_HMAC_SECRET: IDENTITY_SECRET,
      IDENTITY_SECRET: TEST_IDENTITY_SECRET,
    }),
  ]);
  const gateway = await start("gateway", {
    INTERNAL_HMAC_SECRET_IDENTITY: IDENTITY_SECRET,
    UPSTREAM_DATA_URL: data,
    UPSTREAM_IDENTITY_URL: identity,
  });
  // The push goes through the gateway, like any request.
  const pushed = await runHere(["db", "push", "--url", gateway], {
    ...project,
    env: { ROWHOUSE_API_KEY: key },
  });
  expect(pushed).toMatchObject({ code: 0 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ title: "Milk" });
  expect((await fetch(gateway + LIST, { method: "POST", headers, body })).status).toBe(201);
  expect(await (await fetch(gateway + LIST, { headers })).json()).toMatchObject({
    rows: [{ title: "Milk" }],
  });
  expect((await fetch(`${gateway}/ready`)).status).toBe(200);
  for (const upstream of [data, identity]) {
    expect((await fetch(upstream + LIST, { headers })).status).toBe(401);
    expect((await fetch(`${upstream}/live`)).status).toBe(200);
  }
  const codes = await Promise.all(running.map((child) => child.kill("SIGTERM")));
  expect(codes).toEqual([0, 0, 0]);
  for (const secret of [SECRET, IDENTITY_SECRET, TEST_IDENTITY_SECRET])
    expect(running.map((child) => child.output()).join()).not.toContain(secret);
}, 60_000);

describe("the configuration of a role", () => {
  const complete = {
    ROLE: "gateway",
    INTERNAL_HMAC_SECRET: SECRET,
    UPSTREAM_DATA_URL: "http://data:8787",
    UPSTREAM_IDENTITY_URL: "http://identity:8787",
  };
  const SHORT = "short secret value";
  const WRONG = cases("name", "env", "issues")`
    no secret for data                   | ROLE=data                                                           | INTERNAL_HMAC_SECRET
    no secret for identity               | ROLE=identity                                                       | INTERNAL_HMAC_SECRET
    no settings for a gateway            | ROLE=gateway                                                        | INTERNAL_HMAC_SECRET UPSTREAM_DATA_URL UPSTREAM_IDENTITY_URL
    a short secret                       | complete; INTERNAL_HMAC_SECRET=${SHORT} | INTERNAL_HMAC_SECRET
    a short second secret                | complete; INTERNAL_HMAC_SECRET=${SECRET},${SHORT} | INTERNAL_HMAC_SECRET
    a trailing comma                     | complete; INTERNAL_HMAC_SECRET=${SECRET}, | INTERNAL_HMAC_SECRET
    a secret for only one service        | complete; INTERNAL_HMAC_SECRET=; INTERNAL_HMAC_SECRET_DATA=${SECRET} | INTERNAL_HMAC_SECRET
    a short secret for one service       | complete; INTERNAL_HMAC_SECRET_IDENTITY=${SHORT} | INTERNAL_HMAC_SECRET_IDENTITY
    the data service's secret elsewhere  | ROLE=identity; INTERNAL_HMAC_SECRET=${IDENTITY_SECRET}; INTERNAL_HMAC_SECRET_DATA=${SECRET} | INTERNAL_HMAC_SECRET_DATA
    the identity secret at a gateway     | complete; IDENTITY_SECRET=${TEST_IDENTITY_SECRET}                    | IDENTITY_SECRET
    the identity secret at data          | ROLE=data; INTERNAL_HMAC_SECRET=${SECRET}; IDENTITY_SECRET=${TEST_IDENTITY_SECRET} | IDENTITY_SECRET
    a short identity secret              | IDENTITY_SECRET=${SHORT}                                            | IDENTITY_SECRET
    an upstream with a path              | complete; UPSTREAM_DATA_URL=http://data:8787/x                       | UPSTREAM_DATA_URL
    an unknown role                      | ROLE=console                                                        | ROLE
    an invalid proxy                     | TRUSTED_PROXIES=10.0.0.0/8,proxy                                    | TRUSTED_PROXIES
  `;
  test.each(WRONG)("is rejected with $name", ({ env: text, issues }) => {
    const settings = text.split("; ").filter((setting) => setting.includes("="));
    const read = settings.map((setting) => setting.split(/=(.*)/).slice(0, 2));
    const env: Record<string, string> = {
      ...(text.startsWith("complete") ? complete : {}),
      ...Object.fromEntries(read),
    };
    expectRejected(env, issues.split(" "));
  });

  function expectRejected(env: Record<string, string>, issues: readonly string[]) {
    const read = readConfig(env);
    const found = "issues" in read ? read.issues : [];
    expect(found.map((issue) => issue.split(" ")[0])).toEqual([...issues]);
    for (const value of Object.values(env).filter((text) => text.includes("secret")))
      expect(found.join()).not.toContain(value);
  }

  test("is checked before serve listens, and an error names the variable without its value", async () => {
    const env = { ...complete, INTERNAL_HMAC_SECRET: SHORT, DATABASE_URL: database.servingUrl };
    const { code, out, err } = await runCommand(["serve"], { ...project, env });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain("INTERNAL_HMAC_SECRET must be");
    expect(err).not.toContain(SHORT);
  });

  test("needs no setting for the role all, and an empty value counts as unset", () => {
    const read = readConfig({ INTERNAL_HMAC_SECRET: "", UPSTREAM_DATA_URL: "" });
    expect("config" in read ? read.config.ROLE : read.issues).toBe("all");
  });
});
