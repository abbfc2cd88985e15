/** The differences between a project's and a service's history, and the remedies. Pure. @module */
import type { Detail } from "../../problem.ts";
import { type MigrationRecord, showMigration } from "../history/migration_text.ts";

/** The migrations that only one side has, by name. */
export type Divergence = {
  common: Pick<MigrationRecord, "seq" | "name"> | undefined;
  project: readonly string[];
  service: readonly string[];
};

/** The error message, with both lists as details too. */
export function describeDivergence(divergence: Divergence): {
  message: string;
  details: Detail[];
} {
  const { project, service } = divergence;
  const details = [
    ...project.map((name) => ({ path: `/project/${name}`, message: "not applied at the service" })),
    ...service.map((name) => ({ path: `/service/${name}`, message: "not in the project" })),
  ];
  // Only callers that send no migrations lack some: the command applies the missing migrations first.
  const message =
    service.length === 0
      ? `Cannot push: this service must first apply ${list(project)} of the project; nothing was written`
      : describeBoth(divergence);
  return { message, details };
}

function describeBoth({ common, project, service }: Divergence): string {
  const since = common === undefined ? "from the start" : `after ${showMigration(common)}`;
  return [
    `Cannot push: the histories differ ${since}. The project has ${list(project)}, which the service never applied; the service has ${list(service)}, which the project lacks; nothing was written`,
    "To keep both, declare the tables and columns of both sides in the schema, and run rowhouse db resolve: it adds the missing parts to the service, which then continues the project's history",
    "To continue the service's history, remove those files, run rowhouse db pull, and push again: their changes become a new migration. Any service that has applied those files then has a different history",
    `To continue the project's history, push to an app ${common === undefined ? "without migrations" : "that has applied no others"}, such as a new app (rowhouse admin create-app). If the key or --app names another project's app, correct it and keep the files`,
  ].join("\n");
}

/** The details contain long lists completely. */
const MAX_NAMED = 8;

function list(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  if (more <= 0) return names.join(", ");
  return `${names.slice(0, MAX_NAMED).join(", ")} and ${more} more`;
}
