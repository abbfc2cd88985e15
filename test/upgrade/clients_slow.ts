/**
 * The client of each earlier version at the service of this one, and the other way round: every method that both clients have gives
 * the same result. A method that the older service does not know fails with an error of the service. Doctor reports both versions.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { RELEASE_TEXT } from "../../src/db/mod.ts";
import type * as Data from "../../src/sdk/data.ts";
import type * as Identity from "../../src/sdk/identity.ts";
import { ROOT, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { migrateAll, toOperator } from "./database.ts";
import { VERSIONS } from "./packed.ts";
import { type Serving, startServing } from "./serving.ts";
import { openStage, type Stage } from "./stage.ts";

type Page = { id: string; title: string; rank: number; slug: string | null };
type Table = Data.DataClient<{
  pages: { row: Page; insert: Partial<Page>; update: Partial<Page>; unique: "slug" };
}>["pages"];
type Use = (db: Table, mark: string) => Promise<unknown>;

const titles = (rows: readonly { title: string }[]) => rows.map(({ title }) => title);

/** What each method does. `mark` distinguishes the rows of a run. */
const USES: Readonly<Record<keyof Table, Use>> = {
  create: async (db, mark) => [
    await db.create({ title: mark, slug: mark, rank: 1 }),
    await failureOf(db.create({ title: mark, slug: mark })),
    await failureOf(db.create({ rank: 1.5 })),
  ],
  createMany: (db, mark) => db.createMany([2, 3].map((rank) => ({ title: mark, rank }))),
  createAll: (db, mark) => db.createAll([4, 5].map((rank) => ({ title: mark, rank }))),
  // The previous service has no such request.
  updateAll: async (db, mark) => {
    const { id } = await db.create({ title: mark });
    const single = async () => [await db.update(id, { rank: 6 })];
    return await db.updateAll([{ id, rank: 6 }]).catch(single);
  },
  // Nor these two.
  updateMany: async (db, mark) => {
    const { id } = await db.create({ title: mark });
    const single = async () => ({ count: [await db.update(id, { rank: 8 })].length });
    return [await db.updateMany({ rank: 8 }, { where: { id } }).catch(single), await db.get(id)];
  },
  deleteMany: async (db, mark) => {
    const { id } = await db.create({ title: mark });
    const single = async () => ({ count: [await db.delete(id)].length });
    return [await db.deleteMany({ where: { id } }).catch(single), await failureOf(db.get(id))];
  },
  get: async (db, mark) => {
    const { id } = await db.create({ title: mark });
    return [await db.get(id), await failureOf(db.get(crypto.randomUUID()))];
  },
  list: async (db, mark) => {
    const where = { title: { eq: mark } };
    const orderBy = [{ rank: "desc" }] as const;
    const first = await db.list({ where, orderBy, limit: 2, count: "exact" });
    const { next } = first;
    const second = await db.list({ where, orderBy, limit: 2, after: next ?? "" });
    return [
      // Without the count: the previous service ignores this preference, which it does not know.
      ...[first.rows, second.rows, typeof next],
      await db.list({ where, select: ["title"] }),
      await failureOf(db.list({ after: "no cursor" })),
    ];
  },
  pages: async (db, mark) => {
    const pages: unknown[] = [];
    for await (const { rows } of db.pages({ where: { title: { eq: mark } }, limit: 2 }))
      pages.push(titles(rows));
    return pages;
  },
  all: async (db, mark) =>
    titles(await Array.fromAsync(db.all({ where: { title: { eq: mark } }, limit: 2 }))),
  groups: async (db, mark) => db.groups({ by: ["title"], where: { title: mark }, sum: ["rank"] }),
  find: async (db, mark) => [
    await db.find({ slug: mark }),
    await db.find({ slug: `${mark} none` }),
  ],
  upsert: async (db, mark) => {
    const options = { onConflict: "slug" } as const;
    const made = await db.upsert({ title: mark, slug: `${mark} made` }, options);
    const { results } = await db.upsert([{ title: mark, slug: made.slug, rank: 9 }], options);
    return [results, await db.get(made.id)];
  },
  update: async (db, mark) => {
    const row = await db.create({ title: mark });
    const updated = await db.update(row.id, { rank: 7 }, { ifMatch: row });
    return [updated, await failureOf(db.update(row.id, { rank: 8 }, { ifMatch: row }))];
  },
  delete: async (db, mark) => {
    const { id } = await db.create({ title: mark });
    await db.delete(id);
    return await failureOf(db.delete(id));
  },
  watch: async (db, mark) => {
    const seen: number[] = [];
    for await (const { rows } of db.watch({ where: { title: { eq: mark } }, everyMs: 50 })) {
      seen.push(rows.length);
      if (seen.length === 2) break;
      await db.create({ title: mark });
    }
    return (seen[1] ?? 0) - (seen[0] ?? 0);
  },
  changes: async (db) => {
    for await (const { type, put } of db.changes()) return [type, put.length];
  },
};

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => new Error("The call succeeded"),
    (error: unknown) => error,
  );
  const { name, status, code, details } = error as Data.DataError;
  // The texts of messages can change.
  return { name, status, code, paths: details?.map(({ path }) => path) };
}

