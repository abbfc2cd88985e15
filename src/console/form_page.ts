/**
 * A page of the Console with one form, by {@linkcode makePage}: its recent sign-in, its errors, the page that follows and its
 * frame. A message replaces the form if the action is not possible.
 *
 * @module
 */
import { SuperAdminNeeded } from "../accounts/actions/mod.ts";
import type { ConsoleVisitor } from "../accounts/console/mod.ts";
import { type ActionName, isForRecentSignIn } from "../db/mod.ts";
import {
  type FormFields,
  type FormValues,
  makeFormPage as makePage,
  type NoFields,
  type Part,
  redirect,
} from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { redirectWithNotice, withoutNotice } from "./done.ts";
import { type Notices, redirectToSignIn, type Visit } from "./enter.tsx";
import { type Crumbs, respondWithConsolePage } from "./frame.tsx";
import { renderCancel, renderError } from "./parts.tsx";
import { toMessages } from "./read.ts";

type View = {
  /** The effect of the action, above the fields. */
  intro?: Part;
  /** Below the declared fields. */
  fields?: Part;
  hidden?: Readonly<Record<string, string>>;
  button: string;
  tone?: "primary" | "danger";
  /** Whether the page opens with the focus in its first empty field. */
  isFocused?: boolean;
};
/** The reason for a page without a form; with a status for an error. */
type NoForm = { instead: Part; status?: number };
type Body = { title: string; body: Part; status: number };

/** The SQL function of a form, which decides whether the form requires a recent sign-in. */
export type FormAction = ActionName | "console_delete_app_step";

export type FormPage<
  Content extends { me: ConsoleVisitor },
  Fields extends FormFields = NoFields,
> = {
  read: (visit: Visit) => Promise<Content>;
  title: (content: Content, visit: Visit) => string;
  /** The fields with their stored or suggested values; a rejected form shows the sent values. */
  fields?: (content: Content, visit: Visit) => Fields;
  /** The form, with the sent values in `fields` of the visit. */
  form: (content: Content, visit: Visit) => Promise<View | NoForm> | View | NoForm;
  /** Returns the page that follows, unless this is the page of `back` with the first notice. */
  run: (visit: Visit, content: Content, values: FormValues<Fields>) => Promise<unknown>;
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

export function makeFormPage<
  Content extends { me: ConsoleVisitor },
  Fields extends FormFields = NoFields,
>(page: FormPage<Content, Fields>) {
  const { failed = "Nothing was changed." } = page;
  const handles = makePage<Visit, Content, Fields>({
    read: page.read,
    title: page.title,
    sentTo: ({ context }) => withoutNotice(context.request.url),
    ...(page.fields !== undefined && { fields: page.fields }),
    form: async (content, visit) => {
      if (!content.me.isFresh && isForRecentSignIn(page.action))
        return redirectToSignIn(visit.context);
      const form = await page.form(content, visit);
      if ("instead" in form) return form;
      const cancel = renderCancel(page.back(content, visit), form.tone);
      return { ...form, isRetained: true, cancel };
    },
    run: async (visit, content, values) => {
      try {
        const next = await page.run(visit, content, values);
        if (next instanceof Response) return next;
        const [done] = Object.keys(page.done ?? {});
        const back = page.back(content, visit);
        return done === undefined ? redirect(back) : redirectWithNotice(back, done);
      } catch (error) {
        const messages = toVisibleMessages(error);
        return {
          status: error instanceof SuperAdminNeeded ? 403 : 422,
          notice: renderError(failed, messages),
        };
      }
    },
    respond: (content, { title, status, issues, notice, body }, visit) => {
      const rejected = issues !== undefined && renderError(failed);
      const framed = { title, status, body: [notice ?? rejected, body] };
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

/** A field for the name of what an action removes or transfers. */
export function typedName(name: string, action: string) {
  return { label: `Type ${name} to ${action}`, maxLength: 63, mustBe: name };
}
