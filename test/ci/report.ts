/** The counts of a test run, from bun's report. A run without a report, or that failed otherwise, is a failure. @module */

export type Counts = { passed: number; failed: number; skipped: number };

/** `exitCode` is the run's: an error between tests is in no report. */
export async function readReport(path: string, exitCode: number): Promise<Counts> {
  const file = Bun.file(path);
  const head = (await file.exists())
    ? /<testsuites\b[^>]*>/.exec(await file.text())?.[0]
    : undefined;
  if (head === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const [tests, failures, skipped] = ["tests", "failures", "skipped"].map((name) =>
    Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN),
  );
  if (tests === undefined || failures === undefined || skipped === undefined || tests === 0)
    return { passed: 0, failed: 1, skipped: 0 };
  const failed = failures === 0 && exitCode !== 0 ? 1 : failures;
  return { passed: tests - failures - skipped, failed, skipped };
}

/** The names of the tests that were skipped. */
export async function readSkipped(path: string): Promise<string[]> {
  const file = Bun.file(path);
  const text = (await file.exists()) ? await file.text() : "";
  const skipped = text.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped\b/g);
  return [...skipped].map(([, name = ""]) =>
    name.replace(
      /&(apos|quot|lt|gt|amp);/g,
      (_, entity: keyof typeof ENTITIES) => ENTITIES[entity],
    ),
  );
}

const ENTITIES = { apos: "'", quot: '"', lt: "<", gt: ">", amp: "&" } as const;
