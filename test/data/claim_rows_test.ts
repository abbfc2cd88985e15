/** Writes by condition as a queue of work: rows are locked and compared again, so that each is claimed once, and only while a person sees it. */
import { describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { eventually } from "../support/eventually.ts";
import { countLockWaits, whileDone } from "../support/held_lock.ts";
import { makePerson, signInAs } from "../support/people.ts";
import { getPersonKey, openToBrowsers } from "../support/person_keys.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";
import { countRuns } from "../support/tier.ts";

const schema = defineSchema({
  teams: { name: t.string().required() },
  members: { person: t.uuid().required(), team: t.ref("teams").required() },
  jobs: t
    .model({
      status: t.enum(["open", "taken"]).required().default("open").index(),
      owner: t.uuid(),
      team: t.ref("teams"),
      claim: t.uuid().index(),
    })
    .allow("member", {
      read: [{ owner: "me" }, { team: { memberOf: "members" } }],
      update: true,
      delete: true,
    }),
});
const ORIGIN = "https://jobs.example.org";
const JOBS = "/v1/data/db/jobs";
const WORKERS = 8;
/** Workers compete for the first rows all the time. */
const ROWS = countRuns(1000);
type Row = { id: string; status: string; claim: string | null };
type Counted = { count: number; hasMore?: boolean; ids?: string[] };

const service = await share(
  openTestService({
    connections: 30,
    identity: () => ({ cookieDomain: "example.org" }),
    service: { previews: ["filters", "live", "browser"] },
  }),
);
const app = await service.makeApp(schema, { origins: [ORIGIN] });
await openToBrowsers(service, app);
const person = await makePerson(service, { app, role: "member" });
const { key: personKey, user } = await getPersonKey(service, {
  ...{ cookies: await signInAs(service, person), app, origin: ORIGIN },
});

const CALLERS = [
  { by: "an API key", key: app.key },
  { by: "a person's key", key: personKey },
];

async function make(rows: readonly object[], table = "jobs"): Promise<Row[]> {
  const made = await service.call(app, `/v1/data/db/${table}`, { method: "POST", json: rows });
  expect(made.status).toBe(201);
  return (made.json as { rows: Row[] }).rows;
}

async function list(): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const page = await service.call(app, `${JOBS}?limit=1000&offset=${rows.length}`);
    const { rows: found, hasMore } = page.json as { rows: Row[]; hasMore: boolean };
    rows.push(...found);
    if (!hasMore) return rows;
  }
}

async function clear() {
  await service.call(app, `${JOBS}?all=true&limit=1000`, { method: "DELETE" });
  expect(await list()).toEqual([]);
}

async function send(key: string, method: "PATCH" | "DELETE", query: string, json?: object) {
  const sent = await service.call(app, `${JOBS}?${query}`, { method, key, ...(json && { json }) });
  expect(sent).toMatchObject({ status: 200 });
  return sent.json as Counted;
}

