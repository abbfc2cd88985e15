/** Measurements in turns, so that a busy moment of the machine hits all alike; medians of what they found. @module */

/** What each side found, round by round. */
export type Rounds<Side extends string, Found> = readonly Readonly<Record<Side, Found>>[];

/** Each side once a round, one after another. */
export async function takeTurns<Side extends string, Found>(
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

/** Every figure's own median over all rounds; a figure that is missing stays so. */
export function medians<Figures extends Readonly<Record<string, number | undefined>>>(
  found: readonly Figures[],
): Figures {
  const entries = Object.keys(found[0] ?? {}).map((name) => {
    const known = found.flatMap((figures) => figures[name] ?? []);
    return [name, known.length === 0 ? undefined : median(known)];
  });
  return Object.fromEntries(entries) as Figures;
}

/** The value below which a share of the sorted values lies; 0 of none. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The middle value, the mean of the two middle ones; 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
