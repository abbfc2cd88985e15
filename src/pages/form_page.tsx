/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * A page with a form, which is sent to the same address. A rejected form is shown again, with the reason above it or at its
 * fields, and with the focus in the first field to fill in.
 *
 * @module
 */
import { type Parser, readInput } from "../field.ts";
import { splitTarget, toTarget } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { type Field, renderField, renderForm, renderNotice } from "./form.tsx";
import type { Html, Part } from "./html.ts";
import type { Page, PageOptions } from "./page.tsx";

/** A request for the page, or its sent form. */
export type FormVisit = {
  context: { request: Request };
  /** The sent values; empty for GET. */
  fields: ReadonlyMap<string, string>;
  /** Proves that a form comes from these pages. */
  token: string;
};

/** A field with its stored or suggested value. */
export type FormField = Omit<Field, "name" | "issues" | "isFirst"> &
  Partial<Parser<unknown>> & {
    /** Whether a rejected form shows the sent value again. Never for passwords and codes. */
    isRetained?: true;
    /** All issues of a sent value. */
    check?: (value: string, sent: FormVisit["fields"]) => readonly string[];
  };
export type FormFields<Name extends string = string> = Readonly<Record<Name, FormField>>;
export type NoFields = FormFields<never>;
/** The values of a sent form: parsed by the field's `read`, otherwise as text. An optional empty field has no parsed value. */
export type FormValues<Fields extends FormFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Parser<infer Value>
    ? Value | (Fields[Name] extends { isOptional: true } ? undefined : never)
    : string;
};

/** The reason to show a form again: a notice above it, or the issues of its fields. */
export type Rejection = Pick<PageOptions, "headers"> & {
  status: number;
  notice?: Part;
  issues?: Readonly<Record<string, readonly string[]>>;
};

type Button = Pick<Parameters<typeof renderForm>[0], "hidden" | "fields" | "tone" | "cancel"> & {
  button: Part;
};
/** The form, or markup instead of it; with a status, also instead of a rejection. */
export type FormView = (
  | Button
  | ({ instead: Part } & Partial<Pick<Rejection, "status" | "notice">>)
) &
  Pick<PageOptions, "cookies" | "formTargets"> &
  Pick<Page, "scripts"> & {
    lead?: Part;
    /** Above the fields, in the form. */
    intro?: Part;
    /** The result of the previous form. */
    done?: Part;
    above?: Part;
    below?: Part;
    /** Whether the page opens with the focus in its form. */
    isFocused?: boolean;
    /** Whether a rejected form shows all sent values again, except a typed name. Never for a form with passwords or codes. */
    isRetained?: boolean;
  };

/** The page without its frame. */
type FormBody = Rejection & Omit<FormView, "instead"> & { title: string; body: Part };

export type FormPage<Visit extends FormVisit, Content, Fields extends FormFields> = {
  /** The content of the page, or the response in its place. */
  read: (visit: Visit) => Promise<Content | Response> | Content | Response;
  title: string | ((content: Content, visit: Visit) => string);
  fields?: (content: Content, visit: Visit) => Fields;
  form: (
    content: Content,
    visit: Visit,
    rejection: Rejection | undefined,
  ) => Promise<FormView | Response> | FormView | Response;
  /** The response to the values, which have no issues, or the reason against them. */
  run: (
    visit: Visit,
    content: Content,
    values: FormValues<Fields>,
  ) => Promise<Response | Rejection>;
  /** The address that the form is sent to; defaults to the page's own. */
  sentTo?: (visit: Visit) => string;
  respond: (content: Content, body: FormBody, visit: Visit) => Response;
};
type Handle<Visit> = (visit: Visit) => Promise<Response>;

export function makeFormPage<
  Visit extends FormVisit,
  Content,
  Fields extends FormFields = NoFields,
>(page: FormPage<Visit, Content, Fields>): { show: Handle<Visit>; submit: Handle<Visit> } {
  return {
    show: async (visit) => {
      const content = await page.read(visit);
      return content instanceof Response ? content : await respondWithForm(page, visit, content);
    },
    submit: async (visit) => {
      const content = await page.read(visit);
      if (content instanceof Response) return content;
      const { values, issues } = readFields(page.fields?.(content, visit), visit.fields);
      const next =
        issues === undefined ? await page.run(visit, content, values) : { status: 422, issues };
      return next instanceof Response ? next : await respondWithForm(page, visit, content, next);
    },
  };
}

