/**
 * Databases over the nodes of a Citus cluster: the one that `CITUS_ADMIN_URL` names, whose database has the extension and
 * every node registered.
 *
 * @module
 */
import {
  admitNodes,
  type Database,
  SERVICE_QUEUE,
  setUpCluster,
  spreadLogins,
} from "../../src/db/mod.ts";
import { toBlock } from "../../src/push/distributed.ts";
import { copyDatabase, endSessions, rejectSessions } from "./template.ts";

/** Few, because every table of every test has as many on each kind of node. */
const SHARDS = 4;

type Node = { host: string; port: number; is_coordinator: boolean };
type Open = <Result>(url: string, use: (database: Database) => Promise<Result>) => Promise<Result>;

/** The coordinator's address as a superuser; `undefined` where the run is on plain PostgreSQL. */
export function citusUrl(): string | undefined {
  return process.env["CITUS_ADMIN_URL"] || undefined;
}

/**
 * Statements by hand, as one message. On a cluster each is in a block of its own: Citus sends a message on whole for each
 * statement of it, and a node takes one statement at a time.
 */
export function byHand(...statements: string[]): string {
  const sent = citusUrl() === undefined ? statements : statements.map(toBlock);
  return [...sent, "select 1"].join("; ");
}

export type CitusDatabase = {
  /** After the migrations. */
  distribute: (admin: Database) => Promise<void>;
  /** After the logins have been granted what they may do. */
  spread: (admin: Database) => Promise<void>;
  drop: () => Promise<void>;
};

/** One after the other: Citus rejects changes that meet on a node. */
let queue: Promise<unknown> = Promise.resolve();

function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = queue.then(work, work);
  queue = done;
  return done;
}

/** Makes an empty database of this name on the coordinator and the workers, which know each other. */
export function makeCitusDatabase(
  { admin: url, workers }: { admin: string; workers?: number },
  name: string,
  open: Open,
): Promise<CitusDatabase> {
  return inTurn(async () => {
    await open(url, (root) => root.message(`create database ${name}`));
    await addWorkers(url, name, open, workers);
    return {
      distribute: (admin) => inTurn(() => setUpCluster(admin, SHARDS)),
      spread: (admin) =>
        inTurn(async () => {
          await spreadLogins(admin);
          await admitNodes(admin);
        }),
      drop: () => dropOnNodes(url, name, open),
    };
  });
}

/** The database, made for the whole run, that each test database is a copy of. */
export const TEST_TEMPLATE = "TEST_CITUS_TEMPLATE";

/**
 * Ends all sessions of a database on every node, and lets nobody connect to it any more: so closed it can be copied. First
 * every node rejects, because Citus connects again from each to the others; then sessions are ended, Citus' own among them.
 */
export async function closeDatabase(url: string, name: string, open: Open): Promise<void> {
  const nodes = await open(url, readNodes);
  for (const close of [rejectSessions, endSessions])
    await Promise.all(nodes.map((node) => open(toUrl(url, node), (root) => close(root, name))));
}

/** Copies the template on every node; returns the function that drops the copy. */
export async function copyOnNodes(
  url: string,
  { template, name }: { template: string; name: string },
  open: Open,
): Promise<() => Promise<void>> {
  const nodes = await open(url, readNodes);
  const copy = (root: Database) => copyDatabase(root, { template, name });
  await Promise.all(nodes.map((node) => open(toUrl(url, node), copy)));
  return () => dropOnNodes(url, name, open);
}

/** Makes a database of the coordinator known to empty ones of its name on so many other nodes, or on all. */
export async function addWorkers(
  url: string,
  name: string,
  open: Open,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const nodes = (await open(url, readNodes)).slice(0, most + 1);
  for (const node of nodes) {
    if (!node.is_coordinator)
      await open(toUrl(url, node), (root) => root.message(`create database ${name}`));
    await open(toUrl(url, node, name), (root) => root.message("create extension citus"));
  }
  await open(toUrl(url, nodes[0] as Node, name), (admin) => register(admin, nodes));
}

/** Drops a database on every node that has it. */
export async function dropOnNodes(url: string, name: string, open: Open): Promise<void> {
  const nodes = await open(url, readNodes);
  const drop = (root: Database) => root.message(`drop database if exists ${name} with (force)`);
  await closeDatabase(url, name, open);
  await Promise.all(nodes.map((node) => open(toUrl(url, node), drop)));
}

/** The coordinator first. */
async function readNodes(root: Database): Promise<Node[]> {
  return await root.query<Node>(
    `select nodename as host, nodeport as port, groupid = 0 as is_coordinator from pg_catalog.pg_dist_node
    where noderole = 'primary' order by groupid`,
    [],
    { retry: "safe", queue: SERVICE_QUEUE },
  );
}

function toUrl(url: string, { host, port }: Node, database = "postgres"): string {
  const made = new URL(url);
  made.hostname = host;
  made.port = String(port);
  made.pathname = `/${database}`;
  return made.href;
}

async function register(admin: Database, nodes: readonly Node[]): Promise<void> {
  for (const { host, port, is_coordinator } of nodes)
    await admin.message(
      `select ${is_coordinator ? "citus_set_coordinator_host" : "citus_add_node"}('${host}', ${port})`,
    );
}
