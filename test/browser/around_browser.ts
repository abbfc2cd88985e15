/** Getting around in the Console: the command palette, the search page, recent apps, themes and sign-out, in a real browser. */
import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { defineSchema, t } from "../../src/schema/mod.ts";
import {
  displays,
  expectSound,
  type OnPage,
  openBrowser,
  openMenu,
  openSite,
  readOnPage,
  signInToConsole,
  withConsole,
} from "../support/browser.ts";
import { makePerson, OLD_SIGN_IN, PASSWORD } from "../support/people.ts";
import { makeAuthenticator, readCodes, readKey } from "../support/second_factor.ts";
import { share } from "../support/share.ts";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);
const chief = await makePerson(site.service, { name: "Ada Lovelace", consoleRole: "super_admin" });
const tim = await makePerson(site.service, { name: "Tim" });
await site.service.makeApp(defineSchema({ notes: { title: t.string() } }), { slug: "wiki" });
await site.service.makeApp(undefined, { slug: "crm" });

async function openConsole(path: string, ...given: OnPage): Promise<void> {
  const { options, run } = readOnPage(given);
  const visitor = { url: site.identityUrl + path, email: chief.email };
  await withConsole(browser, visitor, run, options);
}

const palette = (page: Page) => page.getByRole("dialog", { name: "Find anything" });
const options = (page: Page) => palette(page).getByRole("option");

test("Ctrl+K finds an app, a person and a table by keyboard, and Enter opens it", async () => {
  await openConsole("/console", async (page) => {
    for (const { typed, name, heading } of [
      { typed: "wik", name: "wiki", heading: "wiki" },
      { typed: tim.email, name: `Tim ${tim.email}`, heading: "Tim" },
      { typed: "notes", name: "notes of wiki", heading: "notes" },
    ]) {
      await page.keyboard.press("Control+k");
      await page.keyboard.insertText(typed);
      await options(page)
        .filter({ hasText: name.split(" ")[0] ?? "" })
        .first()
        .waitFor();
      await page.waitForFunction(
        () => document.querySelectorAll(".palette [role=option]").length < 5,
      );
      expect(await options(page).first().getAttribute("aria-selected")).toBe("true");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.waitForLoadState();
    }
  });
});

test("a key that is pasted into the palette or a search is sent without its secret, also to revoke it", async () => {
  const { key, slug } = await site.service.makeApp();
  const [id = "", secret = ""] = key.slice(3).split(".");
  await openConsole("/console", async (page) => {
    const sent: string[] = [];
    page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""}`));
    await page.getByRole("searchbox", { name: "Find anything" }).fill(key);
    await page.keyboard.press("Enter");
    await page.getByRole("main").getByText(id).first().waitFor();
    await page.keyboard.press("Control+k");
    await palette(page).getByRole("combobox").fill(`ROWHOUSE_API_KEY=${key}`);
    await options(page)
      .filter({ hasText: `Revoke ${id}` })
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByRole("main").getByText("Key revoked. It stopped working.").waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/apps/${slug}/keys`);
    expect(sent.filter((text) => text.includes(id)).length).toBeGreaterThan(1);
    expect(sent.filter((text) => text.includes(secret.slice(0, 8)))).toEqual([]);
  });
});

test.each(["before", "after"])(
  "the palette sets the theme, with its first results %s it is typed, and the focus returns",
  async (when) => {
    await openConsole("/console", async (page) => {
      const typed = Promise.withResolvers<void>();
      if (when === "before") typed.resolve();
      await page.route(/\?q=$/, async (route) => {
        await typed.promise;
        await route.continue();
      });
      await page.getByRole("link", { name: "Activity" }).first().focus();
      await page.keyboard.press("Control+k");
      if (when === "before") await options(page).first().waitFor();
      await palette(page).getByRole("combobox").fill("theme: dark");
      // At once: no result is of what was typed.
      await page.keyboard.press("Enter");
      typed.resolve();
      await palette(page).waitFor({ state: "detached" });
      expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Activity");
    });
  },
);

