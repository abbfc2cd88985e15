/**
 * The client of an app without a server, in a real browser: two apps, the API and the sign-in pages on four hosts, real cookies and
 * preflights. The second app is hostile: its page and its server attack the first one in the same browser.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { IDENTITY_COOKIE, SESSION_COOKIE, SESSION_KEY_PATH } from "../../src/identity/mod.ts";
import { setAppSwitch } from "../../src/records/apps/mod.ts";
import { grantRole } from "../../src/records/people/mod.ts";
import { DOMAIN, enterPassword, openBrowser, openSite, type TestSite } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { makePerson, type Person } from "../support/people.ts";
import { openToBrowsers } from "../support/person_keys.ts";
import { schema } from "../support/samples/app_client_schema.ts";
import type { TestApp } from "../support/service.ts";

const SCHEMA = `${import.meta.dir}/../support/samples/app_client_schema.ts`;
const CLIENT = `${import.meta.dir}/../../src/sdk/app.ts`;

let site: TestSite;
let browser: Browser;
let hosts: ReturnType<typeof Bun.serve>;
let wiki: TestApp & { url: string };
let blog: TestApp & { url: string };
let ada: Person;
let context: BrowserContext;
let page: Page;
/** The cookies that the hostile app's server received. */
let stolen = "";

beforeAll(async () => {
  const previews = ["browser", "filters", "live"] as const;
  [site, browser] = await Promise.all([
    openSite({}, { service: { previews, maxBatchBytes: 300_000 } }),
    openBrowser(),
  ]);
  const [client, schema] = await Promise.all([bundle(CLIENT), bundle(SCHEMA)]);
  hosts = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const { pathname, hostname } = new URL(request.url);
      if (hostname.startsWith("blog.")) stolen = request.headers.get("cookie") ?? stolen;
      const script = { "/client.js": client, "/schema.js": schema }[pathname];
      return script === undefined
        ? new Response(toPage(hostname.split(".")[0] ?? ""), {
            headers: { "content-type": "text/html" },
          })
        : new Response(script, { headers: { "content-type": "text/javascript" } });
    },
  });
  [wiki, blog] = [await makeApp("wiki"), await makeApp("blog")];
  await site.service.service.warm();
}, 60_000);
afterAll(async () => {
  await browser.close();
  await hosts.stop(true);
  await site.close();
});

beforeEach(async () => {
  stolen = "";
  ada = await makePerson(site.service, { name: "Ada", app: wiki, role: "member" });
  await grantRole(
    { admin: site.service.service.admin },
    { email: ada.email, slug: "blog", role: "member" },
  );
  context = await browser.newContext();
  page = await openPage(wiki);
});

async function bundle(entry: string): Promise<string> {
  const built = await Bun.build({ entrypoints: [entry], format: "esm", target: "browser" });
  return (await built.outputs[0]?.text()) ?? "";
}

const toPage = (slug: string) => `<!doctype html><title>${slug}</title><script type="module">
import { createAppClient } from "/client.js";
import { schema } from "/schema.js";
const options = ${JSON.stringify({ url: site.apiUrl, identityUrl: site.identityUrl, app: slug })};
window.signedOut = 0;
window.app = createAppClient({ ...options, schema, onSignedOut: () => window.signedOut++ });
window.toCode = (call) => call.then((value) => value, (error) => error.code ?? error.message);
</script>`;

async function makeApp(slug: string): Promise<TestApp & { url: string }> {
  const url = `http://${slug}.${DOMAIN}:${hosts.port}`;
  const app = await site.service.makeApp(schema, { slug, origins: [url], cookieDomain: DOMAIN });
  await openToBrowsers(site.service, app);
  return { ...app, url };
}

async function openPage(app: { url: string }): Promise<Page> {
  const opened = await context.newPage();
  await opened.goto(`${app.url}/`);
  await opened.waitForFunction("window.app");
  return opened;
}

/** Runs an expression in the page; its promise is awaited. */
const run = <T = unknown>(text: string, where: Page = page): Promise<T> =>
  where.evaluate(text) as Promise<T>;
const toCode = (call: string, where: Page = page) => run(`toCode(${call})`, where);

async function signIn(who: Person = ada, where: Page = page): Promise<void> {
  await run("void app.login()", where);
  await where.waitForURL(`${site.identityUrl}/authorize**`);
  await enterPassword(where, who.email);
  await where.waitForURL(`${wiki.url}/`);
  await where.waitForFunction("window.app");
}

