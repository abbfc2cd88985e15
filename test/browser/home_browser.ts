/** Home in a browser: the read-out and the named marks of the chart, and figures and theme on a phone. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { openBrowser, openSite, withConsole } from "../support/browser.ts";
import { makePerson } from "../support/people.ts";
import { share } from "../support/share.ts";
import { countRequests } from "../support/statistics.ts";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const { service } = site;
const person = await makePerson(service, { consoleRole: "super_admin" });
const first = defineSchema({ notes: { title: t.string() } });
const app = await service.makeApp(first, { slug: "wiki" });
await countRequests(service);
// A second push, near the end.
await service.pushSchema(app, defineSchema({ notes: { title: t.string(), done: t.boolean() } }));
await service.service.admin.message(
  "update rowhouse.migrations set applied_at = now() - interval '35 minutes' where seq = 1; select 1",
);

async function openHome(
  options: { width: number; colorScheme?: "light"; javaScriptEnabled?: false },
  run: (page: Page) => Promise<void>,
): Promise<void> {
  const { width, ...rest } = options;
  const visitor = { url: `${site.identityUrl}/console`, email: person.email };
  await withConsole(browser, visitor, run, { viewport: { width, height: 900 }, ...rest });
}

test("arrow keys and the pointer read the values of each step, and Enter opens its changes", async () => {
  await openHome({ width: 1280 }, async (page) => {
    const readout = page.getByRole("slider", { name: "Step of the chart" });
    const read = async () => {
      const text = await readout.textContent();
      expect(await readout.getAttribute("aria-valuetext")).toBe(text);
      return text ?? "";
    };
    // The last step with requests comes first. A minute may have ended since the sign-in, whose requests then come after these.
    for (let tries = 0; tries < 3 && !(await read()).includes("900,000"); tries++)
      await readout.press("ArrowLeft");
    expect(await read()).toMatch(/^\d\d:\d\d: 900,000 requests · 1 failed · 111,000 rejected/);
    await readout.press("ArrowLeft");
    expect(await read()).toEndWith("no requests");
    await readout.press("Home");
    expect(await readout.getAttribute("aria-valuenow")).toBe("0");
    await readout.press("ArrowLeft");
    expect(await readout.getAttribute("aria-valuenow")).toBe("0");
    await readout.press("End");
    expect(await readout.getAttribute("aria-valuenow")).toBe("59");
    const steps = page.locator("svg[data-axis] rect");
    await steps.nth(20).hover();
    expect(await readout.getAttribute("aria-valuenow")).toBe("20");
    expect(await page.locator("svg[data-axis] rect[data-selected]").count()).toBe(1);
    await readout.press("Enter");
    await page.waitForURL(/\/console\/changes\?/);
  });
});

test("marks have their names next to them, or their number where names would overlap", async () => {
  for (const { width, expected } of [
    { width: 360, expected: "2 changes" },
    { width: 900, expected: "2 changes" },
    { width: 1280, expected: "push 0001 of wi…,push 0002 of wi…" },
  ])
    await openHome({ width }, async (page) => {
      const names = page.locator(".axis-names text").filter({ visible: true });
      expect((await names.allTextContents()).join()).toBe(expected);
      const drawing = await page.locator("svg[data-axis]").boundingBox();
      const [first, last] = [await names.first().boundingBox(), await names.last().boundingBox()];
      if (!drawing || !first || !last) throw new Error("No drawing");
      expect(first.x).toBeGreaterThanOrEqual(drawing.x);
      expect(last.x + last.width).toBeLessThanOrEqual(drawing.x + drawing.width + 1);
    });
});

test("the figures are in one line, or two by two", async () => {
  for (const [width, perLine] of [
    [360, 2],
    [540, 2],
    [768, 2],
    [800, 4],
    [1280, 4],
  ] as const)
    await openHome({ width }, async (page) => {
      const tops = await page
        .locator(".stat")
        .evaluateAll((all) => all.map((figure) => Math.round(figure.getBoundingClientRect().top)));
      expect([width, tops.filter((top) => top === tops[0]).length]).toEqual([width, perLine]);
    });
});
