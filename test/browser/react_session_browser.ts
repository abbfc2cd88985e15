/**
 * The hooks of `rowhouse/react` rendered in a real browser, with an app without a server: keys that end while someone types, a
 * sign-out in another tab, and two people in two windows.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { BrowserContext, Page } from "playwright-core";
import { DOMAIN, enterPassword, openBrowser, openSite } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, type Person } from "../support/people.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { schema } from "../support/samples/app_client_schema.ts";
import { share } from "../support/share.ts";

const PAGE = `${import.meta.dir}/../support/samples/session_page.tsx`;

let ada: Person;
let bob: Person;
let context: BrowserContext;
let page: Page;

const [site, browser] = await Promise.all([
  share(openSite({}, { service: { previews: ["browser", "filters"] } })),
  share(openBrowser()),
]);
const built = await Bun.build({ entrypoints: [PAGE], format: "esm", target: "browser" });
const script = (await built.outputs[0]?.text()) ?? "";
const host = await share(
  Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/page.js"
        ? new Response(script, { headers: { "content-type": "text/javascript" } })
        : new Response(toPage(), { headers: { "content-type": "text/html" } }),
  }),
);
const url = `http://wiki.${DOMAIN}:${host.port}`;
const wiki = await site.service.makeApp(schema, {
  slug: "wiki",
  origins: [url],
  cookieDomain: DOMAIN,
});
await openToBrowsers(site.service, wiki);

const toPage = () => `<!doctype html><title>wiki</title><main id="main"></main><script>
window.options = ${JSON.stringify({ url: site.apiUrl, identityUrl: site.identityUrl, app: "wiki" })};
</script><script type="module" src="/page.js"></script>`;

beforeEach(async () => {
  [ada, bob] = [await makeMember("Ada"), await makeMember("Bob")];
  context = await browser.newContext();
  page = await open();
  await signIn(page, ada);
});
afterEach(() => context.close());

const makeMember = (name: string) => makePerson(site.service, { name, app: wiki, role: "member" });

async function open(): Promise<Page> {
  const opened = await context.newPage();
  await opened.goto(url);
  await opened.waitForFunction("window.app");
  return opened;
}

async function signIn(where: Page, who: Person): Promise<void> {
  await where.evaluate("void app.login()");
  await where.waitForURL(`${site.identityUrl}/authorize**`);
  await enterPassword(where, who.email);
  await where.waitForURL(`${url}/`);
  await shows(where, { person: who.email, status: "authenticated" });
}

async function signOut(): Promise<void> {
  const other = await open();
  await other.evaluate("void app.logout()");
  await other.waitForURL(`${site.identityUrl}/login`);
  await other.close();
}

const readText = (id: string, where = page) => where.locator(`#${id}`).textContent();

async function shows(where: Page, wanted: Record<string, string>): Promise<void> {
  let found = {};
  const read = async () => {
    const texts = Object.keys(wanted).map(async (id) => [id, await readText(id, where)] as const);
    found = Object.fromEntries(await Promise.all(texts));
    return JSON.stringify(found) === JSON.stringify(wanted);
  };
  await eventually(read, { describe: () => JSON.stringify({ found, wanted }) });
}

const type = (text: string) => page.getByLabel("Title").fill(text);
const typed = () => page.getByLabel("Title").inputValue();
const save = () => page.keyboard.press("Enter");
/** What the browser says when someone returns to the tab. */
const comeBack = () => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
const listItem = (text: string) => page.getByRole("listitem").filter({ hasText: text });

/** The rows that the app's server reads: title and owner. */
async function stored(): Promise<string[][]> {
  const { json } = await site.service.call(wiki, "/v1/data/db/todos");
  const people = new Map([ada, bob].map(({ id }, index) => [id, index === 0 ? "Ada" : "Bob"]));
  return (json as { rows: { title: string; owner: string }[] }).rows.flatMap((row) => {
    const owner = people.get(row.owner);
    return owner === undefined ? [] : [[row.title, owner]];
  });
}

