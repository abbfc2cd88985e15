/** Lists of email addresses and URLs: cursors of long ones, and patterns with capitals. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const schema = defineSchema({
  people: t.model({ email: t.email().required().unique(), page: t.url(), other: t.email() }),
});
const PEOPLE = "/v1/data/db/people";
const service = await share(openTestService({ service: { previews: ["filters"] } }));
const app = await service.makeApp(schema);
const toEmail = (n: number) => `${n}${"x".repeat(63)}@example.org`;
const rows = [1, 2, 3, 4, 5].map((n) => ({
  email: toEmail(n),
  page: `https://${n}${"x".repeat(53)}.${"y".repeat(50)}.org:80`,
  other: toEmail(n),
}));
const { status } = await service.call(app, PEOPLE, { method: "POST", json: rows });
expect(status).toBe(201);

async function readAll(query: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ; ) {
    const { json, text } = await service.call(app, `${PEOPLE}?${query}${after}`);
    const page = json as { rows?: { email: string }[]; next?: string | null };
    expect(page.rows === undefined ? text : "").toBe("");
    found.push(...(page.rows ?? []).map(({ email }) => email));
    if (typeof page.next !== "string") return found;
    after = `&after=${page.next}`;
  }
}

test.each(["email", "page", "other"])(
  "pages in an order continue after a long %s",
  async (name) => {
    const emails = rows.map(({ email }) => email);
    expect(await readAll(`limit=2&order=${name}`)).toEqual(emails);
    expect(await readAll(`limit=2&order=${name}.desc`)).toEqual(emails.toReversed());
  },
);

test.each(["", "&order=email", "&order=email.desc"])(
  "a pattern with capitals finds no address, also beside a range: %s",
  async (order) => {
    const json = [{ email: `b${order.length}@example.org` }];
    expect((await service.call(app, PEOPLE, { method: "POST", json })).status).toBe(201);
    expect(await readAll(`email=like.B*&email=lte.b@example.org${order}`)).toEqual([]);
    expect(await readAll(`email=like.B*&email=lte.c@example.org${order}`)).toEqual([]);
    expect(await readAll(`email=ilike.B*${order}`)).not.toEqual([]);
  },
);
