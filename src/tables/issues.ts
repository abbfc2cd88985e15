/** Reads values by a schema, and describes their issues for people. Pure. @module */
import * as v from "valibot";
import type { Detail } from "../problem.ts";
import { isObject } from "../std/json.ts";
import { escapePointer } from "../std/json_pointer.ts";

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

/** Max reported unknown fields of an object: issues need much memory. The last issue then counts the rest. */
const MAX_UNKNOWN = 200;

/** An object with only these fields. Valibot's own objects report one unknown field, or all except such as `__proto__`. */
export function only<const Fields extends Entries>(
  fields: Fields,
): v.ObjectSchema<Fields, undefined> {
  const known = v.object(fields);
  const bounded: typeof known = {
    ...known,
    "~run": (dataset, config) => {
      const sent = dataset.value;
      const read = known["~run"](dataset, config);
      if (!isObject(sent)) return read;
      return checkUnknown(sent, fields)["~run"](
        read as v.OutputDataset<unknown, Issue>,
        config,
      ) as typeof read;
    },
  };
  return v.pipe(bounded, v.metadata({ additionalProperties: false })) as typeof known;
}

type Issue = v.BaseIssue<unknown>;

function checkUnknown(sent: Readonly<Record<string, unknown>>, fields: Entries) {
  return v.rawCheck<unknown>(({ addIssue }) => {
    const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(fields, name));
    const rest = unknown.length - MAX_UNKNOWN + 1;
    for (const key of rest <= 1 ? unknown : unknown.slice(0, MAX_UNKNOWN - 1)) {
      const at = { type: "object", origin: "key", input: sent, key, value: sent[key] } as const;
      addIssue({ message: "Unknown field", path: [at] });
    }
    if (rest > 1) addIssue({ message: `Cannot list ${rest} more errors: fix these first` });
  });
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
