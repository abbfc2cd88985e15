/** Whoever reads the description of the API is told what each part of it is for. */
import { expect, test } from "bun:test";
import { defineSchema, t, toDefinition } from "../../src/dsl/mod.ts";
import { makeDocument } from "../../src/openapi/mod.ts";
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

/** What these hold is the app's to say: the type and the values are all that is known. */
const OF_THE_APP =
  /^\/components\/schemas\/todos-(row|insert|update)\/properties\/(is_open|state)$/;

/** Values, in which a name means nothing. */
const VALUES = ["enum", "const", "default", "example", "examples"];
/** Lists and objects whose entries are each described. */
const NAMED = ["parameters", "properties", "headers", "responses", "securitySchemes"];

/** Where a part without a description stands. */
function findUndescribed(value: unknown, place = ""): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (VALUES.includes(key) && !place.endsWith("/properties")) return [];
    const own = `${place}/${key}`;
    const missing = NAMED.includes(key)
      ? Object.entries(part as object).flatMap(toMissing(own))
      : [];
    return [...missing, ...findUndescribed(part, own)];
  });
}

function toMissing(place: string) {
  return ([name, part]: [string, unknown]) => {
    const { description, $ref }: Record<string, unknown> = Object(part);
    const isReported = typeof description === "string" && description.trim() !== "";
    // A response that is referred to is looked at where it stands.
    const isReferred = place.endsWith("/responses") && $ref !== undefined;
    return isReported || isReferred ? [] : [`${place}/${name}`];
  };
}

test.each([
  { of: "no app in particular", tables: undefined },
  { of: "an app with a column of each kind", tables },
])("every property, parameter, header and status of $of has a description", ({ tables }) => {
  const missing = findUndescribed(makeDocument(routes, { tables }));
  expect(missing.filter((place) => !OF_THE_APP.test(place))).toEqual([]);
  expect(missing.length).toBe(tables === undefined ? 0 : 6);
});

test("a column's description has the facts that its values do not state", () => {
  const { schemas } = makeDocument(routes, { tables }).components;
  expect(Object(schemas["todos-insert"]).properties).toMatchObject({
    title: {
      description: expect.stringMatching(/U\+0000\. No two rows/),
    },
    due: { description: expect.stringContaining("Defaults to the time of the insert.") },
    project: { description: "The id of a row of `projects`." },
  });
});
