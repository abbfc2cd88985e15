/** The pool's view of the nodes of a distributed database. @module */

export type Nodes = {
  /** The node that serves this queue's calls; `undefined` with only one node, and for the service's own queues. */
  readonly find: (queue: string) => string | undefined;
  /** Whether the node of this queue is known to be unavailable. */
  readonly isSilent: (queue: string) => boolean;
  /** An unavailable node, if there is one. */
  readonly findSilent: () => string | undefined;
  /** Records that a call of this queue, sent at this time of `performance.now`, got a result. */
  readonly hear: (queue: string, sentAt: number) => void;
};
