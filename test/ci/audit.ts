/** Known vulnerabilities of the locked packages, where the registry supports such queries. @module */
import { join } from "node:path";

export type Audit =
  | { kind: "clean" }
  | { kind: "vulnerable"; advisories: string[] }
  /** Nothing is known: the registry is away, or is a mirror that does not respond. */
  | { kind: "unknown"; reason: string };

const ROOT = join(import.meta.dirname, "../..");
/** Every lock file of the project. */
export const AUDITED = [".", "test/ci/tools", "test/stacks"] as const;

/** Asks about the packages of a folder's lock file. */
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
  return `left out, because the registry does not respond: ${audit.reason}`;
}

type Advisory = { title: string; severity: string };

/** The verdict in what `bun audit --json` prints: advisories by package; anything else is no verdict. */
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
