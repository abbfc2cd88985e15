/** The search form above a table's rows: a text to find in all columns, and conditions on columns. @module */
import { FIELDS } from "../../../kinds/mod.ts";
import { element, makeButton, SMALL_BUTTON } from "../dom.ts";
import { nameZone, toInstant, toLocalText } from "../times.ts";
import { addReferencePicker } from "./picker.ts";
import {
  OPERATORS,
  type OperatorName,
  operatorsOf,
  type SearchColumn,
  type SearchCondition,
  type SearchState,
  toFragment,
} from "./state.ts";

export type SearchForm = {
  readonly show: (state: SearchState) => void;
  /** The form has no field for the order. */
  readonly read: () => Omit<SearchState, "order">;
};

type Options = {
  readonly columns: readonly SearchColumn[];
  /** The text of the row that a reference names. */
  readonly toLabel: (column: string, id: string) => Promise<string>;
  /** A condition was chosen or removed, or the form was submitted. */
  readonly onApply: () => void;
  readonly onClear: () => void;
};

const SEARCHED = "Search texts, JSON, numbers, times and ids";
const CHIP = ".condition";

type Control = HTMLInputElement | HTMLSelectElement;

export function makeSearchForm(form: HTMLFormElement, options: Options): SearchForm {
  const { onClear } = options;
  const text = element("input", {
    type: "search",
    "data-keys": "f",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "180",
    placeholder: SEARCHED,
    "aria-label": SEARCHED,
  });
  const chips = element("span", { class: "chips" });
  const apply = makeApply(form, options);
  const add = makeButton("Add a filter", () => {
    const chip = makeChip(options, apply);
    chips.append(chip);
    line.hidden = false;
    openChip(chip).column.focus();
  });
  const clear = makeButton("Clear", () => {
    onClear();
    text.focus();
  });
  const line = element("div", { class: "conditions", hidden: "" }, chips, clear);
  const submit = element("button", { class: SMALL_BUTTON }, "Search");
  form.noValidate = true;
  form.append(text, submit, add, line);
  const read = () => ({
    text: text.value.trim(),
    conditions: listChips(form).flatMap((chip) => (isValid(chip) ? readCondition(chip) : [])),
  });
  return {
    read,
    show: (state) => {
      text.value = state.text;
      // A filter that is open stays open.
      if (JSON.stringify(read().conditions) !== JSON.stringify(state.conditions))
        chips.replaceChildren(
          ...state.conditions.map((condition) => makeChip(options, apply, condition)),
        );
      line.hidden = toFragment(state) === "" && listChips(form).length === 0;
    },
  };
}

/** Applies the form once for a change and the submission that follows it. */
function makeApply(form: HTMLFormElement, { onApply }: Options): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    const invalid = listChips(form).find((chip) => !isValid(chip));
    if (invalid !== undefined) return void openChip(invalid).value?.reportValidity();
    for (const { menu } of listChips(form).map(partsOf)) {
      if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
      menu.open = false;
    }
    onApply();
  });
  return () => {
    clearTimeout(timer);
    timer = setTimeout(onApply);
  };
}

function listChips(form: HTMLFormElement): Element[] {
  return [...form.querySelectorAll(CHIP)];
}

function partsOf(chip: Element) {
  const menu = chip.querySelector("details");
  const [column, operator, value] = chip.querySelectorAll<Control>("select, input");
  if (menu === null || column === undefined || operator === undefined)
    throw new Error("This is not a filter");
  return { menu, column, operator, value };
}

function openChip(chip: Element): ReturnType<typeof partsOf> {
  const parts = partsOf(chip);
  parts.menu.open = true;
  return parts;
}

function isValid(chip: Element): boolean {
  return partsOf(chip).value?.checkValidity() !== false;
}

function readCondition(chip: Element): SearchCondition[] {
  const { column, operator, value } = partsOf(chip);
  const typed = value?.value ?? "";
  const text = value?.type === "datetime-local" ? toInstant(typed) : typed;
  // The options of the field are names of `OPERATORS`.
  return [{ column: column.value, operator: operator.value as OperatorName, value: text }];
}