/** The requests of the page to the service, with preflights: `OPTIONS id /session-key`. */
async function watchRequests(): Promise<string[]> {
  const requests: string[] = [];
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.requestWillBeSent", ({ request, type }) => {
    const { hostname, pathname, search } = new URL(request.url);
    const isOfService = /^(api|id)\./.test(hostname);
    const method = type === "Preflight" ? "OPTIONS" : request.method;
    if (isOfService) requests.push(`${method} ${hostname.split(".")[0]} ${pathname}${search}`);
  });
  return requests;
}

const EXCHANGE = "POST id /session-key?app=wiki";

describe("a page without a server", () => {
  test("learns that no one is signed in, and stays where it is", async () => {
    expect(await run("app.getSession()")).toEqual({ status: "unauthenticated" });
    expect(await toCode("app.db.todos.create({ title: 'Milk' })")).toBe("unauthenticated");
    expect([page.url(), await run("signedOut")]).toEqual([`${wiki.url}/`, 1]);
  });

  test("reads and writes rows as the person, with one key and one preflight for each address", async () => {
    await signIn();
    const requests = await watchRequests();
    const created = await run<{ id: string; owner: string }>(
      "app.db.todos.create({ title: 'Milk' })",
    );
    expect(created.owner).toBe(ada.id);
    const all =
      "app.db.todos.list({ limit: 10 }).then(({ rows }) => rows.map(({ title }) => title))";
    expect([await run(all), await run(all)]).toEqual([["Milk"], ["Milk"]]);
    await run(`app.db.todos.get("${created.id}")`);
    expect(await run(`app.db.todos.update("${created.id}", { status: "done" })`)).toMatchObject({
      status: "done",
    });
    expect(await run("app.getSession()")).toMatchObject({
      status: "authenticated",
      user: { role: "member" },
    });
    expect(requests.filter((line) => line === EXCHANGE)).toHaveLength(1);
    const preflights = requests.filter((line) => line.startsWith("OPTIONS api"));
    expect(preflights).toHaveLength(3);
    expect(new Set(preflights).size).toBe(3);
  });

  test("begins with the exchange, which is also its first session", async () => {
    await signIn();
    const requests = await watchRequests();
    expect(await run("app.getSession()")).toMatchObject({
      status: "authenticated",
      user: { id: ada.id },
    });
    await run("app.db.todos.list()");
    expect(requests.filter((line) => !line.startsWith("OPTIONS"))).toEqual([
      EXCHANGE,
      "GET api /v1/data/db/todos",
    ]);
  });

  test("creates more rows than one call takes, as much in each as the service accepts", async () => {
    await signIn();
    const requests = await watchRequests();
    const values = "Array.from({ length: 900 }, (_, n) => ({ title: 'x'.repeat(300) + n }))";
    expect(await run(`app.db.todos.createAll(${values}).then(({ length }) => length)`)).toBe(900);
    expect(requests.filter((line) => line === EXCHANGE)).toHaveLength(1);
    // 280 KB: without the service's limit, three calls.
    expect(requests.filter((line) => line === "POST api /v1/data/db/todos")).toHaveLength(1);
  });

  test("follows rows live, and resumes with its next key", async () => {
    await setAppSwitch({ admin: site.service.service.admin }, "wiki", ["live", true]);
    await signIn();
    const requests = await watchRequests();
    await run(`void (async () => {
      window.seen = [];
      for await (const { rows } of app.db.todos.watch({ limit: 5 })) seen.push(rows.length);
    })()`);
    await page.waitForFunction("seen.includes(0)");
    await run("app.db.todos.create({ title: 'Milk' })");
    await page.waitForFunction("seen.includes(1)");
    // A revoked key ends the stream; the person can still sign in, so the next one opens.
    await grantRole(
      { admin: site.service.service.admin },
      { email: ada.email, slug: "wiki", role: "lead" },
    );
    await grantRole(
      { admin: site.service.service.admin },
      { email: ada.email, slug: "wiki", role: "member" },
    );
    await run("app.db.todos.create({ title: 'Bread' })");
    await page.waitForFunction("seen.includes(2)");
    const streams = () => requests.filter((line) => line === "GET api /v1/data/db/todos/changes");
    await eventually(() => streams().length === 2);
    expect(requests.filter((line) => line === EXCHANGE)).toHaveLength(2);
  });
});