test("arrows choose in the palette, Escape closes it, and the focus returns", async () => {
  await openConsole("/console", async (page) => {
    await page.getByRole("link", { name: "Activity" }).first().focus();
    await page.keyboard.press("Control+k");
    await options(page).nth(2).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    const input = palette(page).getByRole("combobox");
    const active = await input.getAttribute("aria-activedescendant");
    expect(await options(page).nth(1).getAttribute("id")).toBe(active);
    expect(await palette(page).locator("[aria-selected=true]").count()).toBe(1);
    await page.keyboard.press("Escape");
    await palette(page).waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Activity");
  });
});

test("the palette finds a push by its number, and a page of the docs", async () => {
  await openConsole("/console", async (page) => {
    await page.keyboard.press("Control+k");
    await palette(page).getByRole("combobox").fill("wiki push 2");
    await palette(page).getByText("No results").waitFor();
    await palette(page).getByRole("combobox").fill("checks in");
    const guide = options(page).filter({ hasText: "Checks in CI" }).first();
    await guide.waitFor();
    expect(await guide.getAttribute("data-href")).toEndWith("/docs/push#checks-in-ci");
    await palette(page).getByRole("combobox").fill("wiki push 1");
    await options(page).first().filter({ hasText: "wiki: push 0001" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL("**/console/apps/wiki/pushes/1");
  });
});

test("the palette finds sections of the docs, pages of all apps, keys to rotate and the last things", async () => {
  const [id = ""] = (await site.service.makeApp(undefined, { slug: "desk" })).key
    .slice(3)
    .split(".");
  await openConsole("/console/apps/crm", async (page) => {
    const input = palette(page).getByRole("combobox");
    const find = async (text: string, wanted: string) => {
      await input.fill(text);
      await options(page).filter({ hasText: wanted }).first().waitFor();
    };
    await page.goto(`${site.identityUrl}/console/tables/notes`);
    await page.goto(`${site.identityUrl}/console`);
    await page.keyboard.press("Control+k");
    await palette(page).getByRole("group", { name: "Recent" }).waitFor();
    expect((await options(page).allTextContents()).slice(0, 2)).toEqual([
      "notes · Tables",
      "crm · Apps",
    ]);
    await find("backup", "Backup");
    await find("new key", "wiki: New key");
    await find("rotate", `Rotate ${id}`);
    expect(await options(page).filter({ hasText: "Revoke" }).count()).toBe(0);
    await find("new key wik", "wiki: New key");
    await find(`rh_${id.slice(0, 6)}`, `Rotate ${id}`);
    for (const [filled, typed] of [
      ["", `rh_${id}.aB3aB3aB3`],
      ["", `revoke rh_${id}.aB3`],
      [`rh_${id}.aB3aB3aB3`, "aB3"],
    ] as const) {
      await input.fill("");
      await input.fill(filled);
      await input.pressSequentially(typed);
      expect([typed, await input.inputValue()]).toEqual([typed, id]);
    }
    await options(page)
      .filter({ hasText: `Revoke ${id}` })
      .waitFor();
    await page.keyboard.press("Escape");
    await page.goto(`${site.identityUrl}/console/apps`);
    const second = await page.locator(".list tbody tr .row-name").nth(1).textContent();
    for (const key of ["j", "j", "k", "j", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(`**/console/apps/${second}`);
  });
});

test("the filters of activity and requests suggest apps, tables and keys", async () => {
  await openConsole("/console/requests", async (page) => {
    for (const [label, typed] of [
      ["App", "wiki"],
      ["Table", "notes"],
    ] as const) {
      await page.getByLabel(label, { exact: true }).focus();
      await page.locator(`datalist option[value="${typed}"]`).waitFor({ state: "attached" });
    }
    const code = page.locator('datalist option[value="validation_failed"]');
    await code.waitFor({ state: "attached" });
    await page.goto(`${site.identityUrl}/console/activity`);
    await page.getByLabel("App", { exact: true }).fill("cr");
    await page.locator('datalist option[value="crm"]').waitFor({ state: "attached" });
  });
});

test("the search page finds the same results without JavaScript", async () => {
  const run = async (page: Page) => {
    await page.getByRole("searchbox", { name: "Find anything" }).fill("wiki");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Find", exact: true }).waitFor();
    await page.getByRole("main").getByRole("link", { name: "wiki" }).click();
    await page.getByRole("heading", { name: "wiki" }).waitFor();
  };
  await openConsole("/console", { javaScriptEnabled: false }, run);
});

test("the palette opens the sign-in page when the session has ended", async () => {
  await openConsole("/console", async (page) => {
    await page.context().clearCookies();
    await page.keyboard.press("Control+k");
    await page.waitForURL("**/console/sign-in**");
  });
});

test("opened apps are listed as recent, only for the person who opened them", async () => {
  await openConsole("/console", async (page) => {
    const recent = page.getByRole("region", { name: "Recent apps" });
    expect(await recent.count()).toBe(0);
    await page.goto(`${site.identityUrl}/console/apps/wiki/keys`);
    await page.goto(`${site.identityUrl}/console/apps/crm`);
    await page.goto(`${site.identityUrl}/console`);
    expect(await recent.getByRole("link").allTextContents()).toEqual(["crm", "wiki"]);
    await page.goto(`${site.identityUrl}/console/apps/crm`);
    expect(await recent.getByRole("link").allTextContents()).toEqual(["wiki"]);
    await page.goto(`${site.identityUrl}/console`);
    await page.getByRole("link", { name: "Sign out" }).click();
    await page.getByText("You are signed out").waitFor();
    const other = await makePerson(site.service, { consoleRole: "admin" });
    await page.goto(`${site.identityUrl}/console`);
    await signInToConsole(page, other.email);
    expect(await recent.count()).toBe(0);
  });
});

test("the navigation's theme switch is remembered and applied before the first paint", async () => {
  const ground = (page: Page) =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await openConsole("/console", { colorScheme: "light" }, async (page) => {
    const light = await ground(page);
    await page.getByLabel("Theme").selectOption("dark");
    const dark = await ground(page);
    expect(dark).not.toBe(light);
    await page.reload();
    expect(await ground(page)).toBe(dark);
    expect(await page.getByLabel("Theme").inputValue()).toBe("dark");
    await page.getByLabel("Theme").selectOption("system");
    expect(await ground(page)).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await ground(page)).toBe(dark);
    await page.getByLabel("Theme").selectOption("light");
    expect(await ground(page)).toBe(light);
  });
});

test("destructive confirmations open over the list with the focus on Cancel, and report success", async () => {
  await openConsole("/console/apps/wiki/keys", { bypassCSP: true }, async (page) => {
    const dialog = page.getByRole("dialog");
    await openMenu(page);
    await page.getByRole("link", { name: "Revoke key test" }).click();
    await dialog.getByRole("heading", { name: "Revoke a key" }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Cancel");
    expect(page.url()).toEndWith("/keys");
    await expectSound(page);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("More for");
    await page.getByRole("link", { name: "Rotate key test" }).click();
    await dialog.getByRole("button", { name: "Rotate the key" }).click();
    await page.getByRole("heading", { name: "Copy this key now" }).waitFor();
    site.service.secrets.add((await page.textContent("#key")) ?? "");
    await page.getByRole("link", { name: "I have stored it" }).click();
    await page.getByText("replaced by").waitFor();
    const rows = await page.getByRole("row").allTextContents();
    expect([rows[1]?.includes("replaces"), rows[2]?.includes("replaced by")]).toEqual([true, true]);
    await page.waitForLoadState();
    await openMenu(page.getByRole("row").last());
    await page.getByRole("link", { name: "Revoke key test" }).click();
    await dialog.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByRole("main").getByText("Key revoked.").waitFor();
    // The focus stays on the row, and the result is announced.
    await page.waitForFunction(() => document.activeElement?.matches("tbody tr:nth-child(2)"));
    await page
      .locator("#announcements", { hasText: "Key revoked." })
      .waitFor({ state: "attached" });
  });
});

test("an old sign-in is renewed in the dialog, and a wrong password stays there", async () => {
  await openConsole("/console/apps/crm/keys", { bypassCSP: true }, async (page) => {
    const dialog = page.getByRole("dialog");
    await site.service.service.admin.message(
      `update rowhouse.sessions set proven_at = ${OLD_SIGN_IN}; select 1`,
    );
    await page.getByRole("link", { name: "Rotate key test" }).click();
    await dialog.getByRole("heading", { name: "Your password" }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("password");
    await expectSound(page);
    await page.keyboard.type("not the password");
    await page.keyboard.press("Enter");
    await dialog.getByRole("alert").waitFor();
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await dialog.getByRole("heading", { name: "Rotate" }).waitFor();
    expect(page.url()).toEndWith("/keys");
    // The page behind the dialog gets the tokens of the new session.
    await Promise.all([page.waitForEvent("load"), page.keyboard.press("Escape")]);
    await page.getByRole("link", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });
});

test("a departed person's access ends in one dialog, and a changed role keeps the focus on its row", async () => {
  const gone = await makePerson(site.service, { name: "Gone" });
  await openConsole(`/console/people/${gone.id}/new-role`, async (page) => {
    await page.getByRole("checkbox", { name: "wiki" }).check();
    await page.getByRole("checkbox", { name: "crm" }).check();
    await page.getByRole("button", { name: "Grant role" }).click();
    const change = page.getByRole("link", { name: "Change the role: wiki" });
    await change.waitFor();
    await page.waitForLoadState();
    await change.click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("main").getByText("Role saved.").waitFor();
    await page.waitForFunction(
      () => document.activeElement?.textContent === "Change the role: wiki",
    );
    await page.getByRole("link", { name: "End access" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("All roles are revoked").waitFor();
    await dialog.getByRole("button", { name: "End access" }).click();
    await page.getByText("All access has ended").waitFor();
    await page.getByText("No roles. This person cannot open any app.").waitFor();
  });
});

test("a deletion in a dialog requires the typed name", async () => {
  await openConsole("/console/apps/crm/settings", async (page) => {
    await page.getByRole("link", { name: "Delete" }).click();
    const button = page.getByRole("dialog").getByRole("button", { name: "Delete permanently" });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.getByLabel("Type crm to delete it").fill("crm");
    expect(await button.isDisabled()).toBe(false);
    await page.keyboard.press("Escape");
    await button.waitFor({ state: "detached" });
  });
});

test("an address field suggests people", async () => {
  await openConsole("/console/apps/wiki/add-person", async (page) => {
    await page.getByLabel("Address").fill(tim.email.slice(0, 12));
    const option = page.locator(`datalist option[value="${tim.email}"]`);
    await option.waitFor({ state: "attached" });
    expect(await option.getAttribute("label")).toBe(`Tim (${tim.email})`);
  });
});

describe.each(displays("light", 1280))(
  "$colorScheme, $width px wide:",
  ({ colorScheme, width }) => {
    test("the palette has no accessibility issue", async () => {
      const viewport = { width, height: 800 };
      const run = async (page: Page) => {
        await page.keyboard.press("Control+k");
        await page.keyboard.type("wiki");
        await options(page).filter({ hasText: "wiki" }).first().waitFor();
        await expectSound(page);
        await page.keyboard.type("nothing like this");
        await palette(page).getByText("No results").waitFor();
        await expectSound(page);
      };
      await openConsole("/console", { colorScheme, viewport, bypassCSP: true }, run);
    });
  },
);

// Last: from then on, the Console asks every administrator to add a second factor.
test("a second factor of a renewed sign-in is asked on its page, which returns to the form", async () => {
  const own = await makePerson(site.service, { consoleRole: "super_admin" });
  const visitor = { url: `${site.identityUrl}/console`, email: own.email };
  await withConsole(browser, visitor, async (page) => {
    await page.goto(`${site.identityUrl}/account/security/app`);
    const authenticator = makeAuthenticator(readKey(await page.content()));
    const enter = async () => {
      await page.fill("#code", authenticator.code());
      await page.click("button[type=submit]");
    };
    await enter();
    await page.locator("#codes").waitFor();
    for (const secret of readCodes(await page.content())) site.service.secrets.add(secret);
    await page.goto(`${site.identityUrl}/console/apps/crm/keys`);
    await site.service.service.admin.message(
      `update rowhouse.totp_factors set last_step = 0 where user_id = '${own.id}';
      update rowhouse.sessions set proven_at = ${OLD_SIGN_IN}; select 1`,
    );
    await page.getByRole("link", { name: "Rotate key test" }).click();
    await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/second-factor**");
    await enter();
    await page.waitForURL("**/roll");
    await page.getByRole("button", { name: "Rotate the key" }).waitFor();
  });
});
