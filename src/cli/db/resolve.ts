/**
 * `rowhouse db resolve`: joins histories that have diverged. The service gets the missing steps and continues from the project's
 * history. No recorded migration and no file changes. If the command is killed, repeat it: it finds a finished join.
 *
 * @module
 */

import { showCount } from "../../std/count.ts";
import type { ProjectMigration } from "../../tables/history/journal.ts";
import { readJournal } from "../../tables/history/journal_files.ts";
import { showMigration } from "../../tables/history/migration_text.ts";
import { MAX_MIGRATIONS_SENT, MAX_REPLAY_BYTES } from "../../tables/limits.ts";
import type { PushBody } from "../../tables/mod.ts";
import { mergeDeclared } from "../../tables/plan/merge_table.ts";
import { type Command, type CommandResult, RejectedError, type Setting } from "../command.ts";
import { makePaint } from "../paint.ts";
import { readSettings } from "../settings.ts";
import { findConfirm } from "./confirm.ts";
import { describePush } from "./describe.ts";
import { findDestination } from "./destination.ts";
import { readWait, SCHEMA_FLAGS } from "./flags.ts";
import { fetchMigrations, readDeclared } from "./journal.ts";
import { withProject } from "./project.ts";
import type { Pushed } from "./schema_service.ts";
import { type Destination, withDestination } from "./service.ts";
import { agree, listShared, readShare, warnOfSharing } from "./sharing.ts";

export const resolveCommand: Command = {
  name: "db resolve",
  example: "rowhouse db resolve --to staging\nrowhouse db resolve --to staging --dry-run",
  about: `For diverged histories: the project and the service each have migrations that the other lacks. First declare in the schema
everything that either side declares. The service then gets the missing steps as one migration that joins the project's last
migration; from then on, the project's migrations count as applied there. No recorded migration and no file changes. If a
difference would remain, nothing is written, and all differences are listed.
Prints { status, joins, migration, steps, notes, shared } with --json.`,
  positionals: [],
  flags: {
    ...SCHEMA_FLAGS,
    "dry-run": { about: "show the steps; change nothing" },
    yes: {
      about: "do not ask for confirmation: also for environments with confirm, and share tables",
    },
  },
  run: runResolve,
};

async function runResolve(setting: Setting): Promise<CommandResult> {
  const { env, terminal } = setting;
  const config = readSettings(env);
  const destination = await findDestination(setting, config);
  const stop = terminal.spin("Joining");
  const { result, joins } = await resolveHistory(setting, { destination, config, stop }).finally(
    stop,
  );
  const { status, migration, steps, notes, shared } = result;
  const paint = makePaint(env, process.stdout.isTTY === true);
  const opening = status === "planned" ? "Would join" : "Joined";
  const joined = `${opening} ${joins}: the service continues from the project's history`;
  return {
    document: { status, joins, migration, steps, notes, shared },
    lines: [...describePush({ result }, paint), ...(joins === null ? [] : [joined])],
  };
}

type Resolving = {
  destination: Destination;
  config: ReturnType<typeof readSettings>;
  stop: () => void;
};
/** `joins`: the project's last migration; `null` if the histories had not diverged. */
type Resolved = { result: Pushed; joins: string | null };

const NOTHING: Pushed = {
  ...{ status: "unchanged", migration: null, rows: null },
  ...{ steps: [], notes: [], shared: [] },
};

async function resolveHistory(
  setting: Setting,
  { destination, config, stop }: Resolving,
): Promise<Resolved> {
  const { args, terminal } = setting;
  const options = { destination, config, waitS: readWait(args), mayDiverge: true };
  return await withProject(setting, options, async (project) => {
    const { definition, location, service, ahead, missing, isDiverged } = project;
    const [first] = ahead;
    const last = ahead.at(-1);
    const { journal } = location;
    if (!isDiverged || first === undefined || last === undefined || journal === undefined) {
      terminal.warn(explainNothing(destination, { isBehind: last !== undefined }));
      return { result: NOTHING, joins: null };
    }
    const common = missing.filter(({ seq }) => seq < first.parts.seq);
    const recorded = await fetchMigrations(service, common);
    const texts = [...(await readJournal(journal)), ...recorded];
    const step = toStep(ahead, {
      definition,
      declared: mergeDeclared([...readDeclared(texts), { definition }]),
    });
    const join = (more: Pick<PushBody, "dryRun" | "share">) =>
      service.push({ steps: [step], ...more });
    const share = readShare(setting);
    const joins = showMigration(last.parts);
    if (args.has("dry-run")) return { result: await join({ dryRun: true, share }), joins };
    const confirm = findConfirm(setting, destination, (plan) => {
      stop();
      return describePush({ result: plan });
    });
    const plan = () => join({ dryRun: true, share });
    const agreed = confirm === undefined ? share : await agree(plan, confirm);
    const result = await join({ dryRun: false, share: agreed });
    if (confirm === undefined) warnOfSharing(terminal, listShared(result));
    return { result, joins };
  });
}

function explainNothing(destination: Destination, { isBehind }: { isBehind: boolean }): string {
  if (!isBehind) return "The histories have not diverged: nothing to join";
  const push = withDestination("rowhouse db push", destination);
  return `The histories have not diverged: the service lacks migrations, which ${push} applies`;
}

type JoinStep = Extract<PushBody["steps"][number], { kind: "join" }>;

/** @throws {RejectedError} the migrations do not fit in one request */
function toStep(
  ahead: readonly ProjectMigration[],
  declarations: Pick<JoinStep, "definition" | "declared">,
): JoinStep {
  const step = {
    ...({ kind: "join", ...declarations } as const),
    migrations: ahead.map(({ text }) => text),
  };
  const bytes = Buffer.byteLength(JSON.stringify({ steps: [step] }));
  if (ahead.length <= MAX_MIGRATIONS_SENT && bytes <= MAX_REPLAY_BYTES) return step;
  throw new RejectedError(
    `Cannot join ${showCount(ahead.length, "migration")} of ${bytes} bytes in one request: max ${MAX_MIGRATIONS_SENT} migrations and ${MAX_REPLAY_BYTES} bytes`,
  );
}
