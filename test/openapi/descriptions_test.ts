/** The OpenAPI document describes every part of the API. */
import { expect, test } from "bun:test";
import { makeDocument } from "../../src/openapi/mod.ts";
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
function findUndescribed(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (VALUES.includes(key) && !path.endsWith("/properties")) return [];
    const own = `${path}/${key}`;
    const missing = NAMED.includes(key)
      ? Object.entries(part as object).flatMap(toMissing(own))
      : [];
    return [...missing, ...findUndescribed(part, own)];
  });
}

function toMissing(path: string) {
  return ([name, part]: [string, unknown]) => {
    const { description, $ref }: Record<string, unknown> = Object(part);
    const isDescribed = typeof description === "string" && description.trim() !== "";
    // A referenced response is checked at its definition.
    const isReferenced = path.endsWith("/responses") && $ref !== undefined;
    return isDescribed || isReferenced ? [] : [`${path}/${name}`];
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
  const { schemas } = makeDocument(routes, { tables }).components;
  expect(Object(schemas["todos-insert"]).properties).toMatchObject({
    title: { description: expect.stringMatching(/U\+0000\. No two rows/) },
    due: { description: expect.stringContaining("Defaults to the time of the insert.") },
    project: { description: "The id of a row of `projects`." },
  });
});
