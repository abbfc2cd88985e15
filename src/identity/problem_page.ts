/** A refusal as a page: what happened, what to do now, and the id to find it in the log. Never a form. @module */
import { answerPage, type Html, html, renderCopyButton } from "../pages/mod.ts";
import type { Problem, ProblemCode } from "../problem.ts";
import { LOGIN_PATH } from "./paths.ts";

type Words = { title: string; text: string };

const RETRY_S = "5";
const REFERENCE_CHARS = 12;
const AWAY: Words = {
  title: "Back in a moment",
  text: "Signing in does not work right now. This has neither signed you in nor signed you out. Please try again shortly.",
};
const WORDS: Partial<Record<ProblemCode, Words>> = {
  unknown_app: {
    title: "There is no such app",
    text: "The link that brought you here names an app that does not exist, or no longer exists. Open the app again, or ask whoever runs it.",
  },
  unknown_route: {
    title: "Page not found",
    text: "This page does not exist, or no longer exists.",
  },
  forbidden: {
    title: "This form was not accepted",
    text: "It was not sent from its own page, or the page was open for too long. Go to your account page and start again. Your browser must allow cookies.",
  },
  rate_limited: {
    title: "Too many requests",
    text: "Please wait a little, then try again.",
  },
  method_not_allowed: {
    title: "This link cannot be used like that",
    text: "Please start again from your account page.",
  },
  request_failed: {
    title: "Something went wrong",
    text: "The fault is ours, and it has been logged. Please try again.",
  },
  unavailable: AWAY,
  overloaded: AWAY,
  unknown_outcome: AWAY,
  timeout: AWAY,
};

/** The refused request: of a link, or of a form. */
export type RefusedRequest = { requestId: string; method: string };

/** The page for a problem. */
export function answerProblemPage(problem: Problem, refused: RefusedRequest): Response {
  const { title, body, headers } = describeProblem(problem, refused);
  const page = html`
<h1>${title}</h1>
${body}
<p><a class="button button-primary" href="${LOGIN_PATH}">Your account</a></p>`;
  return answerPage({ title, body: page, scripts: ["page"] }, { status: problem.status, headers });
}

/** What a page for a problem shows below its heading, and its headers. */
export function describeProblem(
  problem: Problem,
  { requestId, method }: RefusedRequest,
): { title: string; body: Html; headers: Record<string, string> } {
  const { title, text } = WORDS[problem.code] ?? toWords(problem, method);
  const body = html`<p>${text}</p>
<p class="code">Error ${problem.status}, reference <code class="reference" id="reference">${toReference(requestId)}</code> ${renderCopyButton("reference", "the reference")}</p>`;
  const retry = problem.status >= 503 ? { "retry-after": RETRY_S } : {};
  return { title, body, headers: { ...retry, ...problem.headers } };
}

/** The end of the request's id: short enough to be read out, and found in the log as it is. */
function toReference(requestId: string): string {
  return requestId.slice(-REFERENCE_CHARS);
}

/** For a request that cannot be read, the problem's own sentence says why. */
function toWords({ message }: Problem, method: string): Words {
  return {
    title: method === "POST" ? "This form was not accepted" : "This link does not work",
    text: message,
  };
}
