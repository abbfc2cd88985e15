/** The serving login gets no data from the generated functions without a valid proof of the app's key. */
import { afterAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { SIGNALS } from "../../src/db/mod.ts";
import { PREVIEWS } from "../../src/preview.ts";
import type { Scope } from "../../src/principal.ts";
import { issueKey, revokeKey, rollKey } from "../../src/records/apps/mod.ts";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  ALL_ENDPOINTS,
  type Endpoint,
  functionsAt,
  isShared,
  scopeOf,
} from "../../src/tables/catalog/functions.ts";
import { citusUrl } from "../support/citus.ts";
import { testDeps } from "../support/deps.ts";
import { functionOf, renderCall } from "../support/functions.ts";
import { proofOf } from "../support/proof.ts";
import { openTestService } from "../support/service.ts";
import { testUnlessCitus } from "../support/skip.ts";

const schema = defineSchema({ notes: { title: t.string().required(), tag: t.string().unique() } });
const ROW = "00000000-0000-7000-8000-000000000001";

const service = await openTestService({ service: { previews: PREVIEWS } });
const [mine, other] = [await service.makeApp(schema), await service.makeApp(schema)];
for (const app of [mine, other])
  await service.call(app, "/v1/data/db/notes", { method: "POST", json: { title: "kept" } });
const { servingUrl, roleUrls } = service.database;
const logins = [servingUrl, roleUrls.data].map((url) => postgres(url, { max: 1, prepare: false }));
afterAll(async () => {
  await Promise.all(logins.map((login) => login.end()));
  await service.close();
});

const deps = () => testDeps(service.service);

async function issue(scopes: readonly Scope[], expiresAt?: Date) {
  const key = await issueKey(deps(), { slug: mine.slug, name: "own", scopes, expiresAt });
  service.secrets.add(key.text);
  return key;
}

/** SQL literals of invalid proofs. The database must not conclude anything from them. */
const UNPROVED = Object.entries<(scope: Scope) => Promise<string>>({
  null: async () => "null",
  "an empty proof": async () => "''",
  "a forged proof": async () => proofOf(`rh_x.${crypto.randomUUID()}`),
  "another app's proof": async () => proofOf(other.key),
  "the stored digest": async () => `sha256(${proofOf(mine.key)})`,
  "a key with the wrong scope": async (scope) =>
    proofOf((await issue([scope === "data:read" ? "data:write" : "data:read"])).text),
  "a key with the scope to push": async () => proofOf((await issue(["schema:push"])).text),
  "an expired key": async (scope) =>
    proofOf((await issue([scope], new Date(Date.now() - 1000))).text),
  "a revoked key": async (scope) => {
    const key = await issue([scope]);
    await revokeKey(deps(), key.keyId);
    return proofOf(key.text);
  },
  "a key that was rolled without a grace period": async (scope) => {
    const key = await issue([scope]);
    await rollKey(deps(), key.keyId, "0");
    return proofOf(key.text);
  },
});

/** The rows with a title that no row has. */
const WHERE = `'{"limit":10,"offset":0,"where":["and",["lte","id",1],["eq","title",2]],"parts":[{}]}', '{ffffffff-ffff-ffff-ffff-ffffffffffff,none}'`;

const ARGUMENTS = {
  list: "10, 0, 8388608, null, null",
  get: `'${ROW}', 8388608`,
  create: `'NEW', '{"title":"made"}', 8388608, null`,
  create_many: `'{NEW}', '[{"title":"made"}]', 8388608, null`,
  create_group: `'{NEW}', '[{"title":"made"}]', 8388608, null`,
  update: `'${ROW}', '{"title":"changed"}', 8388608, null, null`,
  update_many: `'{${ROW}}', '[{"title":"changed"}]', 8388608, null`,
  delete: `'${ROW}', null`,
  find: `'{"limit":10,"offset":0,"cursor":"id.asc","order":["id"],"picked":[],"parts":[{"where":["lte","id",1],"sort":[["id",false,false]]}]}', '{ffffffff-ffff-ffff-ffff-ffffffffffff}', 8388608, null`,
  walk: `'', false, '{00000000-0000-0000-0000-000000000000}', '{ffffffff-ffff-ffff-ffff-ffffffffffff}', null, 10, '{}', '{1}', 'id.asc', 8388608, '', null`,
  find_groups: `'{"where":["lte","id",1],"by":["title"]}', '{ffffffff-ffff-ffff-ffff-ffffffffffff}', 8388608, null`,
  upsert: `'{NEW}', '[{"title":"made","tag":"a"}]', '{2}', '{notes__tag__key,notes__tag__search_key}', '{1}', false, 8388608, null`,
  update_keyed: `'[{"title":"made","tag":"a"}]', '{2}', '{notes__tag__key,notes__tag__search_key}', 8388608, null`,
  update_found: `${WHERE}, 10, false, false, '{"title":"renamed"}', 8388608, null`,
  delete_found: `${WHERE}, 10, false, false, null`,
  changes: "null, 1000, 8388608",
} as const;

test("the isolation guard knows the functions of every endpoint", async () => {
  const options = { retry: "safe", queue: "service" } as const;
  const text = "select rowhouse.find_unrecorded()";
  expect(await service.service.admin.query(text, [], options)).toEqual([]);
});

/** Writes that find rows by their values. */
const READS_TOO: ReadonlySet<Endpoint> = new Set<Endpoint>([
  ...(["upsert", "update_keyed", "update_found", "delete_found"] as const),
]);
const OWN = functionsAt({ dialect: citusUrl() === undefined ? "plain" : "citus" });
const ENDPOINTS = ALL_ENDPOINTS.filter((name) => isShared(name) || OWN.includes(name));

