#!/usr/bin/env bun
/** The command `rowhouse` as a process: its words, environment, folder and terminal, and its exit code. @module */
import { openTerminal } from "./cli/terminal.ts";
import { main } from "./main.ts";

const { argv, env } = process;
const terminal = openTerminal(env);
const exitCode = await main(argv.slice(2), { env, folder: process.cwd(), terminal });
await terminal.flush();
process.exit(exitCode);
