/** Parts of forms: labeled fields with their errors, buttons and notices. @module */
import type { Field as Input } from "../field.ts";
import { type Html, html, type Part } from "./html.ts";

export type Field = Omit<Input, "label" | "hint" | "placeholder"> & {
  name: string;
  label: Part;
  /** Defaults to text. */
  type?: "email" | "password" | "text" | "url";
  /** Defaults to off. */
  autocomplete?:
    | "username"
    | "username webauthn"
    | "current-password"
    | "new-password"
    | "name"
    | "photo"
    | "one-time-code"
    | "off";
  /** The number of lines of a multi-line field. */
  rows?: number;
  value?: string | undefined;
  /** The expected input; in a string, with code between backticks. */
  hint?: Part;
  /** All issues of the sent value. */
  issues?: readonly string[];
  /** Whether a script suggests people. */
  isPerson?: boolean;
  /** The text to type before the form can be sent. The server checks it, too. */
  mustBe?: string;
  /** Whether this field has the focus when the page opens. */
  isFirst?: boolean;
  /** Whether the field is read-only: password managers read the username from such a field. */
  isFixed?: boolean;
};

/** A labeled input; screen readers read its hint and issues with it. */
export function renderField(field: Field): Html {
  const { name, type = "text", autocomplete = "off", value = "", issues = [] } = field;
  const hint = typeof field.hint === "string" ? renderMarked(field.hint) : field.hint;
  const ids = [hint !== undefined && `${name}-hint`, issues.length > 0 && `${name}-issue`];
  const described = ids.filter((id) => id !== false).join(" ");
  const attributes = html`id="${name}" name="${name}" autocomplete="${autocomplete}" maxlength="${field.maxLength}" spellcheck="false" autocapitalize="none"${field.inputMode !== undefined && html` inputmode="${field.inputMode}"`}${field.isOptional !== true && html` required`}${field.isFixed === true && html` readonly`}${described !== "" && html` aria-describedby="${described}"`}${issues.length > 0 && html` aria-invalid="true"`}${field.mustBe !== undefined && html` data-must-be="${field.mustBe}"`}${field.isPerson === true && html` data-people`}${field.suggestions !== undefined && html` list="${name}-choices"`}${field.isFirst === true && html` autofocus`}`;
  const input =
    field.choices !== undefined
      ? renderSelect(field, described)
      : field.rows === undefined
        ? html`<input type="${type}" ${attributes} value="${value}">`
        : html`<textarea ${attributes} rows="${field.rows}">\n${value}</textarea>`;
  return html`<div class="field">
<label for="${name}">${field.label}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${type === "password" ? renderWithReveal(name, input) : input}
${field.suggestions !== undefined && html`<datalist id="${name}-choices">${field.suggestions.map((choice) => html`<option value="${choice}"></option>`)}</datalist>`}
${issues.length > 0 && renderIssues(name, issues)}
</div>`;
}

function renderSelect(field: Field, described: string): Html {
  const { name, choices = {}, value, issues = [], isFirst } = field;
  return html`<select id="${name}" name="${name}"${issues.length > 0 && html` aria-invalid="true"`}${described !== "" && html` aria-describedby="${described}"`}${isFirst === true && html` autofocus`}>${Object.entries(choices).map(([choice, label]) => html`<option value="${choice}"${choice === value && html` selected`}>${label}</option>`)}</select>`;
}

/** Text with code between backticks. */
export function renderMarked(text: string): Part {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** The button is visible only if its script runs. */
function renderWithReveal(id: string, input: Html): Html {
  return html`<div class="reveal">${input}<button class="reveal-button" type="button" data-reveal="${id}" hidden><span data-label>Show</span><span class="visually-hidden"> password</span></button></div>`;
}

function renderIssues(name: string, issues: readonly string[]): Html {
  return html`<ul class="issues" id="${name}-issue">${issues.map((issue) => html`<li>${issue}</li>`)}</ul>`;
}

/** The hidden field for the token, which proves that the form comes from these pages. */
export const TOKEN_FIELD = "form_token";

export function renderHidden(values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}

/** A POST form with `fields` above its button. With `cancel`, the form is a sheet of the Console. */
export function renderForm(form: {
  action: string;
  token: string;
  /** Attributes for scripts. */
  attributes?: Html;
  hidden?: Readonly<Record<string, string>>;
  fields?: Part;
  button: Part;
  tone?: "primary" | "danger" | "quiet";
  cancel?: Html;
}): Html {
  const button = html`<button class="button button-${form.tone ?? "primary"}" type="submit">${form.button}</button>`;
  return html`<form${form.cancel !== undefined && html` class="sheet action"`} method="post" action="${form.action}"${form.attributes}>
${renderHidden({ [TOKEN_FIELD]: form.token, ...form.hidden })}
${form.fields}
${form.cancel === undefined ? button : html`<div class="action-buttons">${button}${form.cancel}</div>`}
</form>`;
}

/** A button that copies the text of the element with this id. It needs a script; `what` names the text to screen readers. */
export function renderCopyButton(id: string, what: string): Html {
  return html`<button class="button button-quiet button-small copy" type="button" data-copy="${id}" hidden><span data-label>Copy</span><span class="visually-hidden"> ${what}</span></button>`;
}

/** A notice above a form; screen readers announce errors immediately. */
export function renderNotice(kind: "error" | "info", text: Part): Html {
  return html`<p class="notice notice-${kind}" role="${kind === "error" ? "alert" : "status"}">${text}</p>`;
}