type Outcomes = Record<string, unknown>;

/** The outcome of each method that the client has, without ids and the mark. */
async function useClient(program: string, { url }: Serving, { frozen }: Stage): Promise<Outcomes> {
  const { createDataClient }: typeof Data = await import(join(program, "src/sdk/data.ts"));
  const { createIdentityClient }: typeof Identity = await import(
    join(program, "src/sdk/identity.ts")
  );
  const mark = `run ${crypto.randomUUID()}`;
  const client = createDataClient<{ pages: never }>({
    ...{ baseUrl: url, apiKey: frozen.world.keys.wiki, cache: true },
  });
  const db = (client as unknown as { pages: Table }).pages;
  const outcomes: Outcomes = {};
  for (const [method, use] of Object.entries(USES)) {
    if (!(method in db)) continue;
    outcomes[method] = await use(db, mark).catch((error: unknown) =>
      failureOf(Promise.reject(error)),
    );
  }
  const identity = createIdentityClient({ url, identityUrl: url, app: "wiki" });
  outcomes["identity"] = await withCookie(frozen.world.sessions.live, async () => [
    await identity.getUser(),
    await identity.getSession(),
    await identity.hasAccess("none"),
  ]);
  return JSON.parse(
    JSON.stringify(outcomes)
      .replaceAll(mark, "<mark>")
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<id>"),
  ) as Outcomes;
}

/** A browser adds the cookie. */
async function withCookie<Result>(cookie: string, task: () => Promise<Result>): Promise<Result> {
  const { fetch } = globalThis;
  globalThis.fetch = ((url: string, init?: RequestInit) =>
    fetch(url, { ...init, headers: { ...init?.headers, cookie } })) as typeof fetch;
  try {
    return await task();
  } finally {
    globalThis.fetch = fetch;
  }
}

/** What a client can hold across an upgrade: the tags of pages and of a row, and a cursor. */
type Held = {
  path: string;
  page: string;
  tag: string;
  /** The next page. */
  rows: string;
  plain: { path: string; tag: string };
  row: string;
  rowTag: string;
  next: string;
};

async function send(
  { url }: Serving,
  { frozen }: Stage,
  path: string,
  init: RequestInit = {},
): Promise<{ status: number; text: string; tag: string }> {
  const authorization = `Bearer ${frozen.world.keys.wiki}`;
  const headers = { authorization, "content-type": "application/json", ...init.headers };
  const response = await fetch(url + path, { ...init, headers });
  const { status } = response;
  return { status, text: await response.text(), tag: response.headers.get("etag") ?? "" };
}

const PAGES = "/v1/data/db/pages";

async function hold(serving: Serving, stage: Stage): Promise<Held> {
  const path = `${PAGES}?order=title.asc&limit=2`;
  for (const title of ["held 1", "held 2", "held 3"])
    await send(serving, stage, PAGES, { method: "POST", body: JSON.stringify({ title }) });
  const page = await send(serving, stage, path);
  const { next, rows } = JSON.parse(page.text) as { next: string; rows: Page[] };
  const row = `${PAGES}/${rows[0]?.id}`;
  const { tag: rowTag } = await send(serving, stage, row);
  const after = await send(serving, stage, `${path}&after=${encodeURIComponent(next)}`);
  const plain = `${PAGES}?limit=2`;
  const { tag: plainTag } = await send(serving, stage, plain);
  const { text, tag } = page;
  return {
    ...{ path, page: text, tag, rows: after.text, plain: { path: plain, tag: plainTag } },
    ...{ row, rowTag, next },
  };
}

/** The line of doctor about processes: its level, and how many run of which version. */
function readProcesses(output: string): { level: string; running: string[] } {
  const [, level = "", message = ""] = /^(ok|warn) +processes: (.*)$/m.exec(output) ?? [];
  return {
    level,
    running: [...message.matchAll(/\d+ process(?:es)? of .*?(?=, since)/g)].map(([text]) => text),
  };
}

