/**
 * The two ways to push: over HTTP with an app's key, or directly to the database as its operator. Both run the same code.
 *
 * @module
 */
import { quoteForShell } from "../../std/quote_shell.ts";
import { SCHEMA_PATH } from "../../tables/limits.ts";
import type { Setting } from "../command.ts";
import type { ProjectEnvironment } from "../project_file.ts";
import { showAddress } from "../settings.ts";
import { callEndpoint, type Target } from "./http.ts";
import type { DirectDestination, DirectOptions, SchemaService } from "./schema_service.ts";

/** The destination from flags and settings. */
export type Destination = ServiceDestination | DirectDestination;
export type ServiceDestination = {
  kind: "service";
  /** The value of `--schema`, for commands to run next. */
  schema?: string | undefined;
  target: Target;
  /** The value of `--to` that selects it, if one does. */
  to?: string;
  /** The app of the key, where it is known without a request. */
  app?: string;
  /** The environment of rowhouse.json that has this URL. */
  environment?: ProjectEnvironment;
};

/** Whether the destination is the service or the database of a `rowhouse dev`. */
export function isDev(destination: Destination): boolean {
  return (destination.kind === "service" ? destination.target.isDev : destination.isDev) === true;
}

/** The destination, for people. */
export function showDestination(destination: Destination): string {
  if (destination.kind === "database")
    return `app ${destination.app} of ${showAddress(destination.address)}`;
  const { target, to, app, environment } = destination;
  const name = to ?? environment?.name ?? (isDev(destination) ? "a rowhouse dev" : undefined);
  if (name === undefined) return target.url;
  return `${name} (${[target.url, ...(app === undefined ? [] : [`app ${app}`])].join(", ")})`;
}

/** A command with the flags that select this destination, and the schema file. */
export function withDestination(command: string, destination: Destination): string {
  const schema = destination.schema && ` --schema ${quoteForShell(destination.schema)}`;
  const to = destination.kind === "service" && destination.to && ` --to ${destination.to}`;
  const app = destination.kind === "database" && ` --app ${destination.app}`;
  return `${command}${to || app || ""}${schema ?? ""}`;
}

export function findSchemaFlag({ args }: Pick<Setting, "args">): string | undefined {
  return args.has("schema") ? args.text("schema") : undefined;
}

/** A text with the flag that selects the destination in each of its commands that lacks one. */
export function nameDestination(text: string, destination: Destination): string {
  return text.replace(COMMANDS, (command) => withDestination(command, destination));
}

const COMMANDS = /rowhouse db [a-z]+(?:-value)?(?![^\n;,]* --(?:to|app) )/g;

/** Runs a task against the service of a destination. */
export async function withService<Result>(
  destination: Destination,
  options: DirectOptions,
  task: (service: SchemaService) => Promise<Result>,
): Promise<Result> {
  if (destination.kind === "service") return await task(overHttp(destination.target));
  const { withDirectService } = await import("./direct.ts");
  return await withDirectService(destination, options, task);
}

function overHttp(target: Target): SchemaService {
  const call = async <Result>(path: string, request?: object): Promise<Result> => {
    const body = request === undefined ? {} : { body: JSON.stringify(request) };
    const endpoint = { path: SCHEMA_PATH + path, scope: "schema:push", ...body };
    return (await callEndpoint(target, endpoint)).body as Result;
  };
  return {
    push: (request) => call("", request),
    status: () => call(""),
    migration: (seq) => call(`/migrations/${seq}`),
  };
}
