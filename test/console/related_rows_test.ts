/** The page of a row shows what the row references and what references it, by one list. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { defineSchema, t } from "../../src/schema/mod.ts";
import { expectPage, textOf } from "../support/page_text.ts";
import { type Jar, makePerson, readHidden, signInAs, visit } from "../support/people.ts";
import { openTestService, type TestApp, type TestService } from "../support/service.ts";

const SCHEMA = defineSchema({
  // Its name is a column of projects.
  owner: { name: t.string(), project: t.ref("projects") },
  projects: {
    note: t.string(),
    name: t.string().required().unique(),
    owner: t.ref("owner"),
    parent: t.ref("projects"),
  },
  todos: { title: t.string(), project: t.ref("projects"), former: t.ref("projects") },
  points: { value: t.number(), project: t.ref("projects") },
  ranks: { limit: t.string().required().unique() },
  stops: { rank: t.ref("ranks") },
});
const TITLES = Array.from({ length: 12 }, (_, index) => `Todo ${index + 1}`);
const MAX_BYTES = 500_000;
const LONG = `${"<b>é".repeat(40)}end`;

describe("the page of a row", () => {
  let service: TestService;
  let jar: Jar;
  let app: TestApp;
  let other: TestApp;
  let ids: Record<"garden" | "home" | "empty" | "owner" | "first" | "point", string>;
  beforeAll(async () => {
    service = await openTestService({
      identity: () => ({ cookieDomain: "example.org" }),
      service: { previews: [], maxResponseBytes: MAX_BYTES },
    });
    jar = await signInAs(service, await makePerson(service, { name: "Ada", consoleRole: "admin" }));
    app = await service.makeApp(SCHEMA);
    other = await service.makeApp(SCHEMA);
    const [owner = ""] = await add("owner", [{ name: "Ada Lovelace" }]);
    const [garden = ""] = await add("projects", [{ name: "Garden", owner }]);
    const [home = "", empty = ""] = await add("projects", [
      { name: "Home", note: "not its label", parent: garden },
      { name: "Empty" },
    ]);
    const [first = ""] = await add(
      "todos",
      TITLES.map((title) => ({ title, project: garden, former: home })),
    );
    await add("todos", [{ title: LONG, former: garden }, { title: " " }]);
    const [point = ""] = await add("points", [{ value: 1, project: home }]);
    const [foreign = ""] = await add("projects", [{ name: "Foreign" }], other);
    await add("todos", [{ title: "Foreign todo", project: foreign }], other);
    ids = { garden, home, empty, owner, first, point };
  });
  afterAll(() => service.close());

  async function add(table: string, rows: object[], of = app): Promise<string[]> {
    const path = `/v1/data/db/${table}`;
    const response = await service.call(of, path, { method: "POST", json: rows });
    expect(response.status).toBe(201);
    return (response.json as { rows: { id: string }[] }).rows.map(({ id }) => id);
  }

  const rowsOf = (table: string) => `/console/apps/${app.slug}/tables/${table}`;
  const open = async (table: string, id: string) =>
    await visit(service, jar, `${rowsOf(table)}/rows/${id}`);
  const countCalls = async (table: string, id: string) => {
    service.log.length = 0;
    await open(table, id);
    return service.log.filter((line) => line.includes("/v1/data/db/")).length;
  };

  test("a reference displays the text of its row, and links to the row", async () => {
    const { text } = await open("projects", ids.home);
    expect(text).toContain(
      `<a href="${rowsOf("projects")}/rows/${ids.garden}">Open <bdi>Garden</bdi></a>`,
    );
    const todo = await open("todos", ids.first);
    for (const [id, label] of [
      [ids.garden, "Garden"],
      [ids.home, "Home"],
    ])
      expect(todo.text).toContain(
        `<a href="${rowsOf("projects")}/rows/${id}">Open <bdi>${label}</bdi></a>`,
      );
  });

  test("rows of another app are neither listed nor found by their id", async () => {
    const [foreign = ""] = await add("projects", [{ name: "Foreign too" }], other);
    await add("todos", [{ title: "Foreign todo too", project: foreign }], other);
    expect((await open("projects", foreign)).status).toBe(404);
    for (const id of [ids.garden, ids.home, ids.empty])
      expect((await open("projects", id)).text).not.toContain("Foreign");
  });

  test("a form accepts the text of a row whose column has the name of a parameter", async () => {
    const [, second = ""] = await add("ranks", [{ limit: "1" }, { limit: 'the "2", (x)' }]);
    const [stop = ""] = await add("stops", [{}]);
    const { text } = await open("stops", stop);
    const fields = { ...readHidden(text), "value.rank": 'the "2", (x)' };
    await visit(service, jar, `${rowsOf("stops")}/rows/${stop}`, { fields });
    const { json } = await service.call(app, `/v1/data/db/stops/${stop}`);
    expect(json).toMatchObject({ rank: second });
  });

  test("a form that is rejected displays the same", async () => {
    const { text } = await open("projects", ids.garden);
    const typed = { ...readHidden(text), "value.name": "Home" };
    const path = `${rowsOf("projects")}/rows/${ids.garden}`;
    const rejected = await visit(service, jar, path, { fields: typed });
    expectPage(rejected, 409, "Open <bdi>Ada Lovelace</bdi>", "todos.project");
  });

  test("the first rows of each list are displayed, with a link to all of them", async () => {
    const { text } = await open("projects", ids.garden);
    const lists = readLists(text);
    expect(lists.get("todos.project")?.texts).toEqual(TITLES.slice(-10).toReversed());
    expect(lists.get("todos.project")?.more).toBe(
      `${rowsOf("todos")}#where=project.eq.${ids.garden}`,
    );
    expect(lists.get("todos.former")?.texts).toEqual([
      LONG.slice(0, 60).replaceAll("<b>", "&lt;b&gt;"),
    ]);
    expect(lists.get("todos.former")?.more).toBeUndefined();
    expect(lists.get("projects.parent")?.texts).toEqual(["Home"]);
    expect(lists.get("points.project")?.texts).toEqual([]);
    expect(text).not.toContain("<b>");
    expect(text).toContain(`>All ${TITLES.length} of <bdi>todos.project`);
    // A selection prefers the column with the name of this table.
    expect(text.match(/>All rows of <bdi>owner\.project/g)).toHaveLength(1);
  });

  test("a row without a text is displayed by its id, and a row without others has empty lists", async () => {
    const home = readLists((await open("projects", ids.home)).text);
    expect(home.get("points.project")?.texts).toEqual([expect.stringMatching(/^[\w…]+$/)]);
    const { text } = await open("projects", ids.empty);
    expect([...readLists(text).values()].flatMap(({ texts }) => texts)).toEqual([]);
    expect(textOf({ text }).match(/No rows/g)).toHaveLength(4);
  });

  test("one list reads the related rows, up to three relations", async () => {
    // The row and its related rows.
    for (const [table, id] of [
      ["owner", ids.owner],
      ["todos", ids.first],
      ["points", ids.point],
    ] as const)
      expect([table, await countCalls(table, id)]).toEqual([table, 2]);
    // Five relations, of which two have the same name, and the number of rows of a long list.
    expect(await countCalls("projects", ids.garden)).toBe(4);
  });

  test("a list that is rejected leaves a link to its rows", async () => {
    const [huge = ""] = await add("projects", [{ name: "Huge" }]);
    const todo = { title: "x".repeat(90_000), project: huge };
    for (let count = 0; count < MAX_BYTES / 90_000; count++) await add("todos", [todo]);
    await add("projects", [{ name: "Part of huge", parent: huge }]);
    const page = await open("projects", huge);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain("x".repeat(61));
    expect(page.text).toContain(
      `#where=project.eq.${huge}">All rows of <bdi>todos.project</bdi></a>`,
    );
    expect(readLists(page.text).get("todos.former")?.texts).toEqual([]);
  });
});

type Shown = { texts: string[]; more: string | undefined };

/** The lists of a page, by column. */
function readLists(text: string): Map<string, Shown> {
  const sections = [...text.matchAll(/<section aria-label="Rows of ([^"]+)">(.*?)<\/section>/gs)];
  return new Map(
    sections.map(([, name = "", section = ""]): [string, Shown] => [
      name,
      {
        texts: [...section.matchAll(/<td>(<a.*?<\/a>)/gs)].map(([, item = ""]) =>
          textOf({ text: item }).trim(),
        ),
        more: /<a href="([^"]+#where=[^"]+)"/.exec(section)?.[1]?.replaceAll("&amp;", "&"),
      },
    ]),
  );
}
