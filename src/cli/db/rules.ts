/** `rowhouse db rules`: shows what people may do by the rules of a schema. Reads only the schema's file, and contacts no service. @module */
import { explainRules, listRoles, listRuleNotices } from "../../schema/mod.ts";
import { quote } from "../../std/quote.ts";
import {
  type Command,
  type CommandResult,
  JSON_FLAG,
  RejectedError,
  type Setting,
} from "../command.ts";
import { evaluateSchema, findSchemaFile } from "./evaluate.ts";
import { FILE_FLAGS } from "./flags.ts";

export const rulesCommand: Command = {
  name: "db rules",
  example: "rowhouse db rules\nrowhouse db rules --role member --json",
  about: `Reads the schema in this folder, and contacts no service. The rules apply to people in a browser; an API key has all rights.
Prints { rules: [{ role, table, rights }], notices: [{ table, message }] } with --json.`,
  positionals: [],
  flags: {
    schema: FILE_FLAGS.schema,
    role: { value: "role", about: "show only this role" },
    json: JSON_FLAG,
  },
  run: showRules,
};

async function showRules(setting: Setting): Promise<CommandResult> {
  const definition = await evaluateSchema(setting, findSchemaFile(setting));
  const rules = explainRules(definition, findRoles(setting, listRoles(definition.tables)));
  const notices = listRuleNotices(definition);
  const byRole = Map.groupBy(rules, ({ role }) => role);
  const lines = [...byRole].flatMap(([role, explained]) => [
    role,
    ...explained.map(({ table, rights }) => `  ${table}: ${rights}`),
  ]);
  return {
    document: { rules, notices },
    lines: lines.length === 0 ? [NOTHING] : lines,
    notes: notices.map(({ message }) => `Notice: ${message}`),
  };
}

const NOTHING = "The schema has no rules: people cannot read or write rows";

function findRoles({ args }: Setting, known: readonly string[]): readonly string[] {
  const role = args.text("role");
  if (role === undefined) return known;
  if (known.includes(role)) return [role];
  const others = known.length === 0 ? "the schema has no rules" : `rules name ${known.join(", ")}`;
  throw new RejectedError(`No rule names the role ${quote(role)}: ${others}`);
}
