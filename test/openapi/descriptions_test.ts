/** The OpenAPI document describes every part of the API. */
import { expect, test } from "bun:test";
import { type Document, followReference, makeDocument } from "../../src/openapi/mod.ts";
import { defineSchema, t, toDefinition } from "../../src/schema/mod.ts";
import { routes } from "../../src/service/routes.ts";

const read = toDefinition(
  defineSchema({
    projects: { name: t.string().required() },
    todos: {
      title: t.string().unique(),
      count: t.number(),
      price: t.decimal(),
      is_open: t.boolean(),
      token: t.uuid(),
      due: t.timestamp().default("now"),
      extra: t.json(),
      state: t.enum(["open", "done"]),
      project: t.ref("projects"),
    },
  }),
);
if ("issues" in read) throw new Error("The schema has issues");
const { tables } = read.definition;

/** Only the app knows the meaning of these columns. The document has their type and values. */
const OF_THE_APP =
  /^\/components\/schemas\/todos-(row|insert|update|updates\/items)\/properties\/(is_open|state)$/;

/** Keys with values, whose members are not parts of the API. */
const VALUES = ["enum", "const", "default", "example", "examples"];
/** Lists and objects in which every entry needs a description. */
const NAMED = ["parameters", "properties", "headers", "responses", "securitySchemes"];

/** Returns the paths of parts without a description. */
function findUndescribed(document: Document, value: unknown = document, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (VALUES.includes(key) && !path.endsWith("/properties")) return [];
    const own = `${path}/${key}`;
    const missing = NAMED.includes(key)
      ? Object.entries(part as object).flatMap(toMissing(document, own))
      : [];
    return [...missing, ...findUndescribed(document, part, own)];
  });
}

function toMissing(document: Document, path: string) {
  return ([name, part]: [string, unknown]) => {
    const { schema, ...own } = followReference(document, Object(part));
    const { description } = { ...followReference(document, Object(schema)), ...own };
    const isDescribed = typeof description === "string" && description.trim() !== "";
    return isDescribed ? [] : [`${path}/${name}`];
  };
}

test.each([
  { of: "the API without an app", tables: undefined },
  { of: "an app with a column of each kind", tables },
])("every property, parameter, header and status of $of has a description", ({ tables }) => {
  const missing = findUndescribed(makeDocument(routes, { tables }));
  expect(missing.filter((path) => !OF_THE_APP.test(path))).toEqual([]);
  expect(missing.length).toBe(tables === undefined ? 0 : 8);
});

test("a column's description has the facts that its values do not state", () => {
  const document = makeDocument(routes, { tables });
  const { properties } = Object(document.components.schemas["todos-insert"]);
  const about = (column: string) => followReference(document, properties[column])["description"];
  expect(about("title")).toMatch(/U\+0000\. No two rows/);
  expect(about("due")).toEndWith("Returned in UTC. Defaults to the time of the insert.");
  expect(about("project")).toBe("The id of a row of `projects`.");
});
