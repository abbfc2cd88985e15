/**
 * Moves an app to another Citus node. The app's writes wait during the move. Citus cannot copy the writes: it would apply
 * them as a role under forced row security, which PostgreSQL rejects.
 *
 * @module
 */
import {
  ANCHOR,
  type Database,
  DIALECT_SQL,
  DIALECTS,
  type DialectName,
  EXECUTION_LIMIT_MS,
  findNodeGaps,
  listDataNodes,
  OPERATOR,
  quoteLiteral,
  readRows,
  readValue,
} from "../../db/mod.ts";
import { type Detail, Problem } from "../../problem.ts";
import { quote } from "../../std/quote.ts";

type Deps = { admin: Database };

/** Source and target node, and whether the app first needed its own shard. */
type AppMove = { from: string; to: string; isIsolated: boolean };

/** Max time to copy the shard of one table. Writes wait for the shards of all tables. */
const WAIT_PER_TABLE_S = 0.3;
/** Writes that wait longer get a timeout. */
const MAX_WAIT_S = EXECUTION_LIMIT_MS / 1000;

/** 12 hours, because copying can last long. */
const MOVE_LIMIT_MS = 43_200_000;

/**
 * Moves only this app's rows, key proofs and stored responses to another node: an app that shares its shard first gets its own
 * shard. If the move fails, repeat the call to continue.
 *
 * @throws {Problem} invalid_request — with every issue in `details`: no superuser, not distributed, unknown app, unknown
 *   node, app already on the node, node not migrated, or a long wait that the caller did not accept
 */
export async function moveApp(deps: Deps, asked: AskedMove): Promise<AppMove> {
  const { slug, to } = asked;
  const { id, placement } = await check(deps, asked);
  if (placement.is_shared) await isolate(deps, id);
  await move(deps, { id, slug, to });
  return { from: placement.node, to, isIsolated: placement.is_shared };
}

type AskedMove = { slug: string; to: string; acceptsTimeouts?: boolean };

type Found = { is_superuser: boolean; dialect: DialectName; id: string | null };

async function check(
  { admin }: Deps,
  { slug, to, acceptsTimeouts = false }: AskedMove,
): Promise<{ id: string; placement: Placement }> {
  const [found] = await readRows<Found>(
    admin,
    `select (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as is_superuser,
      ${DIALECT_SQL} as dialect, (select id from rowhouse.apps where slug = $1)::pg_catalog.text as id`,
    [slug],
  );
  if (found === undefined) throw new Error("The query of the app returned no row");
  const { id } = found;
  const { hasNodes } = DIALECTS[found.dialect];
  const nodes = hasNodes ? await listDataNodes(admin) : undefined;
  const placement = hasNodes && id !== null ? await readPlacement(admin, id) : undefined;
  const gaps = hasNodes ? await findNodeGaps(admin, to) : [];
  const tables = hasNodes && !acceptsTimeouts ? await countTables(admin) : 0;
  const details = findIssues(found, { slug, to, nodes, placement, gaps, tables });
  if (details.length === 0 && id !== null && placement !== undefined) return { id, placement };
  throw new Problem("invalid_request", { message: `Cannot move app ${slug}`, details });
}

type Asked = {
  slug: string;
  to: string;
  nodes: string[] | undefined;
  placement: Placement | undefined;
  gaps: readonly string[];
  tables: number;
};

function findIssues(found: Found, { slug, to, nodes, placement, gaps, tables }: Asked): Detail[] {
  const waitS = Math.ceil(tables * WAIT_PER_TABLE_S);
  const issues: [boolean, string, string][] = [
    [!found.is_superuser, "/login", "must be a superuser: Citus requires it to move rows"],
    [
      !DIALECTS[found.dialect].hasNodes,
      "/database",
      "is not distributed over a Citus cluster (docs/scaling.md)",
    ],
    [found.id === null, "/slug", `no app has the slug ${quote(slug)}`],
    [
      nodes?.includes(to) === false && gaps.length === 0,
      "/to",
      `must be a node of the cluster: ${nodes?.join(", ")}`,
    ],
    [placement?.node === to, "/to", `the app is already on ${to}`],
    [
      gaps.length > 0,
      "/to",
      `is not set up for rows: run rowhouse migrate first (${gaps.join("; ")})`,
    ],
    [
      waitS > MAX_WAIT_S,
      "/accept-timeouts",
      `${tables} tables make writes of all apps on the shard wait up to ${waitS} s, and fail after ${MAX_WAIT_S} s: add --accept-timeouts to move the app nevertheless`,
    ],
  ];
  return issues.flatMap(([isIssue, path, message]) => (isIssue ? [{ path, message }] : []));
}

/** Counts the tables to move. A move copies one shard of each table, even of an empty table. */
async function countTables(admin: Database): Promise<number> {
  return await readValue<number>(
    admin,
    `select pg_catalog.count(*)::pg_catalog.int4 as count from pg_catalog.pg_dist_partition
    where colocationid = (select colocationid from pg_catalog.pg_dist_partition
      where logicalrelid = '${ANCHOR}'::pg_catalog.regclass)`,
  );
}

/** An app's node, and whether its shard has other apps. */
type Placement = { node: string; is_shared: boolean };

const SHARD_OF = (app: string) =>
  `pg_catalog.get_shard_id_for_distribution_column('${ANCHOR}', ${app})`;
const PLACEMENTS = "pg_catalog.pg_dist_placement natural join pg_catalog.pg_dist_node";

async function readPlacement(admin: Database, id: string): Promise<Placement | undefined> {
  const [placement] = await readRows<Placement>(
    admin,
    `select nodename || ':' || nodeport as node, exists (
      select from rowhouse.apps where id <> $1::pg_catalog.text::pg_catalog.uuid and ${SHARD_OF("id")} = shardid) as is_shared
    from ${PLACEMENTS} where shardid = ${SHARD_OF("$1::pg_catalog.text::pg_catalog.uuid")} and noderole = 'primary'`,
    [id],
  );
  return placement;
}

async function isolate({ admin }: Deps, id: string): Promise<void> {
  await admin.message(
    `select pg_catalog.isolate_tenant_to_new_shard('${ANCHOR}', ${quoteLiteral(id)}::pg_catalog.uuid, 'CASCADE',
      shard_transfer_mode := 'block_writes')`,
    { timeoutMs: MOVE_LIMIT_MS },
  );
}

/** The move and its audit log entry, in one statement. */
async function move(
  { admin }: Deps,
  { id, slug, to }: { id: string; slug: string; to: string },
): Promise<void> {
  const [app, node] = [`${quoteLiteral(id)}::pg_catalog.uuid`, quoteLiteral(to)];
  await admin.message(
    `with moved as materialized (
      select source.nodename || ':' || source.nodeport as node, pg_catalog.citus_move_shard_placement(
        source.shardid, source.nodename, source.nodeport, there.nodename, there.nodeport, 'block_writes')
      from (${PLACEMENTS}) as source, pg_catalog.pg_dist_node as there
      where source.shardid = ${SHARD_OF(app)} and source.noderole = 'primary'
        and there.nodename || ':' || there.nodeport = ${node}
    )
    select rowhouse.log('${OPERATOR}', 'move_app', app => ${quoteLiteral(slug)}, details => pg_catalog.jsonb_build_object('from', node, 'to', ${node})) from moved`,
    { timeoutMs: MOVE_LIMIT_MS },
  );
}
