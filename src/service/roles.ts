/**
 * Builds the process of each role: all parts in one, or a gateway in front of separate services.
 *
 * In a split service only the gateway knows keys, limits and origins: it authenticates callers, and signs the result for the
 * service behind it. So a key's secret never leaves the gateway, a key is looked up once, the data service's login needs no
 * access to keys, and the services accept requests only from the gateway.
 *
 * @module
 */

import { coalesce, type Versions, type VersionWatch, watchVersions } from "../db/mod.ts";
import type { Peer } from "../gateway/mod.ts";
import { logError } from "../observe.ts";
import { makeOrigins, runRowsJobs } from "../records/apps/mod.ts";
import type { Role } from "../role.ts";
import { makeCatalog } from "../tables/catalog/mod.ts";
import { makeFetch } from "./fetch.ts";
import type { CheckReady } from "./health.ts";
import type { FindTable } from "./rejections.ts";
import {
  makeCallers,
  makeDataDeps,
  makeId,
  makeIdentityDeps,
  makeSignedDeps,
  type Parts,
} from "./role_parts.ts";
import { ALL_TABLES, DATA_TABLES, IDENTITY_TABLES, toForwardedTables } from "./routes.ts";
import { checkForwards, makeForwards } from "./upstreams.ts";

type BuiltRole = {
  fetch: (request: Request, peer: Peer) => Promise<Response>;
  watch: VersionWatch;
  checkReady: CheckReady;
  /** Finds an app's declared table; set in a process that serves rows. */
  findTable?: FindTable;
};

export const ROLE_BUILDERS: Readonly<Record<Role, (parts: Parts) => BuiltRole>> = {
  all: buildAll,
  gateway: buildGateway,
  data: buildData,
  identity: buildIdentity,
};

function buildAll(parts: Parts): BuiltRole {
  const { watch, catalog } = followTables(parts, ({ apps }) => callers.refresh(apps));
  const callers = makeCallers(parts, watch);
  const callApi = (request: Request) => fetch(request, { requestIP: () => null });
  const identityDeps = { ...makeIdentityDeps(parts, callers.origins), callApi };
  const deps = { ...callers.deps, ...makeDataDeps(parts, catalog), identityDeps };
  const fetch: BuiltRole["fetch"] = makeFetch(deps, ALL_TABLES);
  return { fetch, watch, checkReady: parts.checkReady, findTable: catalog.find };
}

function buildGateway(parts: Parts): BuiltRole {
  const watch = follow(parts, ({ apps }) => callers.refresh(apps));
  const callers = makeCallers(parts, watch);
  const { options, shared, draining, streams } = parts;
  const forwards = makeForwards(options, { ...streams, now: shared.now, draining });
  const checkReady = async () => {
    await parts.checkReady();
    await checkForwards(forwards, makeId);
  };
  const deps = { ...callers.deps, checkReady, previews: options.previews ?? [] };
  return {
    fetch: makeFetch(deps, toForwardedTables(forwards, parts.limits)),
    watch,
    checkReady,
  };
}

function buildData(parts: Parts): BuiltRole {
  const { watch, catalog } = followTables(parts);
  const deps = { ...makeSignedDeps(parts, "data"), ...makeDataDeps(parts, catalog) };
  const fetch = makeFetch(deps, DATA_TABLES);
  return { fetch, watch, checkReady: parts.checkReady, findTable: catalog.find };
}

/** Follows origins too, because sign-out accepts only registered origins. */
function buildIdentity(parts: Parts): BuiltRole {
  const watch = follow(parts, (versions) => origins.refresh(versions.apps));
  const origins = makeOrigins(parts.db);
  const deps = { ...makeSignedDeps(parts, "identity"), ...makeIdentityDeps(parts, origins) };
  return { fetch: makeFetch(deps, IDENTITY_TABLES), watch, checkReady: parts.checkReady };
}

function follow(
  { db, shared: { now, log } }: Parts,
  onVersions: (versions: Versions) => Promise<void>,
): VersionWatch {
  return watchVersions({ db, now, log }, onVersions);
}

/** Follows the recorded tables, and runs stored jobs on their rows. */
function followTables(parts: Parts, onVersions?: (versions: Versions) => Promise<void>) {
  const executeJobs = makeRowsJobs(parts);
  const watch = follow(parts, async (versions) => {
    // One after the other: a starting process needs one session for them, and each session plans every statement again.
    await catalog.follow(versions.catalog);
    await onVersions?.(versions);
    executeJobs(versions.catalog);
  });
  const catalog = makeCatalog({
    db: parts.db,
    refresh: watch.read,
    age: () => parts.shared.now() - watch.confirmedAt(),
  });
  return { watch, catalog };
}

/**
 * Runs administrators' stored jobs on apps' rows when the catalog's version changes: storing a job raises the version. Failed
 * jobs, and jobs of killed processes, are retried at the next check.
 */
function makeRowsJobs({ db, shared: { guard, log } }: Parts): (version: number) => void {
  let seen: number | undefined;
  const retryLater = (error: unknown) => {
    seen = undefined;
    logError(log, "the deletion of rows")(error);
  };
  const run = coalesce(async () => {
    await guard.check();
    for (const error of await runRowsJobs(db)) retryLater(error);
  });
  return (version) => {
    if (version === seen) return;
    seen = version;
    run().catch(retryLater);
  };
}
