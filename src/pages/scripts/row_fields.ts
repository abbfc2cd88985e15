/** Scripts of the fields of a row: a search for references, a calendar for times. @module */
import { element } from "./element.ts";
import { addReferencePicker } from "./reference_picker.ts";

/** Runs before the form is displayed: later, a new button would move other elements under the pointer. */
export function addFieldHelp(form: HTMLFormElement): void {
  for (const field of form.querySelectorAll<HTMLInputElement>("input[data-pick]:not([role])"))
    addReferencePicker(field, form);
  for (const field of form.querySelectorAll<HTMLInputElement>("input[data-moment]"))
    if (field.nextElementSibling?.matches(".calendar") !== true) addCalendar(field);
}

const MOMENT = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(?:UTC|Z)$/;

/** Adds a calendar that fills in a time. The user can also type the time, with any offset. */
function addCalendar(field: HTMLInputElement): void {
  const name = field.name.replace(/^value\./, "");
  const calendar = element("input", {
    type: "datetime-local",
    step: "1",
    class: "calendar",
    "aria-label": `Choose ${name} in UTC`,
  });
  const show = () => {
    const [, day, time] = MOMENT.exec(field.value) ?? [];
    calendar.value = day === undefined ? "" : `${day}T${time}`;
  };
  calendar.addEventListener("input", () => {
    if (calendar.value === "") return;
    field.value = `${calendar.value.replace("T", " ")} UTC`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("change", show);
  field.after(calendar);
  show();
}