describe.each(ENDPOINTS)("the function of %s", (endpoint) => {
  const scope = scopeOf(endpoint);
  const needed: Scope[] = [scope, ...(READS_TOO.has(endpoint) ? ["data:read" as const] : [])];
  const callWith = (login: postgres.Sql, proof: string) =>
    login.unsafe(
      `select ${renderCall(schema, "notes", endpoint, {
        app: `'${mine.id}'`,
        proof,
        values: ARGUMENTS[endpoint].replace("NEW", crypto.randomUUID()),
      })}`,
    );

  test.each(UNPROVED)("rejects %s", async (_, makeProof) => {
    const proof = await makeProof(scope);
    for (const login of logins) {
      const code = await callWith(login, proof).then(
        () => "done",
        (error: { code: string }) => error.code,
      );
      expect(code).toBe(SIGNALS.keyRejected);
    }
  });

  test.each(needed.length > 1 ? needed : [])("rejects a key with only %s", async (only) => {
    const proof = proofOf((await issue([only])).text);
    for (const login of logins)
      expect(await callWith(login, proof).catch(({ code }) => code)).toBe(SIGNALS.keyRejected);
  });

  test("accepts a key with only the required scopes", async () => {
    const proof = proofOf((await issue(needed)).text);
    for (const login of logins) expect(await callWith(login, proof)).toHaveLength(1);
  });
});

const PROOFS = (["prove_key", "prove_api_key"] as const).flatMap((prove) =>
  (["data:read", "data:write"] as const).map((scope) => ({ prove, scope })),
);

describe.each(PROOFS)("$prove of a key with $scope", ({ prove, scope }) => {
  const proveWith = (login: postgres.Sql, proof: string) =>
    login.unsafe(`select rowhouse.${prove}('${mine.id}', ${proof}, '${scope}')`);

  test.each(UNPROVED)("rejects %s", async (_, makeProof) => {
    const proof = await makeProof(scope);
    for (const login of logins)
      await expect(proveWith(login, proof)).rejects.toMatchObject({ code: SIGNALS.keyRejected });
  });

  test("accepts a key with only the required scope", async () => {
    const proof = proofOf((await issue([scope])).text);
    for (const login of logins) expect(await proveWith(login, proof)).toHaveLength(1);
  });
});

const testOne = testUnlessCitus("a cluster rejects calls in a transaction: see test/citus/");

testOne("a proof that expires during a transaction is rejected from that moment", async () => {
  const [login] = logins;
  if (login === undefined) throw new Error("There is no login");
  const key = await issue(["data:read"]);
  const proof = proofOf(key.text);
  const call = `select api.${functionOf(schema, "notes", "list")}('${mine.id}', ${proof}, 10, 0, 8388608, null, null)`;
  await login.unsafe("begin");
  expect(await login.unsafe(call)).toHaveLength(1);
  // The proof expires after the start of the transaction and before the next call.
  await service.service.admin.message(
    `update rowhouse.proofs set expires_at = clock_timestamp() where digest = sha256(${proof}) returning 1`,
  );
  await expect(login.unsafe(call)).rejects.toMatchObject({ code: SIGNALS.keyRejected });
  await login.unsafe("rollback");
});

test("deleting the app deletes the proofs of its keys", async () => {
  const gone = await service.makeApp();
  const key = await issueKey(deps(), {
    slug: gone.slug,
    name: "own",
    scopes: ["data:read"],
    expiresAt: undefined,
  });
  service.secrets.add(key.text);
  const count = async () => {
    const [row] = await service.query<{ count: number }>(
      "select count(*)::int4 as count from rowhouse.proofs where app_id = $1",
      [gone.id],
    );
    return row?.count;
  };
  expect(await count()).toBe(2);
  await service.service.admin.message(
    `delete from rowhouse.apps where id = '${gone.id}' returning id`,
  );
  expect(await count()).toBe(0);
});

test("rejected requests change nothing", async () => {
  const rows = await service.query<{ is_mine: boolean; title: string }>(
    "select app_id = $1 as is_mine, title from data.notes order by 1, 2",
    [mine.id],
  );
  const titles = (isMine: boolean) =>
    rows.filter((row) => row.is_mine === isMine).map(({ title }) => title);
  expect(titles(false)).toEqual(["kept"]);
  // Each login created one row with each endpoint, with a proof.
  const creating = ENDPOINTS.filter((endpoint) => endpoint.startsWith("create"));
  const upserted = ENDPOINTS.includes("upsert") ? ["made"] : [];
  const created = logins.flatMap(() => creating.map(() => "made"));
  expect(titles(true)).toEqual(["kept", ...created, ...upserted]);
});

test("no stored value of a key is accepted as a credential", async () => {
  const text = mine.key;
  const [row] = await service.query<{ stored: string }>(
    "select (select json_agg(api_keys) from rowhouse.api_keys)::text as stored",
  );
  const stored = row?.stored ?? "";
  const digests = [...stored.matchAll(/\\\\x([0-9a-f]{64})/g)].map(([, hex = ""]) => hex);
  expect(digests.length).toBeGreaterThan(1);
  const secret = text.slice(text.indexOf(".") + 1);
  const proof = proofOf(text).match(/[0-9a-f]{64}/)?.[0] ?? "";
  for (const secretText of [secret, proof]) expect(stored).not.toContain(secretText);
  for (const digest of digests)
    for (const login of logins) {
      const call = `select api.${functionOf(schema, "notes", "list")}('${mine.id}', decode('${digest}', 'hex'), 10, 0, 8388608, null, null)`;
      await expect(login.unsafe(call)).rejects.toMatchObject({ code: SIGNALS.keyRejected });
    }
});
