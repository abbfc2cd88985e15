import { describe, expect, test } from "bun:test";
import { openTestService } from "../support/service.ts";
import { share } from "../support/share.ts";

/** The header of a browser that opens an address. */
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const IDENTITY_URL = "https://id.example.org";

const service = await share(
  openTestService({ identity: () => ({ identityUrl: IDENTITY_URL, cookieDomain: "example.org" }) }),
);

const open = (path: string, init: RequestInit & { accept?: string } = {}) =>
  fetch(`${service.url}${path}`, {
    ...init,
    headers: { accept: init.accept ?? BROWSER },
    redirect: "manual",
  });

describe("a browser on the API's host", () => {
  test.each([
    { path: "/", status: 200, title: "This is a Rowhouse service" },
    { path: "/favicon.ico", status: 404, title: "Page not found" },
    { path: "/v1x/<b>", status: 404, title: "Page not found" },
  ])("gets a page with links for $path", async ({ path, status, title }) => {
    const response = await open(path);
    const text = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "text/html; charset=utf-8",
    ]);
    expect(text).toContain(`<h1>${title}</h1>`);
    expect(text).toContain(`href="${IDENTITY_URL}/login"`);
    expect(text).not.toContain("<b>");
    const [, stylesheet = ""] = text.match(/rel="stylesheet" href="([^"]+)"/) ?? [];
    expect((await open(stylesheet)).status).toBe(200);
    expect((await open(path, { method: "HEAD" })).status).toBe(status);
  });
});

describe("the response is JSON", () => {
  test.each([
    { name: "below /v1", path: "/v1/nothing", init: {} },
    { name: "to a program", path: "/", init: { accept: "*/*" } },
    { name: "to a client that rejects HTML", path: "/", init: { accept: "text/html;q=0, */*" } },
    { name: "to a POST", path: "/", init: { method: "POST" } },
  ])("$name", async ({ path, init }) => {
    const response = await open(path, init);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: "unknown_route" });
  });
});
