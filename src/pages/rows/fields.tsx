/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The fields of a row's form, by the kind of each column. NULL and the default are boxes next to the value, or entries of
 * the choice, so that an empty text is a value like others. The server shows them in the form of a row, scripts in a cell.
 *
 * @module
 */

import { FIELDS, type FieldKind } from "../../kinds/mod.ts";
import type { NamedColumn } from "../../schema/mod.ts";
import type { Html, JSX, Part } from "../html.ts";
import { describeColumn } from "./cells.tsx";
import { isChosen, isEmptyAsked, isFreeText, type State } from "./state.ts";

type Choice = { value: string; label: string };

export type RowField = {
  column: NamedColumn;
  state: State;
  issues: readonly string[];
  /** The value that another user has stored since the form was opened. */
  now?: string | undefined;
  /** The rows of the referenced table, and the columns by which they are found, beginning with their label. */
  picked?: { path: string; finders: readonly string[] } | undefined;
  /** The address and the label of the referenced row. */
  target?: { path: string; label: string | undefined } | undefined;
  /** Whether the value is too large for a form. */
  isTooLong?: boolean;
  /** Whether the field has the focus. */
  isFirst?: boolean;
  /** Whether the row is new: an empty text is stored only if its box is checked. */
  isNew?: boolean;
};

const TEXT_ROWS = 8;

