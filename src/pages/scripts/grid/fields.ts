/** The field of a cell's column in a form: its control, and its value. @module */
import type { NamedColumn } from "../../../schema/mod.ts";
import { readState, type State } from "../../rows/state.ts";
import { chooseNull } from "../forms/inputs.ts";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const CONTROL = "input:not([type=hidden], [type=checkbox], .calendar), select, textarea";

function findField(form: HTMLFormElement, column: string): HTMLElement | null {
  return form.querySelector<HTMLElement>(`[data-field="${CSS.escape(column)}"]`);
}

/** The control with the value; `null` if the value is too long for a form. */
export function findControl(form: HTMLFormElement, column: string): Control | null {
  return findField(form, column)?.querySelector<Control>(CONTROL) ?? null;
}

/** Enters a text as if it was typed. Returns whether the control takes texts. */
export function enterText(control: Control | null, text: string): boolean {
  const isInput = control instanceof HTMLInputElement && control.type !== "date";
  if (!isInput && !(control instanceof HTMLTextAreaElement)) return false;
  // The end of an input for addresses cannot be selected otherwise.
  control.value = text;
  control.dispatchEvent(new Event("input", { bubbles: true }));
  return true;
}

/** The value of a field as displayed. */
export function describeField(form: HTMLFormElement, column: string): string {
  const control = findControl(form, column);
  if (control instanceof HTMLSelectElement) return control.selectedOptions[0]?.label ?? "";
  return control?.value ?? "";
}

/** The state of a field; `wasNull` is whether its box was checked when the form was opened. */
export function readField(form: HTMLFormElement, column: NamedColumn, wasNull: boolean): State {
  const fields = new Map<string, string>();
  for (const [name, value] of new FormData(form))
    if (typeof value === "string") fields.set(name, value);
  return readState(column, fields, { wasNull, isNew: false }) ?? "null";
}

/** Enters null. Returns whether the column allows it. */
export function enterNull(form: HTMLFormElement, column: string): boolean {
  return chooseNull(findField(form, column));
}
