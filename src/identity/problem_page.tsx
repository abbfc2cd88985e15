/** @jsxImportSource #html @jsxRuntime automatic */
/** An error as a page: what happened, what to do, and the request's id for the log. Never a form. @module */
import { type Html, renderCopyButton, respondWithMessage } from "../pages/mod.ts";
import type { Problem, ProblemCode } from "../problem.ts";
import { hasIdentityCookie } from "./cookies.ts";
import { PATHS } from "./paths.ts";

type PageText = { title: string; text: string };

const RETRY_S = "5";
const REFERENCE_CHARS = 12;
const UNAVAILABLE: PageText = {
  title: "Temporarily unavailable",
  text: "Sign-in is temporarily unavailable. You have not been signed in or out. Please try again shortly.",
};
const LABELS: Partial<Record<ProblemCode, PageText>> = {
  unknown_app: {
    title: "App not found",
    text: "The link names an app that does not exist or was deleted. Open the app again, or contact your administrator.",
  },
  unknown_route: {
    title: "Page not found",
    text: "This page does not exist or was removed.",
  },
  forbidden: {
    title: "Form rejected",
    text: "The form came from another page, or its page expired. Go to your account page and start again. Your browser must allow cookies.",
  },
  rate_limited: {
    title: "Too many requests",
    text: "Please wait a moment, then try again.",
  },
  method_not_allowed: {
    title: "This link cannot be opened this way",
    text: "Please start again from your account page.",
  },
  request_failed: {
    title: "Something went wrong",
    text: "The server failed to handle the request. The error was logged. Please try again.",
  },
  unavailable: UNAVAILABLE,
  overloaded: UNAVAILABLE,
  unknown_outcome: UNAVAILABLE,
  timeout: UNAVAILABLE,
};

/** The failed request: from a link or a form. */
export type RejectedRequest = { requestId: string; request: Request };

export function respondWithProblemPage(problem: Problem, rejected: RejectedRequest): Response {
  const { title, body, headers } = describeProblem(problem, rejected);
  return respondWithMessage(
    {
      ...{ title, text: body, next: { name: "Your account", path: PATHS.login } },
      ...{ scripts: ["page"], hasSignOut: hasIdentityCookie(rejected.request) },
    },
    { status: problem.status, headers },
  );
}

export function describeProblem(
  problem: Problem,
  { requestId, request }: RejectedRequest,
): { title: string; body: Html; headers: Record<string, string> } {
  const { title, text } = LABELS[problem.code] ?? toTerms(problem, request.method);
  const body = (
    <>
      <p>{text}</p>
      <p class="code">
        Error {problem.status}, reference{" "}
        <code class="reference" id="reference">
          {toReference(requestId)}
        </code>{" "}
        {renderCopyButton("reference", "the reference")}
      </p>
    </>
  );
  const retry = problem.status >= 503 ? { "retry-after": RETRY_S } : {};
  return { title, body, headers: { ...retry, ...problem.headers } };
}

/** The end of the request's id: short enough to read out, and searchable in the log. */
function toReference(requestId: string): string {
  return requestId.slice(-REFERENCE_CHARS);
}

/** Invalid requests show the problem's own message. */
function toTerms({ message }: Problem, method: string): PageText {
  return {
    title: method === "POST" ? "Form rejected" : "This link does not work",
    text: message,
  };
}
