/** The counts and failures of a test run, from bun's report. A run without a report is a failure. @module */

export type Counts = { passed: number; failed: number; skipped: number };

/** `exitCode` is the run's, because reports do not contain an error between tests. */
export async function readReport(path: string, exitCode: number): Promise<Counts> {
  const head = /<testsuites\b[^>]*>/.exec(await readText(path))?.[0];
  if (head === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const [tests, failures, skipped] = ["tests", "failures", "skipped"].map((name) =>
    Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? Number.NaN),
  );
  if (tests === undefined || failures === undefined || skipped === undefined || tests === 0)
    return { passed: 0, failed: 1, skipped: 0 };
  const failed = failures === 0 && exitCode !== 0 ? 1 : failures;
  return { passed: tests - failures - skipped, failed, skipped };
}

/** Returns the names of the skipped tests. */
export async function readSkipped(path: string): Promise<string[]> {
  const skipped = (await readText(path)).matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped\b/g);
  return [...skipped].map(([, name = ""]) => unescapeXml(name));
}

/** Returns a text for each failed test: a line with its location, then its message. */
export async function readFailures(path: string): Promise<string[]> {
  const failed = (await readText(path)).matchAll(
    /<testcase name="([^"]*)" classname="([^"]*)"[^>]*? file="([^"]*)"[^>]*>\s*<failure\b[^>]*? message="([^"]*)"/g,
  );
  return [...failed].map(([, name = "", group = "", file = "", message = ""]) => {
    const location = [file, group, name].filter((part) => part !== "").join(" > ");
    return unescapeXml(`${location}\n${message.trim()}`);
  });
}

async function readText(path: string): Promise<string> {
  const file = Bun.file(path);
  return (await file.exists()) ? await file.text() : "";
}

const ENTITIES = { apos: "'", quot: '"', lt: "<", gt: ">", amp: "&", "#10": "\n" } as const;

function unescapeXml(text: string): string {
  return text.replace(
    /&(apos|quot|lt|gt|amp|#10);/g,
    (_, entity: keyof typeof ENTITIES) => ENTITIES[entity],
  );
}
