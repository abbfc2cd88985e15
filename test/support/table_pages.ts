/** The pages of a table in a real browser, with an administrator, for all tests of a file or a group. @module */
import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser } from "playwright-core";
import {
  type OnPage,
  openBrowser,
  openSite,
  readOnPage,
  type TestSite,
  withConsole,
} from "./browser.ts";
import { makePerson, type Person } from "./people.ts";
import type { TestApp, TestResponse, TestService, TestServiceOptions } from "./service.ts";

type Schema = Parameters<TestService["makeApp"]>[0];
type Call = Parameters<TestService["call"]>[2];
type Options = TestServiceOptions["service"] & { consoleRole?: "admin" | "super_admin" };
type Opened = { site: TestSite; browser: Browser; person: Person };
export type StoredRow = Record<string, unknown> & { id: string };

/** Opens a site and a browser before the tests, and closes both after them. */
export function useTablePages(
  schema: Schema,
  { consoleRole = "super_admin", ...options }: Options = {},
) {
  let opened: Opened | undefined;
  let app: TestApp | undefined;
  const get = <Part>(part: Part | undefined): Part => {
    if (part === undefined) throw new Error("The site opens before the tests");
    return part;
  };
  beforeAll(async () => {
    const [site, browser] = await Promise.all([openSite({}, { service: options }), openBrowser()]);
    const person = await makePerson(site.service, { name: "Ada", consoleRole });
    opened = { site, browser, person };
  }, 60_000);
  afterAll(async () => {
    await opened?.browser.close();
    await opened?.site.close();
  });
  const call = (path: string, sent?: Call): Promise<TestResponse> =>
    get(opened).site.service.call(get(app), path, sent);
  const toUrl = (path: string) =>
    `${get(opened).site.identityUrl}/console/apps/${get(app).slug}/tables/${path}`;
  return {
    get site(): TestSite {
      return get(opened).site;
    },
    get browser(): Browser {
      return get(opened).browser;
    },
    get person(): Person {
      return get(opened).person;
    },
    /** The app of the current test. */
    get app(): TestApp {
      return get(app);
    },
    /** Creates the app of the next tests. */
    makeApp: async (): Promise<void> => {
      app = await get(opened).site.service.makeApp(schema);
    },
    /** Calls the API with the app's key. */
    call,
    addRows: async (json: readonly object[], table = "todos"): Promise<StoredRow[]> => {
      if (json.length === 0) return [];
      const response = await call(`/v1/data/db/${table}`, { method: "POST", json });
      expect(response.status).toBe(201);
      return (response.json as { rows: StoredRow[] }).rows;
    },
    listRows: async (): Promise<StoredRow[]> => {
      const { json } = await call("/v1/data/db/todos");
      return (json as { rows: StoredRow[] }).rows;
    },
    /** The address of a page of the app's rows. */
    toUrl,
    /** Opens a page of the app's rows in a fresh browser, signed in. */
    open: async (path: string, ...given: OnPage): Promise<void> => {
      const { options, run } = readOnPage(given);
      const { browser, person } = get(opened);
      await withConsole(browser, { url: toUrl(path), email: person.email }, run, options);
    },
  };
}
