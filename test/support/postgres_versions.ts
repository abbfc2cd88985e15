/** The oldest and the newest PostgreSQL of this machine, for tests of both. @module */
import { hasDebianPostgres, startDebianCluster } from "./debian_cluster.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./service.ts";
import { isFull } from "./tier.ts";

export const POSTGRES_VERSIONS = [
  { name: "PostgreSQL 18", isDebian: false },
  ...(hasDebianPostgres ? [{ name: "PostgreSQL 15", isDebian: true }] : []),
];

/** The versions for many random cases. In a reduced run, PostgreSQL 15 gets only those of the tier `check`, in its own part. */
export const FUZZED_VERSIONS = isFull() ? POSTGRES_VERSIONS : POSTGRES_VERSIONS.slice(0, 1);

/** Opens a service on the run's cluster, or on a fresh cluster of PostgreSQL 15. */
export async function openOnVersion(
  isDebian: boolean,
  options: TestServiceOptions = {},
): Promise<TestService> {
  if (!isDebian) return openTestService(options);
  const { url, stop } = await startDebianCluster();
  const cluster = { admin: url, serving: url, prepare: true };
  const service = await openTestService({ ...options, cluster });
  const close = async () => {
    await service.close();
    await stop();
  };
  return { ...service, close };
}
