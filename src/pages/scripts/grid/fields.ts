/** The field of a cell's column in the form of its row: its content, and values entered by a script. @module */
import { element } from "../dom.ts";
import { chooseNull, clearNull } from "../forms/inputs.ts";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;
type ControlState = { name: string; value: string; isChecked: boolean };
/** The content of a field. */
export type FieldState = {
  controls: readonly ControlState[];
  /** The value as JSON text, if the controls have other line ends. */
  exact: string | undefined;
};

const CONTROL = "input:not([type=hidden], [type=checkbox], .calendar), select, textarea";

export function findField(form: HTMLFormElement, column: string): HTMLElement | null {
  return form.querySelector<HTMLElement>(`[data-field="${CSS.escape(column)}"]`);
}

/** The control with the value; `null` if the value is too long for a form. */
export function findControl(form: HTMLFormElement, column: string): Control | null {
  return findField(form, column)?.querySelector<Control>(CONTROL) ?? null;
}

/** The value of a field as displayed. */
export function describeField(form: HTMLFormElement, column: string): string {
  const control = findControl(form, column);
  if (control instanceof HTMLSelectElement) return control.selectedOptions[0]?.label ?? "";
  return control?.value ?? "";
}

function findControls(form: HTMLFormElement, column: string): Control[] {
  return [...(findField(form, column)?.querySelectorAll<Control>("input, select, textarea") ?? [])];
}

export function readFieldState(form: HTMLFormElement, column: string): FieldState {
  const controls = findControls(form, column).map((control) => ({
    name: control.name,
    value: control.value,
    isChecked: control instanceof HTMLInputElement && control.checked,
  }));
  return { controls, exact: findField(form, column)?.dataset["exact"] };
}

export function restoreField(form: HTMLFormElement, column: string, before: FieldState): void {
  if (before.exact !== undefined)
    form.append(element("input", { type: "hidden", name: `exact.${column}`, value: before.exact }));
  for (const control of findControls(form, column)) {
    const state = before.controls.find(({ name }) => name === control.name);
    if (state === undefined) continue;
    if (control instanceof HTMLInputElement && control.type === "checkbox")
      control.checked = state.isChecked;
    else control.value = state.value;
  }
}

/** Enters a text; a choice selects the option with this text, or the first that begins with it. Returns the issue, if any. */
export function enterText(form: HTMLFormElement, column: string, text: string): string | undefined {
  const control = findControl(form, column);
  if (control === null) return "This value is too long to edit in its cell.";
  if (!(control instanceof HTMLSelectElement)) {
    control.value = text;
    if (control.value === "" && text !== "")
      return `This field cannot have the value ${JSON.stringify(text)}.`;
    clearNull(findField(form, column));
    return undefined;
  }
  const found = findOption(control, text);
  if (found === undefined) return `No choice begins with ${JSON.stringify(text)}.`;
  found.selected = true;
  return undefined;
}

export function findOption(select: HTMLSelectElement, text: string): HTMLOptionElement | undefined {
  const wanted = text.trim().toLowerCase();
  const options = [...select.options];
  return (
    options.find(({ label }) => label.toLowerCase() === wanted) ??
    options.find(({ label }) => label.toLowerCase().startsWith(wanted))
  );
}

/** Enters null. Returns whether the column allows it. */
export function enterNull(form: HTMLFormElement, column: string): boolean {
  return chooseNull(findField(form, column));
}
