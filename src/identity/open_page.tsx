/** @jsxImportSource #html @jsxRuntime automatic */
/** The pages with a form for visitors without a session: the sign-in, its second factor, and the links that set a password. @module */
import type { RequestContext } from "../http/mod.ts";
import {
  type FormFields,
  type FormPage,
  type FormVisit,
  makeFormPage,
  type NoFields,
  renderHeading,
  respondWithPage,
} from "../pages/mod.ts";
import { type PageDeps, readPageForm } from "./page_deps.ts";

/** A request for such a page. */
export type OpenVisit = FormVisit & {
  deps: PageDeps;
  context: RequestContext;
  /** Binds the token to the browser. */
  cookies: readonly string[];
};

/** @throws {FormRejected} another site sent the form, or its token is invalid */
export async function readOpenVisit(deps: PageDeps, context: RequestContext): Promise<OpenVisit> {
  return { deps, context, ...(await readPageForm(deps, context, { binding: "form" })) };
}

export function makeOpenForm<
  Visit extends OpenVisit,
  Content,
  Fields extends FormFields = NoFields,
>(form: Omit<FormPage<Visit, Content, Fields>, "respond">) {
  return makeFormPage({
    ...form,
    respond: (_content, { title, body, hasSignOut = true, ...page }, visit) => {
      const { status, headers, formTargets = [], scripts = [], cookies = [] } = page;
      return respondWithPage(
        {
          title,
          body: (
            <>
              {renderHeading({ title, ...page })}
              {body}
            </>
          ),
          scripts: ["page", ...scripts],
          hasSignOut,
        },
        { status, headers, formTargets, cookies: [...visit.cookies, ...cookies] },
      );
    },
  });
}
