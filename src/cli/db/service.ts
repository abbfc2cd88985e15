/**
 * The two ways to push: over HTTP with an app's key, or directly to the database as its operator. Both run the same code.
 *
 * @module
 */
import { SCHEMA_PATH } from "../../tables/limits.ts";
import type { ProjectEnvironment } from "../project_file.ts";
import { callEndpoint, type Target } from "./http.ts";
import type { DirectDestination, DirectOptions, SchemaService } from "./schema_service.ts";

/** The destination from flags and settings. */
export type Destination = ServiceDestination | DirectDestination;
export type ServiceDestination = {
  kind: "service";
  target: Target;
  /** The environment of rowhouse.json that has this URL. */
  environment?: ProjectEnvironment;
};

/** Whether the destination is the service or the database of `rowhouse dev`. */
export function isDev(destination: Destination): boolean {
  return (destination.kind === "service" ? destination.target.isDev : destination.isDev) === true;
}

/** A command with the flag that selects this destination. */
export function withDestination(command: string, destination: Destination): string {
  if (destination.kind === "database") return `${command} --app ${destination.app}`;
  const { target, environment } = destination;
  const isNamed = environment !== undefined && target.keyVariable !== undefined;
  return isNamed ? `${command} --to ${environment.name}` : command;
}

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