test("the hooks show the person, and the rows as they change", async () => {
  await type("Milk");
  await save();
  await listItem("Milk").waitFor();
  await shows(page, { first: "Milk", columns: "title", failure: "" });
  await site.service.call(wiki, "/v1/data/db/todos", {
    ...{ method: "POST", json: [{ title: "Bread", owner: ada.id }] },
  });
  await listItem("Bread").waitFor();
  await site.service.call(wiki, "/v1/data/db/todos", {
    ...{ method: "POST", json: [{ title: "Secret", owner: bob.id }] },
  });
  expect([await listItem("Secret").count(), await readText("failure")]).toEqual([0, ""]);
});

test.each([
  { key: "that ends in the page", end: "later" },
  { key: "that has ended in the service", end: "expired" },
])("a key $key while someone types is renewed, and the form is saved", async ({ end }) => {
  const keys: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/session-key") && request.method() === "POST")
      keys.push(request.url());
  });
  await type("Half");
  if (end === "later")
    await page.evaluate(
      "performance.now = ((now) => () => now() + 575_000)(performance.now.bind(performance))",
    );
  else
    await site.service.service.admin.message(
      `update rowhouse.proofs set expires_at = now() - interval '1 second' where person_id = '${ada.id}'; select 1`,
    );
  await type("Half a sentence");
  await save();
  await listItem("Half a sentence").waitFor();
  expect(keys.length).toBeGreaterThan(0);
  expect(await stored()).toEqual([["Half a sentence", "Ada"]]);
  expect(await readText("status")).toBe("authenticated");
});

test("a sign-out in another tab leaves the form, and a new sign-in saves it", async () => {
  await type("Kept");
  await signOut();
  await comeBack();
  await shows(page, { person: ada.email, status: "ended" });
  await save();
  await page.getByText("todos.create: No one is signed in").waitFor();
  expect([await typed(), await stored()]).toEqual(["Kept", []]);
  await signIn(await open(), ada);
  await comeBack();
  await shows(page, { person: ada.email, status: "authenticated" });
  expect(await typed()).toBe("Kept");
  await save();
  // The rows are followed again.
  await listItem("Kept").waitFor();
  expect(await stored()).toEqual([["Kept", "Ada"]]);
});

test("a call that finds the sign-out tells the session at once", async () => {
  await type("Kept");
  await signOut();
  await save();
  await shows(page, { person: ada.email, status: "ended" });
  expect(await typed()).toBe("Kept");
});

test("a page never writes as a person who signed in in another window", async () => {
  await type("Of Ada");
  await signOut();
  const other = await open();
  await signIn(other, bob);
  await save();
  await page.getByText(`${bob.email} is signed in now`).waitFor();
  await comeBack();
  await shows(page, { person: ada.email, status: "ended" });
  await save();
  expect([await typed(), await stored()]).toEqual(["Of Ada", []]);
  await other.getByLabel("Title").fill("Of Bob");
  await other.keyboard.press("Enter");
  await other.getByRole("listitem").filter({ hasText: "Of Bob" }).waitFor();
  expect(await stored()).toEqual([["Of Bob", "Bob"]]);
  await page.reload();
  await shows(page, { person: bob.email, status: "authenticated" });
  await listItem("Of Bob").waitFor();
});

test("a person who signs in without a sign-out does not take over the page of another", async () => {
  await type("Of Ada");
  const other = await open();
  // The sign-in page knows Ada: Bob's session replaces hers in the browser.
  const elsewhere = await browser.newContext();
  const bobs = await elsewhere.newPage();
  await bobs.goto(url);
  await bobs.waitForFunction("window.app");
  await signIn(bobs, bob);
  await context.addCookies(await elsewhere.cookies());
  await elsewhere.close();
  await other.reload();
  await shows(other, { person: bob.email, status: "authenticated" });
  // Ada's key still lives.
  await save();
  await listItem("Of Ada").waitFor();
  await type("Later");
  await page.evaluate(
    "performance.now = ((now) => () => now() + 575_000)(performance.now.bind(performance))",
  );
  await save();
  await page.getByText(`${bob.email} is signed in now`).waitFor();
  expect([await typed(), await stored()]).toEqual(["Later", [["Of Ada", "Ada"]]]);
});
