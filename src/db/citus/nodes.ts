/**
 * Maps apps to the nodes of a Citus cluster, and records unavailable nodes. The isolation check updates it; empty on plain
 * PostgreSQL.
 *
 * @module
 */
import { BoundedMap } from "../../std/bounded.ts";
import type { NodeEntry, Nodes } from "../pool/nodes.ts";
import { hashBytes } from "./shard_names.ts";

/** The shards of a node: the lowest and the highest hash of each. */
type NodeShards = { name: string; ranges: readonly (readonly [number, number])[] };

export type NodeMap = Nodes & {
  readonly update: (shards: readonly NodeShards[]) => void;
  /** Records that a node accepts calls directly. */
  readonly admit: (name: string, entry: NodeEntry) => void;
  /** Records since when a node has not responded, in milliseconds of `performance.now`; `undefined` if it has responded. */
  readonly setSilence: (name: string, silentSince: number | undefined) => void;
};

const APP = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_APPS = 10_000;

export function makeNodeMap(): NodeMap {
  let shards: readonly NodeShards[] = [];
  const found = new BoundedMap<string, string | undefined>(MAX_APPS);
  const silent = new Map<string, number>();
  let admitted: ReadonlyMap<string, NodeEntry> = new Map();
  let entries: ReadonlySet<NodeEntry> = new Set();
  const setAdmitted = (next: ReadonlyMap<string, NodeEntry>): void => {
    admitted = next;
    entries = new Set(next.values());
  };
  const search = (queue: string): string | undefined => {
    if (!APP.test(queue)) return undefined;
    const hash = hashBytes(Buffer.from(queue.replaceAll("-", ""), "hex"));
    return shards.find(({ ranges }) => ranges.some(([from, to]) => hash >= from && hash <= to))
      ?.name;
  };
  const find = (queue: string): string | undefined => {
    if (shards.length === 0) return undefined;
    if (found.has(queue)) return found.get(queue);
    const name = search(queue);
    found.set(queue, name);
    return name;
  };
  return {
    find,
    findEntry: (queue) => admitted.get(find(queue) ?? ""),
    entries: () => entries,
    isSilent: (queue) => silent.size > 0 && silent.has(find(queue) ?? ""),
    findSilent: () => [...silent.keys()][0],
    // A successful call of an app also proves that the node responds.
    hear: (queue, sentAt) => {
      if (silent.size === 0) return;
      const name = find(queue) ?? "";
      if (sentAt >= (silent.get(name) ?? Number.POSITIVE_INFINITY)) silent.delete(name);
    },
    update: (next) => {
      shards = next;
      found.clear();
      const isListed = (name: string) => next.some((node) => node.name === name);
      for (const name of silent.keys()) if (!isListed(name)) silent.delete(name);
      const rest = [...admitted].filter(([name]) => isListed(name));
      if (rest.length < admitted.size) setAdmitted(new Map(rest));
    },
    admit: (name, entry) => {
      if (admitted.get(name)?.system === entry.system) return;
      setAdmitted(new Map([...admitted, [name, entry]]));
    },
    setSilence: (name, silentSince) => {
      if (silentSince === undefined) silent.delete(name);
      else silent.set(name, silentSince);
    },
  };
}
