/** Alternating measurements, so that other load on the machine affects all sides equally, and their medians. @module */

/** The measurements of each side, per round. */
export type Rounds<Side extends string, Found> = readonly Readonly<Record<Side, Found>>[];

/** Measures each side once per round. */
export async function alternate<Side extends string, Found>(
  name: string,
  rounds: number,
  sides: Readonly<Record<Side, () => Promise<Found>>>,
): Promise<Rounds<Side, Found>> {
  const done: Record<Side, Found>[] = [];
  for (let round = 0; round < rounds; round++) {
    const found: [string, Found][] = [];
    for (const [side, measure] of Object.entries<() => Promise<Found>>(sides))
      found.push([side, await measure()]);
    done.push(Object.fromEntries(found) as Record<Side, Found>);
    process.stderr.write(`${name} ${round + 1}/${rounds}\n`);
  }
  return done;
}

/** Returns the median of each figure over all rounds; `undefined` for a figure without a measurement. */
export function medians<Figures extends Readonly<Record<string, number | undefined>>>(
  found: readonly Figures[],
): Figures {
  const entries = Object.keys(found[0] ?? {}).map((name) => {
    const known = found.flatMap((figures) => figures[name] ?? []);
    return [name, known.length === 0 ? undefined : median(known)];
  });
  return Object.fromEntries(entries) as Figures;
}

/** Returns the value below which this share of the sorted values lies; 0 without values. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Returns the middle value, or the mean of the two middle values; 0 without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
