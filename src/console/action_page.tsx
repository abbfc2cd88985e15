/** @jsxImportSource #html @jsxRuntime automatic */
/** The page of a declared action: its effect, its fields and its button. If the action is not possible, the page says why. @module */

import { CONSOLE_PATH, PATHS } from "../identity/mod.ts";
import type { FormFields, Html, Part } from "../pages/mod.ts";
import { Problem } from "../problem.ts";
import type { Action, PageContext, Subject } from "../records/actions/mod.ts";
import type { ConsoleVisitor } from "../records/console/mod.ts";
import type { Mark, Said } from "../said.ts";
import { readText, type Visit } from "./enter.tsx";
import { makeFormPage, typedName } from "./form_page.tsx";
import type { Crumbs } from "./frame.tsx";
import { checkNewRole, renderNewRole } from "./new_role.tsx";
import { renderLink, renderText, renderTime } from "./parts.tsx";
import { redirectWithNotice } from "./paths.ts";

type Content<Of extends Subject> = Of["page"] & { me: ConsoleVisitor };

/** How pages name a kind of record. */
export type SubjectPage<Of extends Subject> = {
  /** @throws {Problem} the record in the address does not exist */
  read: (visit: Visit) => Promise<Content<Of>>;
  toRef: (content: Content<Of>, visit: Visit) => Of["ref"];
  /** The page of the record, and the page to return to. */
  toPath: (content: Content<Of>) => string;
  toBack: (content: Content<Of>, visit: Visit) => string;
  crumbs: (content: Content<Of>) => Crumbs;
};

/** What a declaration cannot have: other fields, their values and values to repeat, and a page with the result. */
type Own<Of extends Subject, Result> = {
  fields?(visit: Visit, content: Content<Of>): Promise<Part>;
  read?(visit: Visit): Promise<object> | object;
  hidden?(visit: Visit): Readonly<Record<string, string>>;
  show?(visit: Visit, content: Content<Of>, result: Result): Response;
};
type ResultOf<Of> = Of extends { run(...given: never[]): Promise<infer Result> } ? Result : never;

/** The pages of the actions that have one, by the path below that of the record. */
export function makeActionPages<
  Of extends Subject,
  Actions extends Readonly<Record<string, Action<Of>>>,
>(
  subject: SubjectPage<Of>,
  actions: Actions,
  own: { [Name in keyof Actions]?: Own<Of, ResultOf<Actions[Name]>> } = {},
) {
  const all = Object.entries<Action<Of>>(actions).flatMap(([wanted, { page, ...action }]) =>
    // The compiler does not connect the names of the entries with their results.
    page === undefined
      ? []
      : [{ ...action, page, wanted, own: { ...own[wanted] } as Own<Of, unknown> }],
  );
  const byPath = [...Map.groupBy(all, ({ page }) => page.path)];
  return Object.fromEntries(byPath.map(([path, some]) => [path, makePage(subject, some)]));
}

type Paged<Of extends Subject> = Action<Of> &
  Required<Pick<Action<Of>, "page">> & { own: Own<Of, unknown>; wanted: string };