/** A filter in words, which opens its fields. It is applied when it is complete. */
function makeChip(
  { columns, toLabel }: Options,
  apply: () => void,
  condition?: SearchCondition,
): HTMLElement {
  const column = makeSelect(
    "Column",
    columns
      .filter((other) => operatorsOf(other).length > 0)
      .map(({ name, title = name }) => [name, title]),
  );
  const operator = makeSelect("Comparison", []);
  const value = element("span", {});
  const summary = element("summary", { class: SMALL_BUTTON });
  const submit = element("button", { class: SMALL_BUTTON }, "Apply");
  const fields = element("div", { class: "sheet", role: "group" }, column, operator, value, submit);
  fields.ariaLabel = "Filter";
  const menu = element("details", { class: "columns" }, summary, fields);
  const remove = makeButton("×", () => {
    const next = chip.nextElementSibling ?? chip.previousElementSibling;
    (next?.querySelector("summary") ?? chip.closest("form")?.querySelector("input"))?.focus();
    chip.remove();
    apply();
  });
  remove.ariaLabel = "Remove the filter";
  const chip = element("span", { class: "condition" }, menu, remove);
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
    const control = has ? makeValue(known, name, text) : undefined;
    value.replaceChildren(...(control === undefined ? [] : [control]));
    if (control instanceof HTMLInputElement && control.dataset["pick"] !== undefined)
      addReferencePicker(control);
  };
  const renewSummary = () => {
    const { value: control } = partsOf(chip);
    const words = [
      find()?.title ?? column.value,
      toOperatorLabel(operator.value as OperatorName, find()),
    ];
    const shown = control?.value.replace("T", " ");
    const parts = [...words, ...(shown === undefined ? [] : [shown === "" ? "…" : shown])];
    const texts = parts.map((part) => element("bdi", {}, part));
    summary.replaceChildren(...texts.flatMap((text) => [text, " "]));
    if (control?.dataset["pick"] === undefined || !control.checkValidity()) return;
    void toLabel(column.value, control.value).then((label) => texts.at(-1)?.replaceChildren(label));
  };
  fields.addEventListener("change", ({ target }) => {
    if (target === column) renewOperators();
    if (target === column) renewValue();
    else if (target === operator) renewValue(readCondition(chip)[0]?.value);
    renewSummary();
    if (isValid(chip) && partsOf(chip).value?.value !== "") apply();
  });
  // Closing a filter without a value removes it.
  menu.addEventListener("toggle", () => {
    if (!menu.open && !isValid(chip) && partsOf(chip).value?.value === "") chip.remove();
  });
  if (condition !== undefined) column.value = condition.column;
  renewOperators();
  if (condition !== undefined) operator.value = condition.operator;
  renewValue(condition?.value);
  renewSummary();
  return chip;
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
  const { finders = [], rows } = column;
  const values = choices?.(column);
  if (values !== undefined) {
    const select = makeSelect(
      "Value",
      values.map((value) => [value, value]),
    );
    // An address can have another value.
    if (text !== "" && !values.includes(text)) select.append(new Option(text, text));
    if (text !== "") select.value = text;
    return select;
  }
  const isTime = search.input === "datetime-local";
  const isList = operator === "in";
  const input = element("input", {
    type: search.input ?? "text",
    "aria-label": isTime ? `Value in the time zone ${nameZone()}` : "Value",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: isList ? "4000" : "180",
    ...(isTime ? { step: "1", title: `In your time zone, ${nameZone()}` } : {}),
    ...(finders.length === 0 || rows === undefined || isList
      ? {}
      : { "data-pick": rows, "data-pick-by": finders.join(" ") }),
    ...(isList ? search.listPattern : search.pattern),
  });
  input.required = isFreeText !== true || (operator !== "eq" && operator !== "neq");
  input.value = isTime ? toLocalText(text) : text;
  return input;
}
