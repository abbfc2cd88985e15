/** What the pool must know of a database that is distributed over nodes. @module */

export type Nodes = {
  /** The node that serves this queue's calls; `undefined` where there is but one, and of the service's own queues. */
  readonly find: (queue: string) => string | undefined;
  /** Whether the node of this queue is known not to answer. */
  readonly isSilent: (queue: string) => boolean;
  /** A node that is known not to answer, if there is one. */
  readonly findSilent: () => string | undefined;
  /** That a call of this queue, sent at this moment of `performance.now`, was answered. */
  readonly hear: (queue: string, sentAt: number) => void;
};
