/** `GET /v1/data/schema` returns the rules of the app's own declaration as sentences. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { freshName, postSchema } from "../support/push.ts";
import { openTestService, type TestApp } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService({ service: { previews: ["browser"] } }));

const [notes, todos] = [freshName(), freshName()];
const columns = { title: t.string(), owner: t.uuid().index() };
const RULED = defineSchema({
  [notes]: { text: t.string() },
  [todos]: t.model(columns).allow(["member", "lead"], { read: { owner: "me" } }),
});
const PLAIN = defineSchema({ [notes]: { text: t.string() }, [todos]: t.model(columns) });
const SHARED = defineSchema({ [todos]: t.model(columns).allow("boss", { read: true }) });

const rulesOf = async (app: TestApp) => {
  const { json } = await service.call(app, "/v1/data/schema");
  return (json as { readonly tables: unknown }).tables;
};

test("the record of an app has the rules of its last declaration", async () => {
  const app = await service.makeApp(RULED);
  const rights = "read rows where owner is the person; never creates, changes or deletes";
  const names = [notes, todos].sort();
  const ruled = ["lead", "member"].map((role) => ({ role, rights }));
  expect(await rulesOf(app)).toEqual(
    names.map((name) => ({ name, owned: true, ...(name === todos ? { rules: ruled } : {}) })),
  );

  const other = await service.makeApp(SHARED);
  const boss = [{ role: "boss", rights: "read all rows; never creates, changes or deletes" }];
  expect(await rulesOf(other)).toEqual([{ name: todos, owned: false, rules: boss }]);

  expect((await postSchema(service, app, PLAIN)).status).toBe(200);
  expect(await rulesOf(app)).toEqual(names.map((name) => ({ name, owned: true })));
  expect(await rulesOf(other)).toEqual([{ name: todos, owned: false, rules: boss }]);
});

test("a column that is no longer declared can make a membership ambiguous: the push is rejected", async () => {
  const [teams, members, tasks] = [freshName(), freshName(), freshName()];
  const joined = { person: t.uuid(), team: t.ref(teams) };
  const ruled = t
    .model({ team: t.ref(teams) })
    .allow("member", { read: { team: { memberOf: members } } });
  const app = await service.makeApp(
    defineSchema({ [teams]: {}, [members]: { ...joined, invited_by: t.uuid() } }),
  );
  const next = defineSchema({ [teams]: {}, [members]: joined, [tasks]: ruled });
  const { status, json } = await postSchema(service, app, next);
  expect(status).toBe(409);
  expect(json).toMatchObject({
    error: "incompatible_schema",
    details: [{ path: `/${tasks}/team`, message: expect.stringContaining(members) }],
  });
});
