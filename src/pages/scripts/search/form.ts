/** The search form above a table's rows: a text to find in all columns, and conditions on columns. @module */
import { FIELDS } from "../../../kinds/mod.ts";
import { element, makeButton, SMALL_BUTTON } from "../dom.ts";
import { nameZone, toInstant, toLocalText } from "../times.ts";
import {
  OPERATORS,
  type OperatorName,
  operatorsOf,
  type SearchColumn,
  type SearchCondition,
  type SearchState,
} from "./state.ts";

export type SearchForm = {
  readonly show: (state: SearchState) => void;
  /** The form has no field for the order. */
  readonly read: () => Omit<SearchState, "order">;
};

const SEARCHED = "Search texts, choices, numbers, dates and ids";

type Control = HTMLInputElement | HTMLSelectElement;

export function makeSearchForm(
  form: HTMLFormElement,
  { columns, onClear }: { columns: readonly SearchColumn[]; onClear: () => void },
): SearchForm {
  const text = element("input", {
    type: "search",
    "data-keys": "f",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "180",
    placeholder: SEARCHED,
    "aria-label": SEARCHED,
  });
  const conditions = element("div", { class: "conditions" });
  const add = makeButton("Add a filter", () => {
    const condition = makeCondition(columns);
    conditions.append(condition);
    condition.querySelector("select")?.focus();
  });
  const clear = makeButton("Clear", onClear);
  const submit = element("button", { class: SMALL_BUTTON }, "Search");
  form.append(text, submit, add, clear, conditions);
  return {
    show: (state) => {
      text.value = state.text;
      conditions.replaceChildren(
        ...state.conditions.map((condition) => makeCondition(columns, condition)),
      );
    },
    read: () => ({
      text: text.value.trim(),
      conditions: [...conditions.children].flatMap((part) => readCondition(part)),
    }),
  };
}

function readCondition(part: Element): SearchCondition[] {
  const [column, operator, value] = part.querySelectorAll<Control>("select, input");
  if (column === undefined || operator === undefined) return [];
  const typed = value?.value ?? "";
  const text = value?.type === "datetime-local" ? toInstant(typed) : typed;
  // The options of the field are names of `OPERATORS`.
  return [{ column: column.value, operator: operator.value as OperatorName, value: text }];
}

function makeCondition(
  columns: readonly SearchColumn[],
  condition?: SearchCondition,
): HTMLFieldSetElement {
  const column = makeSelect(
    "Column",
    columns.filter((other) => operatorsOf(other).length > 0).map(({ name }) => [name, name]),
  );
  const operator = makeSelect("Comparison", []);
  const value = element("span", {});
  const remove = makeButton("Remove", () => part.remove());
  remove.ariaLabel = "Remove the filter";
  const part = element("fieldset", { class: "condition" }, column, operator, value, remove);
  part.ariaLabel = "Filter";
  const find = () => columns.find(({ name }) => name === column.value);
  const renewOperators = () => {
    const known = find();
    const names = known === undefined ? [] : operatorsOf(known);
    operator.replaceChildren(
      ...names.map((name) => element("option", { value: name }, toOperatorLabel(name, known))),
    );
  };
  const renewValue = (text = "") => {
    const known = find();
    const name = operator.value as OperatorName;
    const has = known !== undefined && OPERATORS[name]?.hasValue === true;
    value.replaceChildren(...(has ? [makeValue(known, name, text)] : []));
  };
  column.addEventListener("change", () => {
    renewOperators();
    renewValue();
  });
  operator.addEventListener("change", () => renewValue(readCondition(part)[0]?.value));
  if (condition !== undefined) column.value = condition.column;
  renewOperators();
  if (condition !== undefined) operator.value = condition.operator;
  renewValue(condition?.value);
  return part;
}

function toOperatorLabel(name: OperatorName, column: SearchColumn | undefined): string {
  const labels: Partial<Record<OperatorName, string>> =
    (column && FIELDS[column.kind].search.labels) ?? {};
  return labels[name] ?? OPERATORS[name].label;
}

function makeSelect(label: string, options: readonly (readonly [string, string])[]) {
  return element(
    "select",
    { "aria-label": label },
    ...options.map(([value, name]) => element("option", { value }, name)),
  );
}

function makeValue(column: SearchColumn, operator: OperatorName, text: string): Control {
  const { choices, isFreeText, search } = FIELDS[column.kind];
  const values = choices?.(column);
  if (values !== undefined) {
    const select = makeSelect(
      "Value",
      values.map((value) => [value, value]),
    );
    if (values.includes(text)) select.value = text;
    return select;
  }
  const isTime = search.input === "datetime-local";
  const input = element("input", {
    type: search.input ?? "text",
    "aria-label": isTime ? `Value in the time zone ${nameZone()}` : "Value",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "180",
    ...(isTime ? { step: "1", title: `In your time zone, ${nameZone()}` } : {}),
    ...search.pattern,
  });
  input.required = isFreeText !== true || (operator !== "eq" && operator !== "neq");
  input.value = isTime ? toLocalText(text) : text;
  return input;
}
