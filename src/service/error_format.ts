/** Formats errors for API clients, browser apps and pages. @module */
import { respondWithConsoleProblem } from "../console/mod.ts";
import { respondWithProblem, type VirtualHost } from "../http/mod.ts";
import {
  AUTH_PATH,
  CONSOLE_PATH,
  respondWithAuthProblem,
  respondWithProblemPage,
} from "../identity/mod.ts";
import { type Problem, toMessage } from "../problem.ts";
import { PAGE_PATHS } from "./routes.ts";

export type ErrorFormat = "api" | "auth" | "page" | "console";

/** The format for requests to this host and path. */
export function toErrorFormat(virtualHost: VirtualHost, path: string): ErrorFormat {
  const isConsole = path.startsWith(`${CONSOLE_PATH}/`);
  if (virtualHost === "identity") return isConsole ? "console" : "page";
  if (path.startsWith(AUTH_PATH)) return "auth";
  if (virtualHost !== "both") return "api";
  if (isConsole) return "console";
  return PAGE_PATHS.has(path) ? "page" : "api";
}

type Reject = (problem: Problem, rejected: { requestId: string; method: string }) => Response;

/** Renders an error in each format. */
export const REJECT: Readonly<Record<ErrorFormat, Reject>> = {
  api: (problem, { requestId, method }) =>
    respondWithProblem(problem, requestId, toMessage(problem, method)),
  auth: respondWithAuthProblem,
  page: respondWithProblemPage,
  console: respondWithConsoleProblem,
};
