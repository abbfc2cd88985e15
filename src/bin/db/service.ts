/**
 * The two ways to push: over HTTP with an app's key, or directly to the database as its operator. Both run the same code.
 *
 * @module
 */
import type { Config } from "../../config/mod.ts";
import type { Status, StoredMigration } from "../../push/mod.ts";
import type { ProjectEnvironment } from "./environments.ts";
import { callService, type Target } from "./http.ts";
import type { Changed, DirectDestination, Pushed, SchemaService } from "./schema_service.ts";

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
  config: Config,
  task: (service: SchemaService) => Promise<Result>,
): Promise<Result> {
  if (destination.kind === "service") return await task(overHttp(destination.target));
  const { withDirectService } = await import("./direct.ts");
  return await withDirectService(destination, config, task);
}

function overHttp(target: Target): SchemaService {
  return {
    push: async (request) => (await callService(target, { body: request })) as Pushed,
    replay: async (request) =>
      (await callService(target, { path: "/migrations", body: request })) as Pushed,
    join: async (request) =>
      (await callService(target, { path: "/joins", body: request })) as Pushed,
    change: async (request) =>
      (await callService(target, { path: "/changes", body: request })) as Changed,
    planReplay: async (request) => {
      const body = { ...request, dryRun: true };
      return (await callService(target, { path: "/migrations", body })) as Pushed;
    },
    status: async () => (await callService(target)) as Status,
    migration: async (seq) =>
      (await callService(target, { path: `/migrations/${seq}` })) as StoredMigration,
  };
}