describe.each(VERSIONS.map((version) => ({ version })))("$version", ({ version }) => {
  let stage: Stage;
  let program: string;
  let served: Serving;
  const outcomes: Record<"older" | "newer", Record<"older" | "newer", Outcomes>> = {
    older: { older: {}, newer: {} },
    newer: { older: {}, newer: {} },
  };
  let held: Held;
  /** The output of doctor while both versions run, and when the previous one has ended. */
  let mixed: string;
  let alone: string;
  /** What the earlier program says of itself. */
  let earlier: string;

  beforeAll(async () => {
    stage = await openStage(version, "18");
    program = stage.program;
    const options = { addresses: stage.addresses, shape: "one", workers: 1 } as const;
    const before = await startServing({ ...options, program });
    outcomes.older.older = await useClient(program, before, stage);
    outcomes.newer.older = await useClient(ROOT, before, stage);
    held = await hold(before, stage);
    earlier = (await runCommand(["--version"], { folder: program, program })).out.trim();
    await migrateAll(stage.addresses, ROOT);
    served = await startServing({ ...options, program: ROOT });
    const env = toOperator(stage.addresses);
    const doctor = () => runCommand(["doctor", "--operator"], { folder: stage.folder, env });
    const isListed = async () => {
      mixed = (await doctor()).out;
      const { running } = readProcesses(mixed);
      const isNew = running.some((line) => line.endsWith(` of ${RELEASE_TEXT}`));
      return isNew && running.reduce((sum, line) => sum + Number.parseInt(line, 10), 0) === 2;
    };
    // A process reports itself with its first statistics.
    await eventually(isListed, { patienceMs: 60_000 });
    await before.stop();
    alone = (await doctor()).out;
  }, 180_000);
  afterAll(async () => {
    await served?.stop();
    await stage?.close();
  });

  test("doctor reports processes of both versions until the earlier ones have ended", () => {
    // A working tree without changes is the same version.
    expect(readProcesses(mixed)).toEqual(
      earlier === RELEASE_TEXT
        ? { level: "ok", running: [`2 processes of ${RELEASE_TEXT}`] }
        : {
            level: "warn",
            running: expect.arrayContaining([
              `1 process of ${RELEASE_TEXT}`,
              `1 process of ${earlier}`,
            ]),
          },
    );
    expect(readProcesses(alone)).toEqual({
      level: "ok",
      running: [`1 process of ${RELEASE_TEXT}`],
    });
  });

  test("what a client holds stays valid after the upgrade", async () => {
    const cursor = `${held.path}&after=${encodeURIComponent(held.next)}`;
    expect((await send(served, stage, cursor)).text).toBe(held.rows);
    const ask = (path: string, tag: string) =>
      send(served, stage, path, { headers: { "if-none-match": tag } });
    expect((await ask(held.plain.path, held.plain.tag)).status).toBe(304);
    // The tag of a sort without an index is another one, once.
    const { status, tag } = await ask(held.path, held.tag);
    expect([status, (await ask(held.path, tag)).status]).toEqual([200, 304]);
    const change = { method: "PATCH", body: '{"rank":9}', headers: { "if-match": held.rowTag } };
    expect((await send(served, stage, held.row, change)).status).toBe(200);
    expect((await send(served, stage, held.row, change)).status).toBe(412);
  });

  describe("every method of the client", () => {
    beforeAll(async () => {
      outcomes.older.newer = await useClient(program, served, stage);
      outcomes.newer.newer = await useClient(ROOT, served, stage);
    }, 60_000);

    test("of the previous version works with this service as with its own", () => {
      expect(Object.keys(outcomes.older.older).length).toBeGreaterThan(10);
      expect(outcomes.older.newer).toEqual(outcomes.older.older);
    });

    test("of this version works with the previous service, or fails with its error", () => {
      const { older, newer } = outcomes.newer;
      const known = Object.keys(outcomes.older.older);
      for (const [method, outcome] of Object.entries(newer)) {
        const isRejected = Object(older[method]).name === "DataError";
        if (known.includes(method) || !isRejected)
          expect([method, older[method]]).toEqual([method, outcome]);
      }
    });

    test("has a use here", () => {
      const { identity, ...used } = outcomes.newer.newer;
      expect(Object.keys(used)).toEqual(Object.keys(USES));
      // Only the last call of delete() is meant to fail.
      const failed = Object.entries(used).filter(
        ([, outcome]) => Object(outcome).name === "DataError",
      );
      expect(failed.map(([method]) => method)).toEqual(["delete"]);
      expect(identity).toMatchObject([{ role: null }, { status: "authenticated" }, false]);
    });
  });
});
