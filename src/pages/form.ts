/** Parts of forms: labelled fields with their faults, buttons, notices. @module */
import { type Html, html, type Part } from "./html.ts";

export type Field = {
  name: string;
  label: string;
  type: "email" | "password" | "text" | "url";
  autocomplete:
    | "username"
    | "username webauthn"
    | "current-password"
    | "new-password"
    | "name"
    | "photo"
    | "one-time-code"
    | "off";
  /** Which keys a telephone shows. */
  inputMode?: "numeric";
  /** At most this many characters. */
  maxLength: number;
  value?: string | undefined;
  /** What is expected, shown before anything is wrong. */
  hint?: string;
  /** Everything that is wrong with what was sent. */
  faults?: readonly string[];
  /** Whether this field has the focus when the page opens. */
  isFirst?: boolean;
  /** Read-only: shown for people and password managers. */
  isFixed?: boolean;
  /** May be left empty. */
  isOptional?: boolean;
};

/** A labelled input; screen readers read its hint and faults with it. */
export function renderField(field: Field): Html {
  const { name, faults = [] } = field;
  const described = [
    field.hint === undefined ? "" : `${name}-hint`,
    faults.length === 0 ? "" : `${name}-fault`,
  ]
    .filter((id) => id !== "")
    .join(" ");
  const input = html`<input id="${name}" name="${name}" type="${field.type}" autocomplete="${field.autocomplete}" value="${field.value ?? ""}" maxlength="${field.maxLength}" spellcheck="false" autocapitalize="none"${field.inputMode !== undefined && html` inputmode="${field.inputMode}"`}${field.isOptional !== true && html` required`}${field.isFixed === true && html` readonly`}${described !== "" && html` aria-describedby="${described}"`}${faults.length > 0 && html` aria-invalid="true"`}${field.isFirst === true && html` autofocus`}>`;
  return html`<div class="field">
<label for="${name}">${field.label}</label>
${field.hint !== undefined && html`<p class="hint" id="${name}-hint">${field.hint}</p>`}
${field.type === "password" ? renderWithReveal(name, input) : input}
${faults.length > 0 && renderFaults(name, faults)}
</div>`;
}

/** The button is there where a script can make it work. */
function renderWithReveal(id: string, input: Html): Html {
  return html`<div class="reveal">${input}<button class="reveal-button" type="button" data-reveal="${id}" hidden><span data-label>Show</span><span class="visually-hidden"> password</span></button></div>`;
}

function renderFaults(name: string, faults: readonly string[]): Html {
  return html`<ul class="faults" id="${name}-fault">${faults.map((fault) => html`<li>${fault}</li>`)}</ul>`;
}

/** A form that posts back; `fields` stand above the button. */
export function renderForm(form: {
  action: string;
  token: { name: string; value: string };
  fields?: Part;
  button: Part;
  look?: "primary" | "quiet";
}): Html {
  return html`<form method="post" action="${form.action}">
<input type="hidden" name="${form.token.name}" value="${form.token.value}">
${form.fields}
<button class="button button-${form.look ?? "primary"}" type="submit">${form.button}</button>
</form>`;
}

/** A notice above a form; screen readers announce what went wrong at once. */
export function renderNotice(kind: "fault" | "remark", text: Part): Html {
  return html`<p class="notice notice-${kind}" role="${kind === "fault" ? "alert" : "status"}">${text}</p>`;
}
