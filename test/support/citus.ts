/**
 * Databases on the nodes of a Citus cluster. `CITUS_ADMIN_URL` names the cluster: its database has the extension and every
 * node registered.
 *
 * @module
 */
import {
  admitNodes,
  type Database,
  DIALECTS,
  setUpCluster,
  spreadLogins,
} from "../../src/db/mod.ts";
import { copyDatabase, endSessions, type Root, rejectSessions } from "./template.ts";

/** Few, because each test database creates this many shards for every distributed table. */
const SHARDS = 4;

type Node = { host: string; port: number; is_coordinator: boolean };
type Open = <Result>(url: string, use: (root: Root) => Promise<Result>) => Promise<Result>;

/** Returns the coordinator's URL as a superuser; `undefined` if the tests run on plain PostgreSQL. */
export function citusUrl(): string | undefined {
  return process.env["CITUS_ADMIN_URL"] || undefined;
}

/**
 * Joins statements to one message. On a cluster each statement is in a block: Citus forwards the whole message for each
 * statement, and a node accepts only one statement at a time.
 */
export function byHand(...statements: string[]): string {
  const sent = citusUrl() === undefined ? statements : statements.map(DIALECTS.citus.toStatement);
  return [...sent, "select 1"].join("; ");
}

export type CitusDatabase = {
  /** Runs after the migrations. */
  distribute: (admin: Database) => Promise<void>;
  /** Runs after the grants to the logins. */
  spread: (admin: Database) => Promise<void>;
  drop: () => Promise<void>;
};

/** Runs one change after the other: Citus rejects concurrent changes on a node. */
let queue: Promise<unknown> = Promise.resolve();

function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const done = queue.then(work, work);
  queue = done;
  return done;
}

/** Creates an empty database of this name on the coordinator and the workers, and registers the nodes with each other. */
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

/** Names the template: the database, created once per run, that every test database is copied from. */
export const TEST_TEMPLATE = "TEST_CITUS_TEMPLATE";

/**
 * Ends all sessions of a database on every node and rejects new ones, so that the database can be copied. Every node rejects
 * sessions before any session ends, because Citus reconnects from each node to the others.
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
  const copy = (root: Root) => copyDatabase(root, { template, name });
  await Promise.all(nodes.map((node) => open(toUrl(url, node), copy)));
  return () => dropOnNodes(url, name, open);
}

/** Creates databases of the same name on `maxWorkers` other nodes (default: all), and registers them at the coordinator. */
export async function addWorkers(
  url: string,
  name: string,
  open: Open,
  maxWorkers = Number.POSITIVE_INFINITY,
): Promise<void> {
  const nodes = (await open(url, readNodes)).slice(0, maxWorkers + 1);
  for (const node of nodes) {
    if (!node.is_coordinator)
      await open(toUrl(url, node), (root) => root.message(`create database ${name}`));
    await open(toUrl(url, node, name), (root) => root.message("create extension citus"));
  }
  await open(toUrl(url, nodes[0] as Node, name), (admin) => register(admin, nodes));
}

/** Drops a database on every node. */
export async function dropOnNodes(url: string, name: string, open: Open): Promise<void> {
  const nodes = await open(url, readNodes);
  const drop = (root: Root) => root.message(`drop database if exists ${name} with (force)`);
  await closeDatabase(url, name, open);
  await Promise.all(nodes.map((node) => open(toUrl(url, node), drop)));
}

/** Returns the nodes, the coordinator first. */
async function readNodes(root: Root): Promise<Node[]> {
  const nodes = await root.message(
    `select nodename as host, nodeport as port, groupid = 0 as is_coordinator from pg_catalog.pg_dist_node
    where noderole = 'primary' order by groupid`,
  );
  return nodes as Node[];
}

function toUrl(url: string, { host, port }: Node, database = "postgres"): string {
  const target = new URL(url);
  target.hostname = host;
  target.port = String(port);
  target.pathname = `/${database}`;
  return target.href;
}

async function register(admin: Root, nodes: readonly Node[]): Promise<void> {
  for (const { host, port, is_coordinator } of nodes)
    await admin.message(
      `select ${is_coordinator ? "citus_set_coordinator_host" : "citus_add_node"}('${host}', ${port})`,
    );
}