export function renderRowField(field: RowField): Html {
  const { column, issues, now, target } = field;
  const { name } = column;
  const { hint, toLink } = FIELDS[column.kind];
  const link = toLink?.(toText(field.state));
  const isInvalid = issues.length > 0;
  const ids = [
    hint !== undefined && `hint.${name}`,
    now !== undefined && `now.${name}`,
    isInvalid && `issue.${name}`,
  ].filter((id) => id !== false);
  const described: Attributes = {
    "aria-describedby": ids.length > 0 && ids.join(" "),
    "aria-invalid": isInvalid && "true",
    autofocus: field.isFirst,
  };
  return (
    <div class="field row-field" data-field={name}>
      <label for={`value.${name}`}>
        <bdi>{name}</bdi> <span class="kind">{describeColumn(column)}</span>
      </label>{" "}
      {field.isTooLong === true ? renderTooLong(field) : renderControl(field, described)}
      {renderBoxes(field)}
      {hint !== undefined && (
        <p class="hint" id={`hint.${name}`}>
          {hint}
        </p>
      )}
      {link !== undefined && (
        <p class="hint">
          <a href={link} rel="noopener noreferrer" target="_blank">
            Open the address
          </a>
        </p>
      )}
      {target !== undefined && (
        <p class="hint">
          <a href={target.path}>
            Open {target.label === undefined ? "the referenced row" : <bdi>{target.label}</bdi>}
          </a>
        </p>
      )}
      {now !== undefined && (
        <p class="now" id={`now.${name}`}>
          Stored value: <bdi>{now}</bdi>
        </p>
      )}
      {isInvalid && (
        <ul class="issues" id={`issue.${name}`}>
          {issues.map((issue) => (
            <li>{issue}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function renderControl(field: RowField, described: Attributes): Html {
  const { column, state, isNew = false } = field;
  const { name, kind } = column;
  const text = toText(state);
  const placeholder = isNew && isEmptyAsked(column) ? "" : toPlaceholder(column, state);
  const common = {
    id: `value.${name}`,
    name: `value.${name}`,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    placeholder,
    ...described,
  } as const;
  return CONTROLS[FIELDS[kind].control]({ field, text, common, described });
}

type Attributes = Omit<JSX.IntrinsicElements["textarea"], "children">;
type Control = { field: RowField; text: string; common: Attributes; described: Attributes };

const CONTROLS = {
  date: ({ text, common }) => (
    <input type="date" {...common} min="0001-01-01" max="9999-12-31" value={text} />
  ),
  line: ({ field, text, common }) => {
    const type = FIELDS[field.column.kind].input ?? "text";
    return <input type={type} {...common} inputmode={type} value={text} />;
  },
  number: ({ text, common }) => <input type="text" {...common} inputmode="decimal" value={text} />,
  moment: ({ text, common }) => <input type="text" {...common} data-moment value={text} />,
  lines: ({ text, common }) => (
    <textarea {...common} rows={toRows(text, 1)} dir="auto">
      {text}
    </textarea>
  ),
  json: ({ text, common }) => (
    <textarea {...common} rows={toRows(text, 3)} dir="auto" class="mono" data-json>
      {text}
    </textarea>
  ),
  choice: renderChoice,
  reference: renderReference,
} satisfies Record<FieldKind["control"], (control: Control) => Html>;

function renderReference({ field, text, common }: Control): Html {
  const { picked } = field;
  return (
    <input
      type="text"
      {...common}
      data-pick={picked?.path}
      data-pick-by={picked?.finders.join(" ")}
      value={text}
    />
  );
}

function toRows(text: string, min: number): number {
  const lines = text.split("\n").reduce((sum, line) => sum + Math.ceil((line.length + 1) / 60), 0);
  return Math.min(Math.max(lines, min), TEXT_ROWS);
}

/** The value of an empty field: a required text can be empty, other values cannot. */
function toPlaceholder(column: NamedColumn, state: State): string {
  if (typeof state !== "string") return isFreeText(column) ? "empty" : "";
  return state === "default" ? `default: ${describeDefault(column)}` : "null";
}

function describeDefault({ default: initial }: NamedColumn): string {
  const text = typeof initial === "string" ? initial : JSON.stringify(initial);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function renderChoice({ field: { column, state }, described }: Control): Html {
  const { name, required } = column;
  const values = FIELDS[column.kind].choices?.(column) ?? [];
  const text = typeof state === "string" ? state : `=${state.text}`;
  const choices: Choice[] = [
    ...(state === "default"
      ? [{ value: "default", label: `default: ${describeDefault(column)}` }]
      : []),
    ...values.map((value) => ({ value: `=${value}`, label: value })),
    ...(required ? [] : [{ value: "null", label: "null" }]),
  ];
  // Without an entry of its own, a text that is no choice would be shown, and stored, as the first one.
  if (choices.every(({ value }) => value !== text))
    choices.unshift({ value: text, label: toText(state) || "Choose…" });
  return (
    <select id={`value.${name}`} name={`value.${name}`} {...described}>
      {choices.map(({ value, label }) => (
        <option value={value} selected={value === text}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** A checkbox for null, default or empty. */
function renderBoxes({ column, state, isTooLong = false, isNew = false }: RowField): Part {
  if (isChosen(column) || isTooLong) return undefined;
  const { name, required } = column;
  const render = (term: "null" | "default" | "empty") => {
    const isChecked = term === "empty" ? state !== "null" && toText(state) === "" : state === term;
    return (
      <label class="check row-box">
        <input
          type="checkbox"
          name={`${term}.${name}`}
          data-null={term !== "default"}
          checked={isChecked}
          aria-label={`${name}: ${term}`}
        />
        <span>{term}</span>
      </label>
    );
  };
  const boxes = [
    isNew && isEmptyAsked(column) && render("empty"),
    state === "default" && isFreeText(column) && render("default"),
    !required && render("null"),
  ];
  return boxes.some((box) => box !== false) && <div class="row-boxes">{boxes}</div>;
}

const toText = (state: State) => (typeof state === "string" ? "" : state.text);

const VISIBLE_CHARS = 600;

function renderTooLong({ column, state }: RowField): Html {
  const text = toText(state);
  return (
    <>
      <pre class="snippet" tabindex="0" id={`value.${column.name}`} aria-label={column.name}>
        <bdi>{text.slice(0, VISIBLE_CHARS)}…</bdi>
      </pre>
      <p class="hint">{text.length} characters: too long to edit here.</p>
    </>
  );
}
