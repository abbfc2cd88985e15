/**
 * Used nonces of this process, in bounded memory: each is accepted once. The database stores those of all processes: see
 * `stored_nonces.ts`.
 *
 * @module
 */

export type Nonces = {
  /** Records the nonce of a request that was signed at `timestamp`; `full` if memory is at the limit. */
  readonly use: (nonce: string, timestamp: number) => "new" | "used" | "full";
};

/** A nonce: 128 random bits. */
export function makeNonce(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
}

export function isNonce(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

/** Nonces are deleted together, by the time slice of their signature. */
const SLICE_MS = 10_000;
const MAX_NONCES = 1_000_000;

/** A store that deletes a nonce after `windowMs`: an older timestamp is rejected in any case. */
export function makeNonces(options: {
  now: () => number;
  windowMs: number;
  maxNonces?: number;
}): Nonces {
  const { now, windowMs, maxNonces = MAX_NONCES } = options;
  const slices = new Map<number, Set<string>>();
  let count = 0;
  let sweptAt = 0;
  const sweep = (): void => {
    const current = Math.floor(now() / SLICE_MS);
    if (current === sweptAt) return;
    sweptAt = current;
    for (const [slice, nonces] of slices) {
      if ((slice + 1) * SLICE_MS > now() - windowMs) continue;
      count -= nonces.size;
      slices.delete(slice);
    }
  };
  return {
    use: (nonce, timestamp) => {
      sweep();
      const slice = Math.floor(timestamp / SLICE_MS);
      const nonces = slices.get(slice) ?? new Set();
      if (nonces.has(nonce)) return "used";
      if (count >= maxNonces) return "full";
      slices.set(slice, nonces.add(nonce));
      count++;
      return "new";
    },
  };
}
