/**
 * Used nonces: each is accepted once by this process, in bounded memory. What another process has accepted, only the database
 * knows: see `kept_nonces.ts`.
 *
 * @module
 */

export type Nonces = {
  /** Notes a nonce of a request signed at `timestamp`; says whether it is new, and whether there was room for it. */
  readonly use: (nonce: string, timestamp: number) => "new" | "used" | "full";
};

/** A nonce: 128 random bits. */
export function makeNonce(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64url");
}

/** Whether a text has the form of one. */
export function isNonce(text: string): boolean {
  return /^[\w-]{22}$/.test(text);
}

/** Nonces are forgotten together, by the slice of time in which they were signed. */
const SLICE_MS = 10_000;
const MAX_NONCES = 1_000_000;

/** A store that forgets a nonce once its timestamp is outside `windowMs`, when the request is refused anyway. */
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
