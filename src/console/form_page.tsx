/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * A page of the Console with one form, by {@linkcode makePage}: its recent sign-in, its errors, the page that follows and its
 * frame. A message replaces the form if the action is not possible.
 *
 * @module
 */

import { type FunctionName, isForRecentSignIn, labelAction } from "../db/mod.ts";
import {
  type FormField,
  type FormFields,
  type FormValues,
  type Html,
  makeFormPage as makePage,
  type NoFields,
  type Part,
  redirect,
} from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import { SuperAdminNeeded } from "../records/actions/mod.ts";
import type { Axis, Change, ConsoleVisitor, Numbers } from "../records/console/mod.ts";
import { isObject, tryParseJson } from "../std/json.ts";
import { estimateLatency, LATENCY_BUCKETS } from "../std/latency.ts";
import { type Notices, redirectToSignIn, toMessages, type Visit } from "./enter.tsx";
import { type Crumbs, respondWithConsolePage } from "./frame.tsx";
import { renderAddress, renderCancel, renderError, renderText, renderTime } from "./parts.tsx";
import { ACTIVITY, redirectWithNotice, toAppPath, toPushPath, withoutNotice } from "./paths.ts";

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
export type FormAction = FunctionName;

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
export function typedName(name: string, action: string): FormField {
  const label = `Type ${name} to ${action}`;
  return {
    ...{ label, maxLength: Math.max(63, name.length), mustBe: name },
    ...(name.includes("@") && { inputMode: "email" }),
    check: (typed) => (typed.toLowerCase() === name.toLowerCase() ? [] : [label]),
  };
}

// A change as a sentence with time, actor, action and a link to its page.

export function renderChange(
  change: Change,
  { hasApp, now }: { hasApp: boolean; now: number },
): Html {
  const { at, app } = change;
  return (
    <>
      {renderTime(at, now)}{" "}
      <span>
        {renderWhat(change)}
        {hasApp && app !== null && [" on ", <a href={toAppPath(app)}>{app}</a>]}
      </span>
    </>
  );
}

function renderWhat(change: Change): Part {
  const { action, app, seq, keyId, details } = change;
  if (action === "push" && app !== null && seq !== null)
    return (
      <>
        <a href={toPushPath(app, seq)}>push {toPushNumber(seq)}</a>{" "}
        {renderText(details.replaceAll("_", " "))}, by{" "}
        {keyId === null ? (
          "an operator"
        ) : (
          <>
            key <code>{keyId}</code>
          </>
        )}
      </>
    );
  if (action === "expire_key")
    return (
      <>
        key <code>{keyId ?? ""}</code> {details !== "" && renderText(details)} expired
      </>
    );
  const query = new URLSearchParams({ ...(app === null ? {} : { app }), action });
  return (
    <>
      {renderActor(change)} <a href={`${ACTIVITY}?${query.toString()}`}>{labelAction(action)}</a>
      {renderObject(change)}
    </>
  );
}

export function toPushNumber(seq: number): string {
  return String(seq).padStart(4, "0");
}

function renderActor({ actor, actorEmail }: Change): Html {
  return actorEmail === null ? renderText(actor) : renderAddress(actorEmail);
}

/** The key, person or role of the change. */
function renderObject({ details, email }: Change): Part {
  const parsed = tryParseJson(details);
  const { keyId, role } = isObject(parsed) ? parsed : {};
  return [
    typeof keyId === "string" && (
      <>
        {" "}
        <code>{keyId.slice(0, 16)}</code>
      </>
    ),
    typeof role === "string" && <> {renderText(role)}</>,
    email !== null && <> ({renderAddress(email)})</>,
  ];
}

// The steps of a time axis, each with its counts and the counts of the same step in the previous
// span. Pure.

/** With fewer requests, a share or a p99 is meaningless. */
export const MIN_REQUESTS = 30;

type Totals = Omit<Numbers, "counted">;

export type Step = Omit<Totals, "latencies"> & {
  /** Milliseconds; `undefined` with too few requests. */
  p99: number | undefined;
  before: Step | undefined;
};

export function toSteps({ counted, steps }: Axis): Step[] {
  const byPosition = new Map(counted.map((step) => [step[0], step]));
  const read = (position: number): Step => {
    const [, requests = 0, errors = 0, rejections = 0, latencies = []] =
      byPosition.get(position) ?? [];
    const p99 = requests < MIN_REQUESTS ? undefined : estimateLatency(addUp(latencies), 0.99);
    const before = position < 0 ? undefined : read(position - steps);
    return { requests, errors, rejections, p99, before };
  };
  return Array.from({ length: steps }, (_, position) => read(position));
}

export function toTotals({ counted }: Axis): { now: Totals; before: Totals } {
  const sum = (isInSpan: (position: number) => boolean): Totals => {
    const inSpan = counted.filter(([position]) => isInSpan(position));
    const add = (read: 1 | 2 | 3) => inSpan.reduce((total, step) => total + step[read], 0);
    const latencies = addUp(inSpan.flatMap((step) => step[4]));
    return { requests: add(1), errors: add(2), rejections: add(3), latencies };
  };
  return { now: sum((position) => position >= 0), before: sum((position) => position < 0) };
}

function addUp(lists: readonly (readonly number[])[]): number[] {
  const sums = Array<number>(LATENCY_BUCKETS).fill(0);
  for (const list of lists)
    for (const [bucket, count] of list.entries()) sums[bucket] = (sums[bucket] ?? 0) + count;
  return sums;
}