describe.each(CALLERS)("with $by", ({ key }) => {
  test(`${WORKERS} workers claim ${ROWS} rows, each once`, async () => {
    await clear();
    await make(Array.from({ length: ROWS }, () => ({ owner: user.id })));
    const claims = await Promise.all(
      Array.from({ length: WORKERS }, async () => {
        const won: string[] = [];
        for (;;) {
          const claim = crypto.randomUUID();
          const taken = { status: "taken", claim };
          const { count, hasMore } = await send(key, "PATCH", "status=eq.open&limit=1", taken);
          if (count === 1) won.push(claim);
          // Another worker was faster.
          else if (
            !hasMore &&
            (await send(key, "PATCH", "status=eq.open&dryRun=true", {})).count === 0
          )
            return won;
        }
      }),
    );
    const rows = await list();
    expect(rows.map(({ status }) => status)).toEqual(rows.map(() => "taken"));
    expect(rows.map(({ claim }) => claim).sort()).toEqual(claims.flat().sort());
    expect(rows).toHaveLength(ROWS);
  });

  test(`${WORKERS} workers delete ${ROWS} rows, each once, and dry runs change nothing`, async () => {
    await clear();
    const made = await make(Array.from({ length: ROWS }, () => ({ owner: user.id })));
    const known = new Set(made.map(({ id }) => id));
    const counts = await Promise.all(
      Array.from({ length: WORKERS }, async (_, worker) => {
        let deleted = 0;
        for (;;) {
          const limit = worker + 1;
          const dry = await send(key, "DELETE", `status=eq.open&dryRun=true&limit=${limit}`);
          expect(dry.ids?.filter((id) => !known.has(id))).toEqual([]);
          if (dry.count === 0) return deleted;
          deleted += (await send(key, "DELETE", `status=eq.open&limit=${limit}`)).count;
        }
      }),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(ROWS);
    expect(await list()).toEqual([]);
  });
});

const LOCK = "select from data.jobs where id = $1 for update";
const CHANGES = [
  { name: "a row goes to another person", change: "update data.jobs set owner = $2 where id = $1" },
  {
    name: "the person leaves the team of a row",
    change: `update data.members set person = $2
      where team = (select team from data.jobs where id = $1)`,
  },
] as const;
const WRITES = [
  { method: "PATCH", json: { claim: crypto.randomUUID() } },
  { method: "DELETE", json: undefined },
] as const;

describe.each(CHANGES)("if $name between finding and writing", ({ change }) => {
  test.each(WRITES)("$method does not write it", async ({ method, json }) => {
    await clear();
    const [team] = await make([{ name: "one" }], "teams");
    await make([{ person: user.id, team: team?.id }], "members");
    const isOwn = change.includes("owner");
    const [lost, kept] = await make([
      isOwn ? { owner: user.id } : { team: team?.id },
      { owner: user.id },
    ]);
    const { count } = await send(personKey, method, "status=eq.open&dryRun=true", json);
    expect(count).toBe(2);
    const [locked, values] = [[lost?.id ?? ""], [lost?.id ?? "", crypto.randomUUID()]];
    const block = { text: LOCK, values: locked };
    const { sent } = await whileDone(service.database.adminUrl, block, async (session) => {
      const writing = send(personKey, method, "status=eq.open", json);
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0, {
        describe: () => "the wait for the lock",
      });
      await session.unsafe(change, values);
      return { sent: writing };
    });
    expect(await sent).toEqual({ count: 1 });
    const rows = await list();
    expect(rows.find(({ id }) => id === lost?.id)).toMatchObject({ claim: null });
    expect(rows.find(({ id }) => id === kept?.id)?.claim).toBe(json?.claim);
  });

  test("a list of updates does not write it", async () => {
    await clear();
    const [team] = await make([{ name: "one" }], "teams");
    await make([{ person: user.id, team: team?.id }], "members");
    const isOwn = change.includes("owner");
    const rows = await make([isOwn ? { owner: user.id } : { team: team?.id }, { owner: user.id }]);
    const json = rows.map(({ id }) => ({ id, claim: crypto.randomUUID() }));
    const [first, second] = rows;
    const block = { text: LOCK, values: [(isOwn ? first : second)?.id ?? ""] };
    const { sent } = await whileDone(service.database.adminUrl, block, async (session) => {
      const call = { method: "PATCH", key: personKey, json };
      const writing = service.call(app, JOBS, call);
      await eventually(async () => (await countLockWaits(service.service.admin)) > 0, {
        describe: () => "the wait for the lock",
      });
      await session.unsafe(change, [first?.id ?? "", crypto.randomUUID()]);
      return { sent: writing };
    });
    expect(await sent).toMatchObject({ status: 404, json: { error: "not_found" } });
    expect((await list()).map(({ claim }) => claim)).toEqual([null, null]);
  });
});
