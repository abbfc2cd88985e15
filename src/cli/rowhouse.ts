#!/usr/bin/env bun
/** The process of the command `rowhouse`: passes arguments, environment, folder and terminal to `main()`. @module */
import { FETCH_LIMIT } from "../std/network.ts";
import { EXIT } from "./command.ts";
import { main } from "./main.ts";
import { openTerminal } from "./terminal.ts";

const { argv, env } = process;
// Bun has read its limits: the process starts again in place, with the same id.
if (argv[2] === "serve" && !env[FETCH_LIMIT.variable])
  startAgain({ ...env, [FETCH_LIMIT.variable]: String(FETCH_LIMIT.max) });
const terminal = openTerminal(env);
const exitCode = await main(argv.slice(2), { env, folder: process.cwd(), terminal });
const failure = await terminal.flush();
// A closed pipe, as with `| head`, is not an error.
if (failure === undefined || failure === "EPIPE") process.exit(exitCode);
terminal.warn(`Cannot write to standard output (${failure}): the output is incomplete`);
await terminal.flush();
process.exit(exitCode === EXIT.done ? EXIT.rejected : exitCode);

/** Replaces this process, except on Windows, which cannot: `serve` then rejects a role that needs the limit. */
function startAgain(changed: typeof env): void {
  const { execPath, execArgv, platform } = process;
  if (platform !== "win32")
    process.execve?.(execPath, [execPath, ...execArgv, ...argv.slice(1)], changed);
}
