#!/usr/bin/env bun
/** The process of the command `rowhouse`: passes arguments, environment, folder and terminal to `main()`. @module */
import { EXIT } from "./cli/command.ts";
import { openTerminal } from "./cli/terminal.ts";
import { main } from "./main.ts";

const { argv, env } = process;
const terminal = openTerminal(env);
const exitCode = await main(argv.slice(2), { env, folder: process.cwd(), terminal });
const failure = await terminal.flush();
// A closed pipe, as with `| head`, is not an error.
if (failure === undefined || failure === "EPIPE") process.exit(exitCode);
terminal.warn(`Cannot write to standard output (${failure}): the output is incomplete`);
await terminal.flush();
process.exit(exitCode === EXIT.done ? EXIT.rejected : exitCode);
