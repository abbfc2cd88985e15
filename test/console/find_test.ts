/** The search of the Console: its results, their order, and hostile input. */
import { expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { makePerson, signInAs, visit } from "../support/people.ts";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

const service = await share(openTestService());
const app = await service.makeApp(defineSchema({ ledger: { title: t.string() } }), {
  slug: "bookkeeping",
  origins: ["https://books.example.org"],
});
await service.makeApp(undefined, { slug: "my-books" });
const person = await makePerson(service, { name: "Grace <b>Hopper</b>" });
const chief = await signInAs(service, await makePerson(service, { consoleRole: "admin" }));

const find = (text: string) =>
  visit(service, chief, `/console/find?${new URLSearchParams({ q: text })}`);

/** The links of the results by group. */
async function hits(text: string): Promise<Record<string, string[]>> {
  const page = (await find(text)).text;
  const sections = page.matchAll(/<section class="found" data-found="(\w+)">(.*?)<\/section>/gs);
  return Object.fromEntries(
    [...sections].map(([, name = "", inside = ""]) => [
      name,
      [...inside.matchAll(/href="([^"]+)"/g)].map(([, href = ""]) => href),
    ]),
  );
}

test("the search finds apps by similarity, and tables with their owners", async () => {
  expect((await hits("BOOK"))["Apps"]).toEqual([
    "/console/apps/bookkeeping",
    "/console/apps/my-books",
  ]);
  expect((await hits("ledger"))["Tables"]).toEqual(["/console/tables/ledger"]);
});

test("the search finds people by address and by name, escaped", async () => {
  const path = `/console/people/${person.id}`;
  expect((await hits(person.email))["People"]).toEqual([path]);
  expect((await hits("hopper"))["People"]).toEqual([path]);
  const { text } = await find("hopper");
  expect(text).toContain("Grace &lt;b&gt;Hopper&lt;/b&gt;");
  expect(text).not.toContain("<b>Hopper");
});

test.each(["élodie", "E\u0301LODIE", "хлеб", "STRASSE", "straße", "istanbul", "İSTANBUL", "οδοσ"])(
  "every search for people finds %s in every alphabet and spelling",
  async (text) => {
    const other = await service.makeApp();
    const name = "Élodie Хлеб Straße İstanbul ΟΔΟΣ";
    const found = await makePerson(service, { name, app: other, role: "reader" });
    const query = new URLSearchParams({ q: text });
    expect((await hits(text))["People"]).toContain(`/console/people/${found.id}`);
    for (const path of ["/console/people", `/console/apps/${other.slug}/people`])
      expect((await visit(service, chief, `${path}?${query}`)).text).toContain(found.email);
  },
);

test("the search finds a key by the beginning of its id, without its secret", async () => {
  const [id = "", secret = ""] = app.key.slice(3).split(".");
  expect((await hits(id.slice(0, 6)))["Keys"]).toEqual(["/console/apps/bookkeeping/keys"]);
  expect((await find(id)).text).not.toContain(secret);
});

test("the search offers to revoke and rotate the only live key that it finds", async () => {
  const key = await service.makeApp().then(async ({ key, slug }) => ({
    id: key.slice(3).split(".")[0] ?? "",
    path: `/console/apps/${slug}/keys`,
  }));
  for (const text of [key.id, `rh_${key.id}`, `revoke ${key.id}`, `Rotate rh_${key.id}`])
    expect((await hits(text))["Actions"]).toEqual([
      `${key.path}/${key.id}/revoke`,
      `${key.path}/${key.id}/roll`,
    ]);
  const form = await visit(service, chief, `${key.path}/${key.id}/revoke`);
  expect(form.text).toContain("Revoke the key");
  const { admin } = service.service;
  const set = (sql: string) =>
    admin.message(`update rowhouse.api_keys set ${sql} where key_id = '${key.id}'; select 1`);
  await set("created_at = now() - interval '2 days', expires_at = now() - interval '1 day'");
  expect(Object.keys(await hits(key.id))).toEqual(["Keys"]);
  expect((await find(key.id)).text).toContain(", expired");
  await set("expires_at = null");
  expect(Object.keys(await hits(key.id))).toEqual(["Actions", "Keys"]);
  await set("revoked_at = now()");
  expect(Object.keys(await hits(key.id))).toEqual(["Keys"]);
});

test("an app's name and the beginning of a page's name find the page", async () => {
  const pages = async (text: string) => (await hits(text))["Pages"];
  expect(await pages("bookk Keys")).toEqual(["/console/apps/bookkeeping/keys"]);
  expect(await pages("books invite")).toEqual(["/console/new-person?app=my-books"]);
  expect(await pages("books nothing")).toBeUndefined();
});

test("no search of a page has the secret of a pasted key in its address", async () => {
  const [id = "", secret = ""] = app.key.slice(3).split(".");
  const pages = [
    "/console/find?q",
    "/console/requests?key",
    "/console/requests?id",
    "/console/people?q",
  ];
  const more = ["/console/activity?actor", "/console/apps?q", "/docs/search?q", "/login?q"];
  for (const page of [...pages, ...more])
    for (const pasted of [
      app.key,
      ` "${app.key}"`,
      `ROWHOUSE_API_KEY=${app.key}\n`,
      app.key.slice(0, 40),
    ]) {
      const path = `${page}=${encodeURIComponent(pasted)}&after=x`;
      const { status, headers } = await visit(service, chief, path);
      const location = decodeURIComponent(headers.get("location") ?? "");
      expect([path, status]).toEqual([path, 303]);
      expect(location).toStartWith(page);
      expect(location).toContain(id);
      expect(location).toContain("after=x");
      expect(location).not.toContain(secret.slice(0, 8));
    }
  // Only the id, or the key without its secret, finds the key.
  for (const text of [`rh_${id}`, `ROWHOUSE_API_KEY=rh_${id}`])
    expect((await hits(text))["Keys"]).toEqual(["/console/apps/bookkeeping/keys"]);
  const alone = await visit(service, chief, `/console/find?q=${secret}`);
  expect(alone.headers.get("location")).toBe("/console/find?q=");
});

test("the search for a file with an id in its name stays as it is", async () => {
  expect((await find("photo_0190163d8694739b.jpeg")).status).toBe(200);
});

test.each(["console/apps/bookkeeping/tables/ledger/changes?since", "console/activity?before"])(
  "a cursor in /%s stays as it is",
  async (page) => {
    // Between characters that only base64url has, it has as many others as a secret.
    const cursor = `2hU_HV2s-${app.key.split(".")[1]}_Wu8xyD9d`;
    const { status } = await visit(service, chief, `/${page}=${cursor}`);
    expect(status).not.toBe(303);
  },
);

test.each(["0190163d-8694-739b-aea5-966c26f8ad91", "966c26f8ad91"])(
  "the search opens the request with the id %s",
  async (id) => {
    expect(await hits(id)).toEqual({ Requests: [`/console/requests?id=${id}`] });
  },
);

test("the search finds pages, and lists them for an empty input", async () => {
  expect((await hits("activ"))["Pages"]).toEqual(["/console/activity"]);
  expect((await hits("docs"))["Pages"]).toEqual(["/console/docs"]);
  expect(Object.keys(await hits(""))).toEqual(["Pages"]);
});

test.each(["%", "\\", "'", "<script>", "\0", "👩‍👩‍👧", "_______________"])(
  "the search finds nothing for %s",
  async (text) => {
    const page = await find(text);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain("<script>");
    if (text !== "\0") expect(page.text).toContain("No app, person, table, key or page matches.");
  },
);

test("an app has an overview with its address, tables, keys and people", async () => {
  const { text } = await visit(service, chief, "/console/apps/bookkeeping");
  expect(text).toContain('<a href="https://books.example.org" target="_blank"');
  expect(text).toContain("/console/apps/bookkeeping/tables/ledger");
  expect(text).toContain("1 active");
  expect(text).toContain("0 with a role");
});