function readFields<Fields extends FormFields>(
  fields: Fields | undefined,
  sent: FormVisit["fields"],
) {
  const all = Object.entries<FormField>(fields ?? {}).map(([name, field]) => ({
    name,
    ...readField(field, toValue(name, field, sent), sent),
  }));
  return {
    // The compiler does not connect the names of the entries with their types.
    values: Object.fromEntries(all.map(({ name, value }) => [name, value])) as FormValues<Fields>,
    issues: all.some(({ issues }) => issues.length > 0)
      ? Object.fromEntries(all.map(({ name, issues }) => [name, issues]))
      : undefined,
  };
}

type ReadField = { value: unknown; issues: readonly string[] };

function readField(field: FormField, text: string, sent: FormVisit["fields"]): ReadField {
  const { label, check, mustBe, rule, read, isOptional } = field;
  if (check !== undefined) return { value: text, issues: check(text, sent) };
  if (mustBe !== undefined) return { value: text, issues: text === mustBe ? [] : [String(label)] };
  if (read === undefined || rule === undefined) return { value: text, issues: [] };
  if (text === "" && isOptional === true) return { value: undefined, issues: [] };
  try {
    return { value: readInput({ rule, read }, String(label).toLowerCase(), text), issues: [] };
  } catch (error) {
    if (error instanceof Problem) return { value: undefined, issues: [error.message] };
    throw error;
  }
}

/** The sent value. A password can begin or end with a space. */
function toValue(
  name: string,
  { type, isFixed, value = "" }: FormField,
  sent: FormVisit["fields"],
) {
  if (isFixed === true) return value;
  const text = sent.get(name) ?? "";
  return type === "password" ? text : text.trim();
}

async function respondWithForm<Visit extends FormVisit, Content, Fields extends FormFields>(
  page: FormPage<Visit, Content, Fields>,
  visit: Visit,
  content: Content,
  rejection?: Rejection,
): Promise<Response> {
  const view = await page.form(content, visit, rejection);
  if (view instanceof Response) return view;
  const { context, fields: sent, token } = visit;
  const { above, below, ...rest } = view;
  const fields = renderFields(page.fields?.(content, visit) ?? {}, { ...rest, ...rejection, sent });
  const action = page.sentTo?.(visit) ?? toTarget(splitTarget(context.request.url));
  const form =
    "instead" in view
      ? view.instead
      : renderForm({ ...view, action, token, fields: [view.intro, fields, view.fields] });
  const title = typeof page.title === "string" ? page.title : page.title(content, visit);
  const body = [above, form, below];
  const reason = "status" in view ? undefined : rejection;
  return page.respond(content, { status: 200, ...reason, ...rest, title, body }, visit);
}

/** The heading above a form: title, purpose, result of the previous form, reason for the rejection. */
export function renderHeading(page: Pick<FormBody, "title" | "lead" | "done" | "notice">): Html {
  const { title, lead, done, notice } = page;
  return (
    <>
      <h1>{title}</h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {done !== undefined && renderNotice("info", done)}
      {notice !== undefined && renderNotice("error", notice)}
    </>
  );
}

/** The fields of a form, with the retained values and the issues. */
export function renderFields(
  fields: FormFields,
  { sent, issues = {}, isFocused = false, isRetained: areRetained = false }: FieldsState,
): Html[] {
  const all = Object.entries(fields).map(([name, { isRetained, check, rule, read, ...field }]) => ({
    ...field,
    name,
    value:
      (isRetained || (areRetained && field.mustBe === undefined)) && sent.has(name)
        ? toValue(name, field, sent)
        : field.value,
    issues: issues[name] ?? [],
  }));
  const first =
    all.find(isToFill) ?? (isFocused ? all.find(({ isFixed }) => isFixed !== true) : undefined);
  const hasFocus = isFocused || all.some((field) => field.issues.length > 0);
  return all.map((field) => renderField({ ...field, isFirst: hasFocus && field === first }));
}

type FieldsState = Pick<Rejection, "issues"> &
  Pick<FormView, "isFocused" | "isRetained"> & { sent: FormVisit["fields"] };

/** Whether a field has issues, or is empty and required. */
function isToFill({ isFixed, isOptional, value = "", issues = [] }: Field): boolean {
  if (isFixed === true) return false;
  return issues.length > 0 || (isOptional !== true && value === "");
}
