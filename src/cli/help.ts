/** Help texts, rendered from the table of commands. Each starts with an example. @module */

import { showFlag } from "./arguments.ts";
import type { Command, CommandRow, Flag } from "./command.ts";

const EXIT_CODES = `Exit codes: 0 success, 1 failure, 2 invalid command line, 3 changes are pending (db check, db status --to all),
4 not authenticated, 69 service or database unreachable (try again later)`;
const JSON_FAILURES =
  "With --json an error is also printed as JSON: { error, message, details: [{ path, message }] }";

/** The overview of all commands, or of one group. */
export function overview(rows: readonly CommandRow[], group: string, example: string): string {
  const width = Math.max(...rows.map(({ name }) => name.length)) + 2;
  return [
    `Example:\n  ${example}\n`,
    group === ""
      ? "Rowhouse: typed tables and sign-in for many apps, isolated by PostgreSQL\n"
      : `rowhouse ${group} <command>\n`,
    "Commands:",
    ...rows.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    "\nFor details: rowhouse <command> --help. Settings are read from the environment and .env (see .env.example)",
    EXIT_CODES,
    JSON_FAILURES,
  ].join("\n");
}

export function describeCommand(command: Command, summary: string): string {
  const flags = Object.entries(command.flags).map(
    ([name, flag]) => [showFlag(name, flag), describeFlag(flag)] as const,
  );
  const width = Math.max(0, ...flags.map(([label]) => label.length)) + 2;
  const [first = "", ...others] = command.positionals.map((term) => ` <${term}>`);
  const terms = [first, ...(command.isForSeveral === true ? ["…"] : []), ...others].join("");
  return [
    `Example:\n${indent(command.example)}\n`,
    `rowhouse ${command.name}${terms}${flags.length > 0 ? " [flags]" : ""}: ${summary}`,
    ...(flags.length > 0 ? ["\nFlags:"] : []),
    ...flags.map(([label, about]) => `  ${label.padEnd(width)}${about}`),
    ...(command.about === undefined ? [] : [`\n${command.about.trim()}`]),
    `\n${EXIT_CODES}`,
    ...(command.flags["json"] === undefined ? [] : [JSON_FAILURES]),
  ].join("\n");
}

function describeFlag({ about, many, default: initial }: Flag): string {
  const more = [
    ...(initial === undefined ? [] : [`default ${initial}`]),
    ...(many ? ["can be repeated"] : []),
  ];
  return [about, ...more].join("; ");
}

function indent(text: string): string {
  return text
    .trim()
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
