/** Known vulnerabilities of the locked packages, if the registry supports such queries. @module */
import { join } from "node:path";

export type Audit =
  | { kind: "clean" }
  | { kind: "vulnerable"; advisories: string[] }
  /** The registry is unreachable, or is a mirror without advisories. */
  | { kind: "unknown"; reason: string };

const ROOT = join(import.meta.dirname, "../..");
export const AUDITED = [".", "test/ci/tools", "examples/node"] as const;

/** Queries the registry for the packages of a folder's lock file. */
export async function auditPackages(
  folder: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Audit> {
  const child = Bun.spawn([process.execPath, "audit", "--json"], {
    cwd: join(ROOT, folder),
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return readAudit(out) ?? { kind: "unknown", reason: err.trim() || out.trim() || "no response" };
}

export function describeAudit(audit: Audit): string {
  if (audit.kind === "clean") return "no known vulnerability";
  if (audit.kind === "vulnerable") return audit.advisories.join("; ");
  return `skipped, because the registry does not respond: ${audit.reason}`;
}

type Advisory = { title: string; severity: string };

/** Parses the output of `bun audit --json`, advisories by package. Returns `undefined` for other output. */
function readAudit(out: string): Audit | undefined {
  let report: unknown;
  try {
    report = JSON.parse(out);
  } catch {
    return undefined;
  }
  if (typeof report !== "object" || report === null) return undefined;
  const advisories = Object.entries(report as Record<string, Advisory[]>).flatMap(([name, found]) =>
    found.map(({ title, severity }) => `${name}: ${title} (${severity})`),
  );
  return advisories.length === 0 ? { kind: "clean" } : { kind: "vulnerable", advisories };
}
