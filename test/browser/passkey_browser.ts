/**
 * Passkeys in a real browser with a virtual authenticator: added, used without a password and as a second factor, and
 * removed.
 */
import { expect, test } from "bun:test";
import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from "playwright-core";
import { displays, expectSound, openBrowser, openSite, withPage } from "../support/browser.ts";
import { makePerson, PASSWORD, type Person } from "../support/people.ts";
import { share } from "../support/share.ts";

const [site, browser] = await Promise.all([share(openSite()), share(openBrowser())]);

type Visit = { page: Page; context: BrowserContext; device: CDPSession };

/** A browser on a device with a fingerprint reader. */
async function onDevice(
  run: (visit: Visit) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const listenFirst = async (page: Page) => {
    const context = page.context();
    const device = await context.newCDPSession(page);
    await device.send("WebAuthn.enable", { enableUI: false });
    await run({ page, context, device });
  };
  await withPage(browser, listenFirst, options);
}

async function plugIn(device: CDPSession): Promise<string> {
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return authenticatorId;
}

async function signIn(page: Page, { email }: Person): Promise<void> {
  await page.goto(`${site.identityUrl}/login`);
  await page.fill("#email", email);
  await page.fill("#password", PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const press = (page: Page, name: string) => page.getByRole("button", { name }).click();

async function signOut(page: Page): Promise<void> {
  await page.goto(`${site.identityUrl}/login`);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("You are signed out.").waitFor();
}

/** Waits until the browser offers passkeys in the field: the page ignores an earlier response of the device. */
async function untilOffered(page: Page): Promise<void> {
  await page.waitForLoadState();
  // The page asks this, too, and then offers passkeys. By the second response, the browser has the offer.
  for (let round = 0; round < 2; round++)
    await page.evaluate(() => PublicKeyCredential.isConditionalMediationAvailable());
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.goto(`${site.identityUrl}/account/security/passkeys`);
  await page.fill("#label", name);
  await press(page, "Add a passkey");
  await page.getByRole("link", { name: "I have saved them" }).click();
  await page.getByText("Passkey added").waitFor();
}

test("a passkey is added, signs in without a password, and is removed", async () => {
  const person = await makePerson(site.service);
  await onDevice(async ({ page, device }) => {
    await signIn(page, person);
    const authenticatorId = await plugIn(device);
    await addPasskey(page, "My laptop");
    expect(await page.textContent(".session-name")).toBe("My laptop");
    // The device already has a passkey: the browser reports it, and sends nothing.
    await press(page, "Add a passkey");
    await page.getByRole("alert").filter({ hasText: "already has a passkey" }).waitFor();
    // Without the authenticator no field offers a passkey, and the page does not change.
    await device.send("WebAuthn.setAutomaticPresenceSimulation", {
      authenticatorId,
      enabled: false,
    });
    await signOut(page);
    await untilOffered(page);
    await device.send("WebAuthn.setAutomaticPresenceSimulation", {
      authenticatorId,
      enabled: true,
    });
    await press(page, "Sign in with a passkey");
    await page.getByText(`Signed in as ${person.email}`).waitFor();
    await page.goto(`${site.identityUrl}/account/security/passkeys`);
    await page.getByRole("link", { name: "Remove My laptop" }).click();
    await press(page, "Remove the passkey");
    await page.getByText("Passkey removed").waitFor();
  });
});

test("a passkey is the second factor after the password, and the address field offers it", async () => {
  const person = await makePerson(site.service);
  await onDevice(async ({ page, device }) => {
    await signIn(page, person);
    const authenticatorId = await plugIn(device);
    await addPasskey(page, "Phone");
    const simulate = (enabled: boolean) =>
      device.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled });
    await simulate(false);
    await signOut(page);
    await page.fill("#email", person.email);
    await page.fill("#password", PASSWORD);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Verify your identity").waitFor();
    await simulate(true);
    await press(page, "Use a passkey");
    await page.getByText(`Signed in as ${person.email}`).waitFor();
    // As if the person selected the passkey in the browser's autofill, without a click.
    await page.context().clearCookies();
    await page.goto(`${site.identityUrl}/login`);
    await page.getByText(`Signed in as ${person.email}`).waitFor();
  });
});

test("the page reports a missing response of the device and stays unchanged", async () => {
  await onDevice(async ({ page, device }) => {
    await device.send("WebAuthn.addVirtualAuthenticator", {
      options: { protocol: "ctap2", transport: "internal", hasUserVerification: true },
    });
    await page.goto(`${site.identityUrl}/login`);
    await page.fill("#email", "typed@example.org");
    await press(page, "Sign in with a passkey");
    await page.getByRole("alert").waitFor();
    expect(await page.inputValue("#email")).toBe("typed@example.org");
  });
});

test("a page without JavaScript has no passkey section, and the password signs in", async () => {
  const person = await makePerson(site.service);
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${site.identityUrl}/login`);
  expect(await page.getByRole("button", { name: "passkey" }).count()).toBe(0);
  await signIn(page, person);
  await page.goto(`${site.identityUrl}/account/security/passkeys`);
  expect(await page.getByText("No passkeys yet").isVisible()).toBe(true);
  expect(await page.getByRole("button", { name: "Add a passkey" }).count()).toBe(0);
  await context.close();
});

test("every passkey page is accessible in both themes", async () => {
  for (const { colorScheme, width } of displays("dark", 1280))
    await onDevice(
      async ({ page, device }) => {
        const person = await makePerson(site.service, { name: "Ada Lovelace" });
        const look = async (name: string) => {
          await expectSound(page, name);
          const folder = process.env["SCREENSHOTS"];
          if (folder !== undefined)
            await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png`, fullPage: true });
        };
        await signIn(page, person);
        const authenticatorId = await plugIn(device);
        await page.goto(`${site.identityUrl}/account/security`);
        await look("security");
        await page.goto(`${site.identityUrl}/account/security/passkeys`);
        await look("no-passkey");
        await addPasskey(page, "My laptop with quite a long name of sixty characters, or so");
        await page.click("summary:has-text('Rename')");
        await look("one-passkey");
        await page.getByRole("link", { name: "Remove My laptop" }).click();
        await look("remove");
        await device.send("WebAuthn.setAutomaticPresenceSimulation", {
          authenticatorId,
          enabled: false,
        });
        await signOut(page);
        await look("sign-in");
        await page.fill("#email", person.email);
        await page.fill("#password", PASSWORD);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
        await page.getByText("Verify your identity").waitFor();
        await look("second-factor");
      },
      { bypassCSP: true, colorScheme, viewport: { width, height: 800 } },
    );
});
