/** Texts that are longer than the part by which an index sorts them. */
import { beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { signatureOf } from "../support/functions.ts";
import { openTestService, type TestApp, UNGUARDED } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  pages: { url: t.string().unique() },
});
const PAGES = "/v1/data/db/pages";
const START = "x".repeat(63);

const service = await share(openTestService({ service: { previews: ["filters"], ...UNGUARDED } }));

async function create(app: TestApp, json: object): Promise<void> {
  expect((await service.call(app, PAGES, { method: "POST", json })).status).toBe(201);
}

async function readAll(app: TestApp, query: string): Promise<unknown[]> {
  const urls: unknown[] = [];
  for (let after = "", pages = 0; pages < 20; pages++) {
    const { json } = await service.call(app, `${PAGES}?${query}${after}`);
    const { rows, next } = json as { rows: { url: unknown }[]; next: string | null };
    urls.push(...rows.map(({ url }) => url));
    if (next === null) return urls;
    after = `&after=${next}`;
  }
  return urls;
}

describe("unique texts with the same start and MD5", () => {
  // No such texts of UTF-8 are known, so the test replaces the MD5 in the index and in the function that queries it.
  const SAME = "pg_catalog.repeat(pg_catalog.chr(48), 32)";
  const URLS = ["c", "a", "d", "b"].map((end) => START + end);
  let app: TestApp;
  beforeAll(async () => {
    app = await service.makeApp(schema);
    for (const url of [...URLS, "w", "z", `y${START}`, `y${START}!`]) await create(app, { url });
    const superuser = postgres(service.database.superuserUrl, {
      max: 1,
      onnotice: () => undefined,
    });
    const replace = (text: string) =>
      text.replaceAll(/(?:pg_catalog\.)?md5\((?:"\$t"\."url"|url|\\+"\$value\\+")\)/g, SAME);
    const [index] = await superuser`
      select pg_get_indexdef('data.pages__url__search_key'::regclass) as text`;
    await superuser.unsafe(`drop index data.pages__url__search_key; ${replace(index?.["text"])}`);
    for (const signature of [
      "rowhouse.kind_term(jsonb, text, text)",
      `api.${signatureOf(schema, "pages", "walk")}`,
    ]) {
      const [found] = await superuser.unsafe(
        `select pg_get_functiondef('${signature}'::regprocedure) as text`,
      );
      expect(replace(found?.["text"])).not.toBe(found?.["text"]);
      await superuser.unsafe(replace(found?.["text"]));
    }
    await superuser.end();
  });

  test.each(["asc", "desc"])("are each in one page of an order: %s", async (way) => {
    const whole = await readAll(app, `url=not.is.null&order=url.${way}`);
    expect(whole).toHaveLength(8);
    for (const limit of [1, 2, 3, 4, 5])
      expect(await readAll(app, `url=not.is.null&order=url.${way}&limit=${limit}`)).toEqual(whole);
  });
});
