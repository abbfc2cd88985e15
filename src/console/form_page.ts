/**
 * A page of the Console with one form, by {@linkcode makePage}: its recent sign-in, its errors, the page that follows and its
 * frame. A message replaces the form if the action is not possible.
 *
 * @module
 */
import {
  type Field,
  findIssues,
  type Input,
  readInput,
  rejectFor,
  SuperAdminNeeded,
} from "../accounts/actions/mod.ts";
import type { ConsoleVisitor } from "../accounts/console/mod.ts";
import { type ActionName, isForRecentSignIn } from "../db/mod.ts";
import { type Html, makeFormPage as makePage, type Part, redirect } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { redirectWithNotice } from "./done.ts";
import { type Notices, redirectToSignIn, type Visit } from "./enter.ts";
import { type Crumbs, respondWithConsolePage } from "./frame.ts";
import {
  renderCancel,
  renderError,
  renderMarked,
  renderSelect,
  renderTextField,
  type TextField,
} from "./parts.ts";
import { toMessages } from "./read.ts";

type View = { fields: Part; button: string; tone?: "primary" | "danger" };
/** The reason for a page without a form; with a status for an error. */
type NoForm = { instead: Part; status?: number };
type Body = { title: string; body: Part; status: number };

/** The SQL function of a form, which decides whether the form requires a recent sign-in. */
export type FormAction = ActionName | "console_delete_app_step";

export type FormPage<Content extends { me: ConsoleVisitor }> = {
  read: (visit: Visit) => Promise<Content>;
  title: (content: Content, visit: Visit) => string;
  /** The form, with the sent values in `fields` of the visit. */
  form: (content: Content, visit: Visit) => Promise<View | NoForm> | View | NoForm;
  /** Returns the page that follows, unless this is the page of `back` with the first notice. */
  run: (visit: Visit, content: Content) => Promise<unknown>;
  done?: Notices;
  /** The page to return to, also if the form is canceled. */
  back: (content: Content, visit: Visit) => string;
  /** The parent pages. */
  crumbs: (content: Content) => Crumbs;
  /** The body in its frame; defaults to a page below `crumbs`. */
  respond?: (content: Content, page: Body, visit: Visit) => Response;
  action: FormAction;
  /** The heading of the errors. */
  failed?: string;
};

export function makeFormPage<Content extends { me: ConsoleVisitor }>(page: FormPage<Content>) {
  const handles = makePage<Visit, Content>({
    read: page.read,
    title: page.title,
    form: async (content, visit) => {
      if (!content.me.isFresh && isForRecentSignIn(page.action))
        return redirectToSignIn(visit.context);
      const form = await page.form(content, visit);
      if ("instead" in form) return form;
      return { ...form, cancel: renderCancel(page.back(content, visit), form.tone) };
    },
    run: async (visit, content) => {
      try {
        const next = await page.run(visit, content);
        if (next instanceof Response) return next;
        const [done] = Object.keys(page.done ?? {});
        const back = page.back(content, visit);
        return done === undefined ? redirect(back) : redirectWithNotice(back, done);
      } catch (error) {
        const messages = toVisibleMessages(error);
        return {
          status: error instanceof SuperAdminNeeded ? 403 : 422,
          notice: renderError(page.failed ?? "Nothing was changed.", messages),
        };
      }
    },
    respond: (content, { title, status, notice, body }, visit) => {
      const framed = { title, status, body: [notice, body] };
      return (
        page.respond?.(content, framed, visit) ??
        respondWithConsolePage({ me: content.me, crumbs: page.crumbs(content), ...framed })
      );
    },
  });
  return { ...handles, done: page.done ?? {}, action: page.action };
}

const EXPLAINED: readonly string[] = ["invalid_request", "unknown_app", "push_busy"];

/** The messages of an error that the page shows above its form. @throws any other error: the input is not its cause */
export function toVisibleMessages(error: unknown): string[] {
  const isVisible =
    error instanceof SuperAdminNeeded ||
    (error instanceof Problem && EXPLAINED.includes(error.code));
  if (!isVisible) throw error;
  return toMessages(error);
}

type Fields = Visit["fields"];

/** The field of an input with the sent or stored value; `more` has the form's options. */
export function renderInput(
  name: string,
  { label, hint, maxChars, isRequired, isEmail, choices, suggestions }: Field,
  value: string,
  more: Partial<TextField> = {},
): Html {
  const visibleHint = more.hint === undefined ? hint && renderMarked(hint) : more.hint || undefined;
  if (choices !== undefined)
    return renderSelect({
      ...{ name, label, value, hint: visibleHint },
      choices: Object.entries(choices).map(([choice, of]) => ({ value: choice, label: of })),
    });
  return renderTextField({
    ...{ name, label, value, maxLength: maxChars },
    ...(isRequired && { isRequired }),
    ...(isEmail && { isEmail }),
    ...(suggestions && { choices: suggestions }),
    ...more,
    hint: visibleHint,
  });
}

export function readText(fields: Fields, name: string): string {
  return (fields.get(name) ?? "").trim();
}

/** The sent values of inputs; an optional empty field has no value. @throws {Problem} invalid_request — with every issue */
export function readInputs<Values extends Readonly<Record<string, unknown>>>(
  fields: Fields,
  inputs: { [Name in keyof Values]: Input<Values[Name]> },
): Partial<Values> {
  const values: Partial<Values> = {};
  const issues = (Object.keys(inputs) as (keyof Values & string)[]).flatMap((name) =>
    findIssues(() => {
      const text = readText(fields, name);
      if (text !== "" || inputs[name].isRequired)
        values[name] = readInput(inputs[name], inputs[name].label.toLowerCase(), text);
    }, ""),
  );
  if (issues.length > 0) throw rejectFor(issues);
  return values;
}

export function renderTypedName(name: string, action: string): Html {
  return renderTextField({
    name: "typed_name",
    label: `Type ${name} to ${action}`,
    maxLength: 63,
    mustBe: name,
    isRequired: true,
  });
}

/** @throws {Problem} invalid_request — another name was typed */
export function checkTypedName({ fields }: Visit, name: string, action: string): void {
  if (fields.get("typed_name") === name) return;
  throw new Problem("invalid_request", { message: `Type ${name} to ${action}` });
}
