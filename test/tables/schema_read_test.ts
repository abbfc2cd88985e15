/** Keys with the scope `schema:read` can read a schema and plan changes, but apply nothing. */
import { describe, expect, test } from "bun:test";
import { SIGNALS } from "../../src/db/mod.ts";
import type { Scope } from "../../src/principal.ts";
import { issueKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { testDeps } from "../support/deps.ts";
import { makeHistory, postMigrations } from "../support/history.ts";
import { proofOf } from "../support/proof.ts";
import { dumpDatabase, freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const name = freshName();
const SCHEMA = defineSchema({ [name]: { title: t.string() } });
const NEXT = defineSchema({ [name]: { title: t.string(), note: t.string() } });
const service = await share(openTestService());
const app = await service.makeApp(SCHEMA);

/** Returns the app with a key that has only these scopes. */
async function withScopes(...scopes: Scope[]): Promise<TestApp> {
  const options = { slug: app.slug, name: "test", scopes, expiresAt: undefined };
  const { text } = await issueKey(testDeps(service.service), options);
  service.secrets.add(text);
  return { ...app, key: text };
}

const dump = () => dumpDatabase(service.service.admin);

describe.each([
  { scope: "schema:read" as const, read: 200, push: 403, lacks: "schema:push" },
  { scope: "schema:push" as const, read: 200, push: 200, lacks: undefined },
  { scope: "data:write" as const, read: 403, push: 403, lacks: "schema:push" },
])("a key with $scope", ({ scope, read, push, lacks }) => {
  test.each([
    { call: "GET /v1/data/schema", send: (as: TestApp) => service.call(as, "/v1/data/schema") },
    {
      call: "GET /v1/data/schema/migrations/1",
      send: (as: TestApp) => service.call(as, "/v1/data/schema/migrations/1"),
    },
    {
      call: "POST /v1/data/schema as a dry run",
      send: (as: TestApp) => postSchema(service, as, NEXT, { dryRun: true }),
    },
    {
      call: "a dry run of migrations",
      send: async () => {
        const fresh = await service.makeApp(undefined, { scopes: [scope] });
        const history = makeHistory([SCHEMA]);
        return await postMigrations({ service, app: fresh }, history, SCHEMA, { dryRun: true });
      },
    },
  ])(`gets ${read} from $call`, async ({ send }) => {
    const as = await withScopes(scope);
    expect((await send(as)).status).toBe(read);
  });

  test(`gets ${push} from a push`, async () => {
    const as = await withScopes(scope);
    const before = await dump();
    const response = await postSchema(service, as, SCHEMA);
    expect(response.status).toBe(push);
    expect(response.text).toContain(
      lacks === undefined ? '"unchanged"' : `This key lacks the scope ${lacks}`,
    );
    expect(await dump()).toBe(before);
  });

  test(`gets ${push} from the first migration of a history`, async () => {
    const as = await service.makeApp(undefined, { scopes: [scope] });
    const table = freshName();
    const [first = ""] = makeHistory([defineSchema({ [table]: {} })]);
    expect((await postMigrations({ service, app: as }, [first], SCHEMA)).status).toBe(push);
  });
});

test("the database rejects a push and a row read by a key with schema:read", async () => {
  const { key } = await withScopes("schema:read");
  const begin = (isDryRun: boolean) =>
    service.pushing.query(
      `select app_slug from rowhouse.begin_push($1, ${proofOf(key)}, 100, false, $2)`,
      [app.id, isDryRun],
      { retry: "unsafe", queue: app.id },
    );
  expect(await begin(true)).toEqual([{ app_slug: app.slug }]);
  expect(begin(false)).rejects.toMatchObject({ signal: SIGNALS.keyRejected });
  const rows = await service.call({ ...app, key }, `/v1/data/db/${name}`);
  expect(rows).toMatchObject({ status: 403, json: { error: "forbidden" } });
});
