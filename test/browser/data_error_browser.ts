/** A failed call of the data client in a browser's console: lists every invalid value. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { openBrowser } from "../support/browser.ts";
import { ROOT } from "../support/command.ts";
import { share } from "../support/share.ts";

const PAGES = "http://wiki.rowhouse.localhost";
const DETAILS = [
  { path: "/title", message: "Must be a string" },
  { path: "/rank", message: "Must be a number" },
];

const browser = await share(openBrowser());

test("a logged or uncaught error has a message for every issue", async () => {
  const built = await Bun.build({
    entrypoints: [join(ROOT, "src/sdk/data.ts")],
    target: "browser",
  });
  const script = `${await built.outputs[0]?.text()}
const db = createDataClient({ baseUrl: "${PAGES}", apiKey: "rh_x.y" });
const error = await db.todos.create({}).catch((error) => error);
console.error(error);
throw error;`;
  const page = await browser.newPage();
  await page.route(`${PAGES}/**`, (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 422, json: { error: "validation_failed", details: DETAILS } })
      : route.fulfill({
          contentType: "text/html",
          body: `<!doctype html><script type="module">${script}</script>`,
        }),
  );
  const logged = page.waitForEvent("console", (one) => one.text().includes("DataError"));
  const thrown = page.waitForEvent("pageerror");
  await page.goto(PAGES);
  const [console, error] = await Promise.all([logged, thrown]);
  expect(error.message).toBe("todos.create: /title must be a string (and 1 more)");
  for (const text of [console.text(), error.stack ?? ""])
    for (const line of ["/title must be a string", "/rank must be a number"])
      expect(text).toContain(line);
});
