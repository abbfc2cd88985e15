/** Chromium on a machine, for a person who uses the app of docs/react.md: signs in and adds a todo. @module */
import { chromium } from "playwright-core";

/** The input of a visit. A link sets the password first. */
export type Visit = {
  origin: string;
  email: string;
  password: string;
  link?: string;
  add?: string;
};
/** The page's content, and the session cookie as a header. */
export type PageContent = { text: string; titles: string[]; cookie: string };

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const MAX_WAIT_MS = 60_000;

async function visit({ origin, email, password, link, add }: Visit): Promise<PageContent> {
  const executablePath = Bun.which("chromium") ?? "chromium";
  const browser = await chromium.launch({ executablePath, args: ARGS });
  const page = await browser.newPage();
  page.setDefaultTimeout(MAX_WAIT_MS);
  if (link === undefined) {
    await page.goto(origin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.fill("#email", email);
    await page.fill("#password", password);
    await page.click("button[type=submit]");
  } else {
    await page.goto(link);
    await page.fill("[name=password]", password);
    await page.click("button[type=submit]");
    await page.waitForURL((url) => url.href !== link);
    await page.goto(origin);
  }
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const todo = page.locator("ul li");
  await todo.first().or(page.getByText("Ask an administrator")).waitFor();
  const text = (await page.locator("body").textContent()) ?? "";
  const titles = await todo.allTextContents();
  if (add !== undefined) {
    await page.fill("[name=title]", add);
    const isStored = page.waitForResponse((response) => response.request().method() === "POST");
    await page.getByRole("button", { name: "Add" }).click();
    await isStored;
  }
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
  await browser.close();
  return { text, titles, cookie };
}

console.log(JSON.stringify(await visit(await Bun.stdin.json())));
