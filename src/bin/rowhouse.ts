#!/usr/bin/env bun
/** The process of the command `rowhouse`: passes arguments, environment, folder and terminal to `main()`. @module */
import { openTerminal } from "./cli/terminal.ts";
import { main } from "./main.ts";

const { argv, env } = process;
const terminal = openTerminal(env);
const exitCode = await main(argv.slice(2), { env, folder: process.cwd(), terminal });
await terminal.flush();
process.exit(exitCode);
