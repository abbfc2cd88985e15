/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The fields of a new column, and what they declare. The kinds give their names, details and choices, and the reader of schemas the
 * errors. Only names, choices and numbers are accepted: a text never becomes code.
 *
 * @module
 */
import { type Details, FIELDS, KINDS, type Kind, NEVER_ACCEPTED, VALUES } from "../../kinds/mod.ts";
import { type Html, renderField } from "../../pages/mod.ts";
import { tryParseJson } from "../../std/json.ts";
import { quote } from "../../std/quote.ts";
import { renderCheck } from "../parts.tsx";

const FLAGS = { required: "Required", unique: "Unique", index: "Index" } as const;

type Detail = {
  readonly label: string;
  readonly hint?: string;
  readonly choices?: Readonly<Record<string, string>>;
  /** The declared value of a text. Without it, the text. */
  readonly read?: (text: string) => unknown;
};

/** The parts that only some kinds have. */
const DETAILS: Readonly<Record<keyof Details, Detail>> = {
  values: { label: "Choices", hint: "In order, such as `open, done`", read: splitValues },
  table: { label: "Of table" },
  onDelete: {
    label: "When that row is deleted",
    choices: { "": "reject it", cascade: "delete this row too", "set null": "set to null" },
  },
  onUpdate: { label: "When the row changes", choices: { "": "stays", now: "set to the time" } },
};
const DETAIL_NAMES = Object.keys(DETAILS) as (keyof Details)[];

/** The texts of the fields of a column, by name. */
export type TypedColumn = Readonly<Record<string, string>>;

export function readTypedColumn(query: ReadonlyMap<string, string>, place: number): TypedColumn {
  const prefix = toPrefix(place);
  return Object.fromEntries(
    [...query].flatMap(([name, text]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), text.trim()]] : [],
    ),
  );
}

function toPrefix(place: number): string {
  return `column${place}.`;
}

function splitValues(text: string): string[] {
  return text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** A choice that a form can declare. */
const VALUE = /^[\p{L}\p{N}][\p{L}\p{N} _.-]*$/u;
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;

/** The declaration of a column for the reader of schemas, and the issues that only this form has. */
export function declareColumn(typed: TypedColumn): { declared: object; issues: readonly string[] } {
  const { name = "", default: initial = "" } = typed;
  const kind = KINDS.find((known) => known === typed["kind"]) ?? KINDS[0];
  const keys = VALUES[kind].details?.keys ?? [];
  const details: Record<string, unknown> = {};
  for (const key of DETAIL_NAMES) {
    const text = typed[key] ?? "";
    const { read } = DETAILS[key];
    if (keys.includes(key) && (text !== "" || read !== undefined))
      details[key] = read?.(text) ?? text;
  }
  const values = Array.isArray(details["values"]) ? details["values"].map(String) : [];
  const unusual = values.find((value) => !VALUE.test(value));
  const value = initial === "" ? undefined : readDefault(kind, initial, { values });
  const issues = [
    ...(unusual === undefined
      ? []
      : [
          `Cannot use the choice ${quote(unusual)} here: use letters, digits, spaces, “_”, “-” and “.”`,
        ]),
    ...(initial !== "" && value === undefined
      ? [`Cannot use the default ${quote(initial)} here: use ${describeDefaults(kind, { values })}`]
      : []),
  ];
  const flags = Object.keys(FLAGS).map((flag) => [flag, typed[flag] === "on"]);
  const declared = { name, kind, ...Object.fromEntries(flags), ...details };
  return {
    declared: value === undefined ? declared : { ...declared, default: value },
    issues: issues.map((issue) => `${name}: ${issue}`),
  };
}

function listDefaults(kind: Kind, column: Details): string[] {
  return [
    ...Object.keys(VALUES[kind].default.computed ?? {}),
    ...(FIELDS[kind].choices?.(column) ?? []),
  ];
}

/** The value of a computed default, a choice or a number; `undefined` for other texts. */
function readDefault(kind: Kind, text: string, column: Details): unknown {
  const { isNumeric, toJson = JSON.stringify } = FIELDS[kind];
  if (Object.hasOwn(VALUES[kind].default.computed ?? {}, text)) return text;
  const isKnown = listDefaults(kind, column).includes(text);
  if (!isKnown && !(isNumeric === true && NUMBER.test(text))) return undefined;
  const json = toJson(text);
  return json === NEVER_ACCEPTED ? undefined : tryParseJson(json);
}

function describeDefaults(kind: Kind, column: Details): string {
  const known = listDefaults(kind, column);
  if (FIELDS[kind].isNumeric === true) return "a number";
  return known.length === 0 ? "the schema file" : known.map(quote).join(" or ");
}

/** The fields of a column. A browser hides the parts that its kind does not have. */
export function renderColumnFields(
  typed: TypedColumn,
  { place, tables, legend }: { place: number; tables: readonly string[]; legend: string },
): Html {
  const prefix = toPrefix(place);
  const kind = KINDS.find((known) => known === typed["kind"]) ?? KINDS[0];
  const field = (key: string, { label, hint, choices }: Detail) =>
    renderField({
      ...{ name: prefix + key, label, isOptional: true, maxLength: 500, value: typed[key] ?? "" },
      ...(hint !== undefined && { hint }),
      ...(choices !== undefined && { choices }),
    });
  const details = {
    ...DETAILS,
    table: { ...DETAILS.table, choices: Object.fromEntries(tables.map((name) => [name, name])) },
  };
  return (
    <fieldset class="new-column">
      <legend>{legend}</legend>
      <div class="filter">
        {field("name", { label: "Name" })}
        <div class="field">
          <label for={`${prefix}kind`}>Type</label>
          <select id={`${prefix}kind`} name={`${prefix}kind`}>
            {KINDS.map((known) => (
              <option
                value={known}
                selected={known === kind}
                data-details={VALUES[known].details?.keys.join(" ")}
              >
                {FIELDS[known].label}
              </option>
            ))}
          </select>
        </div>
        {DETAIL_NAMES.map((key) => (
          <div data-detail={key}>{field(key, details[key])}</div>
        ))}
        {field("default", { label: "Default" })}
      </div>
      <div class="flags">
        {Object.entries(FLAGS).map(([flag, label]) =>
          renderCheck(prefix + flag, label, { isChecked: typed[flag] === "on" }),
        )}
      </div>
    </fieldset>
  );
}