function makePage<Of extends Subject>(subject: SubjectPage<Of>, actions: readonly Paged<Of>[]) {
  const [first] = actions;
  if (first === undefined) throw new Error("A page has an action");
  // A form names the wanted action: a form that is sent twice has no other effect.
  const find = (content: Content<Of>, { fields }: Visit) =>
    actions.find(({ wanted }) => wanted === fields.get("wanted")) ??
    actions.find(({ page }) => page.isNext?.(content)) ??
    first;
  return makeFormPage<Content<Of>, FormFields>({
    action: first.name,
    read: subject.read,
    title: (content, visit) => {
      const { title, button } = find(content, visit).says;
      return toText(title ?? button, content, visit);
    },
    fields: (content, visit) => toFields(find(content, visit), content, visit),
    form: async (content, visit) => {
      const action = find(content, visit);
      const { page, says, own } = action;
      const say = (said: Said | false) => said && renderSaid(said, visit, subject.toPath(content));
      // A rejected form says why above the sent values, which the reason must not replace.
      const blocker = visit.deps.isForm ? undefined : page.blocker?.(content);
      if (blocker !== undefined)
        return {
          instead: [say(blocker), <p>{renderLink("Back", subject.toBack(content, visit))}</p>],
        };
      const role = action.newRole?.(subject.toRef(content, visit), toTexts(visit));
      const fields = Object.values(toFields(action, content, visit));
      return {
        hidden: { ...own.hidden?.(visit), ...(actions.length > 1 && { wanted: action.wanted }) },
        intro: [says.effect?.(content, toContext(visit)) ?? []].flat().map(say),
        fields: [await own.fields?.(visit, content), role && (await renderNewRole(visit, role))],
        button: toText(says.button, content, visit),
        ...(page.tone && { tone: page.tone }),
        isFocused: page.tone === undefined && fields.some(({ value = "" }) => value === ""),
      };
    },
    run: async (visit, content, typed) => {
      const { page, says, own, ...action } = find(content, visit);
      const message = page.stale?.(content, toContext(visit));
      if (message !== undefined) throw new Problem("invalid_request", { message });
      const ref = subject.toRef(content, visit);
      const role = action.newRole?.(ref, toTexts(visit));
      if (role !== undefined) await checkNewRole(visit, role);
      const values = { ...visit.context.params, ...typed, ...(await own.read?.(visit)) };
      const result = await action.run(visit.deps, ref, values);
      if (own.show !== undefined) return own.show(visit, content, result);
      const to =
        page.next === undefined ? subject.toBack(content, visit) : CONSOLE_PATH + page.next;
      return redirectWithNotice(to, Object.keys(says.done ?? {})[0] ?? "");
    },
    done: Object.assign({}, ...actions.map(({ says }) => says.done)),
    back: subject.toBack,
    crumbs: subject.crumbs,
  });
}

function toContext({ deps, context }: Visit): PageContext {
  const labelOf = (provider: string) => deps.providers.find(provider)?.settings.label;
  return { hasMail: deps.hasMail, params: context.params, labelOf };
}

function toText<Of extends Subject>(
  text: Action<Of>["says"]["title"],
  content: Of["page"],
  visit: Visit,
): string {
  return typeof text === "function" ? text(content, toContext(visit)) : (text ?? "");
}

/** The declared inputs that are not in the address, and the text to type. */
function toFields<Of extends Subject>(
  { inputs = {}, page, own }: Paged<Of>,
  content: Of["page"],
  { context }: Visit,
): FormFields {
  const known = page.fields?.(content);
  const shown = own.fields === undefined ? Object.entries(inputs) : [];
  const typed = page.typed?.(content);
  const fields = shown
    .filter(([name]) => !Object.hasOwn(context.params, name))
    .map(([name, input]) => [name, { ...input, value: input.default, ...known?.[name] }]);
  const all = typed === undefined ? fields : [...fields, ["typed_name", typedName(...typed)]];
  // The compiler does not compare fields whose members can be undefined.
  return Object.fromEntries(all) as FormFields;
}

function toTexts({ fields }: Visit): Readonly<Record<string, string>> {
  return Object.fromEntries([...fields.keys()].map((name) => [name, readText(fields, name)]));
}

/** A paragraph. `path` is the page of the record. */
export function renderSaid({ parts, isQuiet }: Said, { deps }: Visit, path: string): Html {
  const mark = (part: string | Mark): Part => {
    if (typeof part === "string") return part;
    if ("name" in part) return <b>{renderText(part.name)}</b>;
    if ("code" in part) return <code>{renderText(part.code)}</code>;
    if ("value" in part) return renderText(part.value);
    if ("at" in part) return renderTime(part.at, deps.now());
    const below = part.to.startsWith("/") ? CONSOLE_PATH : `${path}/`;
    return <a href={part.to === PATHS.account ? part.to : below + part.to}>{part.link}</a>;
  };
  return <p class={isQuiet && "quiet"}>{parts.map(mark)}</p>;
}
