/** @jsxImportSource #html @jsxRuntime automatic */
/** Parts of forms: labeled fields with their errors, buttons and notices. @module */
import type { Field as Input } from "../field.ts";
import type { Html, JSX, Part } from "./html.ts";

export type Lookup = "People" | "Apps" | "Tables" | "Keys";

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
  /** What a script suggests, by the group of the search. */
  lookup?: Lookup;
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
  const attributes = {
    id: name,
    name,
    autocomplete,
    maxlength: field.maxLength,
    spellcheck: "false",
    autocapitalize: "none",
    inputmode: field.inputMode,
    required: field.isOptional !== true,
    readonly: field.isFixed,
    "aria-describedby": described !== "" && described,
    "aria-invalid": issues.length > 0 && "true",
    "data-must-be": field.mustBe,
    "data-lookup": field.lookup,
    autofocus: field.isFirst,
  } as const;
  const input =
    field.choices !== undefined ? (
      renderSelect(field, described)
    ) : field.rows === undefined ? (
      <input
        type={type}
        {...attributes}
        list={field.suggestions !== undefined && `${name}-choices`}
        value={value}
      />
    ) : (
      <textarea {...attributes} rows={field.rows}>
        {value}
      </textarea>
    );
  return (
    <div class="field">
      <label for={name}>{field.label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {type === "password" ? renderWithReveal(field, input) : input}
      {field.suggestions !== undefined && (
        <datalist id={`${name}-choices`}>
          {field.suggestions.map((choice) => (
            <option value={choice} />
          ))}
        </datalist>
      )}
      {issues.length > 0 && renderIssues(name, issues)}
    </div>
  );
}

function renderSelect(field: Field, described: string): Html {
  const { name, choices = {}, value, issues = [], isFirst } = field;
  return (
    <select
      id={name}
      name={name}
      aria-invalid={issues.length > 0 && "true"}
      aria-describedby={described !== "" && described}
      autofocus={isFirst === true}
    >
      {Object.entries(choices).map(([choice, label]) => (
        <option value={choice} selected={choice === value}>
          {label}
        </option>
      ))}
    </select>
  );
}

/** Text with code between backticks. */
export function renderMarked(text: string): Part {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part));
}

/** The button is visible only if its script runs. Its name has the label: a page can have two. */
function renderWithReveal({ name, label }: Pick<Field, "name" | "label">, input: Html): Html {
  return (
    <div class="reveal">
      {input}
      <button class="reveal-button" type="button" data-reveal={name} hidden>
        <span data-label>Show</span>
        <span class="visually-hidden">
          {" "}
          {typeof label === "string" ? label.toLowerCase() : label}
        </span>
      </button>
    </div>
  );
}

function renderIssues(name: string, issues: readonly string[]): Html {
  return (
    <ul class="issues" id={`${name}-issue`}>
      {issues.map((issue) => (
        <li>{issue}</li>
      ))}
    </ul>
  );
}

/** The hidden field for the token, which proves that the form comes from these pages. */
export const TOKEN_FIELD = "form_token";

export function renderHidden(values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(([name, value]) => (
    <input type="hidden" name={name} value={value} />
  ));
}

/** A POST form with `fields` above its button. With `cancel`, the form is a sheet of the Console. */
export function renderForm(form: {
  action: string;
  token: string;
  /** Attributes for scripts. */
  attributes?: JSX.IntrinsicElements["form"];
  hidden?: Readonly<Record<string, string>>;
  fields?: Part;
  button: Part;
  tone?: "primary" | "danger" | "quiet";
  cancel?: Html;
}): Html {
  const button = (
    <button class={`button button-${form.tone ?? "primary"}`} type="submit">
      {form.button}
    </button>
  );
  return (
    <form
      class={form.cancel !== undefined && "sheet action"}
      method="post"
      action={form.action}
      {...form.attributes}
    >
      {renderHidden({ [TOKEN_FIELD]: form.token, ...form.hidden })}
      {form.fields}
      {form.cancel === undefined ? (
        button
      ) : (
        <div class="action-buttons">
          {button}
          {form.cancel}
        </div>
      )}
    </form>
  );
}

/** A button that copies the text of the element with this id. It needs a script; `what` names the text to screen readers. */
export function renderCopyButton(id: string, what: string): Html {
  return (
    <button class="button button-quiet button-small copy" type="button" data-copy={id} hidden>
      <span data-label>Copy</span>
      <span class="visually-hidden"> {what}</span>
    </button>
  );
}

type Copyable = {
  /** The class of the text. */
  kind?: string;
  label: string;
  /** Names the text to screen readers; defaults to the label. */
  what?: string;
};

/** A text to paste elsewhere, with a copy button. */
export function renderCopyable(
  id: string,
  text: Part,
  { kind, label, what = label }: Copyable,
): Html {
  return (
    <div class="copyable">
      <pre class={kind} tabindex="0" aria-label={label}>
        <code id={id}>{text}</code>
      </pre>
      {renderCopyButton(id, what)}
    </div>
  );
}

/** A notice above a form; screen readers announce errors immediately. */
export function renderNotice(kind: "error" | "info", text: Part): Html {
  return (
    <p class={`notice notice-${kind}`} role={kind === "error" ? "alert" : "status"}>
      {text}
    </p>
  );
}
