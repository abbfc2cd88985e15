/** The pool's view of the nodes of a database with several. @module */

/** A node that accepts calls directly. */
export type NodeEntry = {
  readonly host: string;
  readonly port: number;
  /** PostgreSQL's identifier of the server: another server at the address gets no calls. */
  readonly system: string;
};

export type Nodes = {
  /** The node that serves this queue's calls; `undefined` with only one node, and for the service's own queues. */
  readonly find: (queue: string) => string | undefined;
  /** The node of `find`, if it accepts calls directly. */
  readonly findEntry: (queue: string) => NodeEntry | undefined;
  /** All nodes that accept calls directly; a new object after each change. */
  readonly entries: () => ReadonlySet<NodeEntry>;
  /** Whether the node of this queue is known to be unavailable. */
  readonly isSilent: (queue: string) => boolean;
  /** An unavailable node, if there is one. */
  readonly findSilent: () => string | undefined;
  /** Records that a call of this queue, sent at this time of `performance.now`, got a result. */
  readonly hear: (queue: string, sentAt: number) => void;
};
