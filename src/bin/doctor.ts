/** `rowhouse doctor`: what is well, what is not and what to do about it. @module */
import { openDatabase } from "../db/mod.ts";
import { examine, type Finding } from "../doctor.ts";
import { type Command, EXIT, type ExitCode, type Setting } from "./command.ts";
import { readSettings } from "./settings.ts";
import { toDocument } from "./terminal.ts";

const CONNECTIONS = 4;
const MARKS = { ok: "ok  ", warn: "warn", fail: "FAIL" } as const;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "looks at settings, database, roles and clock, and says what to mend",
  example: "rowhouse doctor --json",
  about: `Changes nothing. Exits with 1 where something fails; warnings do not count.
Prints { findings: [{ about, level, says, remedy }] } with --json.`,
  positionals: [],
  flags: { json: { about: "one JSON document on standard output" } },
  run: runDoctor,
};

async function runDoctor({ args, env, terminal }: Setting): Promise<ExitCode> {
  const config = readSettings(env, "DATABASE_URL");
  const open = (url: string) =>
    openDatabase({
      url,
      connections: CONNECTIONS,
      prepare: config.DATABASE_PREPARE,
      name: "rowhouse doctor",
    });
  const db = open(config.DATABASE_URL);
  const admin = open(config.ADMIN_DATABASE_URL ?? config.DATABASE_URL);
  try {
    const findings = await examine({
      db,
      admin,
      databaseUrl: config.DATABASE_URL,
      prepare: config.DATABASE_PREPARE,
      now: Date.now,
    });
    if (args.has("json")) terminal.say(toDocument({ findings }));
    else for (const line of findings.flatMap(toLines)) terminal.say(line);
    return findings.some(({ level }) => level === "fail") ? EXIT.refused : EXIT.done;
  } finally {
    await Promise.all([db.close(), admin.close()]);
  }
}

function toLines({ about, level, says, remedy }: Finding): string[] {
  const line = `${MARKS[level]} ${about}: ${says}`;
  return remedy === undefined ? [line] : [line, `     ${remedy}`];
}