describe("a hostile app on a sibling host, in the same browser", () => {
  let evil: Page;
  beforeEach(async () => {
    await signIn();
    await run("app.db.todos.create({ title: 'Secret' })");
    evil = await openPage(blog);
  });

  const ask = (slug: string, init: string) =>
    run<string>(
      `fetch("${site.identityUrl}${SESSION_KEY_PATH}?app=${slug}", { method: "POST", credentials: "include", ${init} })
        .then(async (response) => response.type + " " + response.status + " " + (await response.text()), () => "no response")`,
      evil,
    );
  const JSON_BODY = `headers: { "content-type": "application/json" }, body: "{}"`;

  test("gets a key of its own app only", async () => {
    expect(await ask("blog", JSON_BODY)).toStartWith("cors 200 ");
    expect(await ask("wiki", JSON_BODY)).toBe("no response");
  });

  test.each([
    { name: "a form's content", init: `mode: "no-cors", body: new URLSearchParams({ a: "1" })` },
    { name: "text", init: `mode: "no-cors", body: "{}"` },
  ])("cannot read a response to $name without CORS", async ({ init }) => {
    expect(await ask("wiki", init)).toBe("opaque 0 ");
  });

  test("reads no rows with the browser's cookies", async () => {
    const read = `fetch("${site.apiUrl}/v1/data/db/todos", { credentials: "include" }).then(({ status }) => status, () => "no response")`;
    expect([401, "no response"]).toContain(await run<number | string>(read, evil));
  });

  test("reads no rows of the other app with its own key", async () => {
    const titles = "app.db.todos.list().then(({ rows }) => rows.map(({ title }) => title))";
    expect(await run(titles, evil)).toEqual([]);
  });

  test("gets the shared cookie on its server, which opens nothing", async () => {
    expect(stolen).toContain(SESSION_COOKIE);
    expect(stolen).not.toContain(IDENTITY_COOKIE);
    const replay = (cookie: string) =>
      fetch(`${site.service.url}${SESSION_KEY_PATH}?app=wiki`, {
        method: "POST",
        headers: {
          host: new URL(site.identityUrl).host,
          cookie,
          origin: wiki.url,
          "sec-fetch-site": "same-site",
          "content-type": "application/json",
        },
        body: "{}",
      });
    expect((await replay(stolen)).status).toBe(401);
    // With the pages' cookie, which no sibling receives, the same request opens a key.
    const cookies = await context.cookies(site.identityUrl);
    const both = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    expect((await replay(both)).status).toBe(200);
  });

  test("cannot stop a page that has its key by a planted cookie", async () => {
    await run("app.db.todos.list()");
    await run(
      `document.cookie = "${SESSION_COOKIE}=aaaaaaaaaaaaaaaa.bbb; Domain=${DOMAIN}; Path=${SESSION_KEY_PATH}; Secure"; 0`,
      evil,
    );
    expect(await run("app.db.todos.list().then(({ rows }) => rows.length)")).toBe(1);
  });

  test("cannot make the page work for its own session", async () => {
    const thief = await makePerson(site.service, { name: "Thief", app: wiki, role: "member" });
    const elsewhere = await browser.newContext();
    const thiefs = await elsewhere.newPage();
    await thiefs.goto(`${site.identityUrl}/login`);
    await enterPassword(thiefs, thief.email);
    await thiefs.getByRole("heading", { name: "Your apps" }).waitFor();
    const [planted] = (await elsewhere.cookies(site.identityUrl)).filter(
      ({ name }) => name === SESSION_COOKIE,
    );
    await elsewhere.close();
    await context.clearCookies({ name: SESSION_COOKIE });
    await context.addCookies([
      {
        name: SESSION_COOKIE,
        value: planted?.value ?? "",
        domain: `.${DOMAIN}`,
        path: "/",
        secure: true,
      },
    ]);
    await page.reload();
    await page.waitForFunction("window.app");
    expect(await toCode("app.db.todos.create({ title: 'For the thief' })")).toBe("unauthenticated");
  });

  test("gets no session in a frame of another site", async () => {
    const framing = await context.newPage();
    await framing.goto(`http://localhost:${hosts.port}/`);
    await framing.setContent(`<iframe src="${wiki.url}/"></iframe>`);
    const frame = await framing.waitForSelector("iframe").then((element) => element.contentFrame());
    await frame?.waitForFunction("window.app");
    expect(["unauthenticated", "forbidden", "network_error"]).toContain(
      (await frame?.evaluate("toCode(app.db.todos.list())")) as string,
    );
  });
});
