/** Reads values by a schema, and describes their issues for people. Pure. @module */
import * as v from "valibot";
import type { Detail } from "../problem.ts";
import { escapePointer } from "../std/json.ts";

export type Reading<Value> = { value: Value } | { details: Detail[] };

/** The value that a schema reads, or all issues, with paths relative to the value. */
export function readValue<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): Reading<v.InferOutput<Schema>> {
  const read = v.safeParse(schema, value);
  if (read.success) return { value: read.output };
  const details = read.issues.map((issue) => ({
    path: (issue.path ?? []).map(({ key }) => toPart(key)).join(""),
    message: describeIssue(issue),
  }));
  return { details };
}

const MAX_NAME = 100;

function toPart(key: unknown): string {
  return `/${escapePointer(String(key).slice(0, MAX_NAME))}`;
}

/** Rules have their own messages; other issues are about the type of a value. */
function describeIssue({ kind, expected, received, message }: v.BaseIssue<unknown>): string {
  if (kind !== "schema") return message;
  if (expected === "never") return "Unknown field";
  if (received === "undefined") return "Missing";
  return `Must be ${EXPECTED[expected ?? ""] ?? listChoices(expected)}`;
}

/** Names of types for people. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  Object: "an object",
  Array: "a list",
};

/** The choices of a text such as `("a" | "b")`. */
function listChoices(expected: string | null): string {
  return `one of ${expected?.replace(/^\((.*)\)$/, "$1").replaceAll(" | ", ", ")}`;
}

/** The field that names the alternative. */
export function kind<const Kind extends string>(name: Kind, about: string) {
  return v.pipe(v.literal(name), v.description(about));
}

type Entries = Record<string, v.GenericSchema>;

/** An object with only these fields. Unlike `v.strictObject`, it reports every unknown field. */
export function only<const Fields extends Entries>(
  fields: Fields,
): v.ObjectSchema<Fields, undefined> {
  const schema = v.pipe(
    v.objectWithRest(fields, v.never()),
    v.metadata({ additionalProperties: false }),
  );
  // The type of the rest would make every field `never`.
  return schema as unknown as v.ObjectSchema<Fields, undefined>;
}

/** A list of at most `max` entries. The entries of a longer list are not read: their issues would need much memory. */
export function listOf<Item extends v.GenericSchema>(item: Item, max: number) {
  const list = v.array(item);
  const unread = v.array(v.unknown());
  const bounded: typeof list = {
    ...list,
    "~run": (dataset, config) => {
      const isLong = Array.isArray(dataset.value) && dataset.value.length > max;
      return (
        isLong ? unread["~run"](dataset, config) : list["~run"](dataset, config)
      ) as ReturnType<(typeof list)["~run"]>;
    },
  };
  return v.pipe(bounded, v.maxLength(max, `Must have at most ${max} entries`));
}
