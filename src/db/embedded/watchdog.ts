/**
 * A shell that stops the server if the supervisor is killed: nothing else ends with a killed process on every system. It does
 * nothing while the supervisor runs.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Waits until standard input closes, and then stops the server of the folder `$1` with the mark `$2` in its command line. The
 * server can still be starting, so that it has not written its file yet. A later supervisor's server has another mark.
 */
const SCRIPT = `
read -r _
is_running() {
  pid=$(head -n 1 "$1/postmaster.pid") && kill -0 "$pid" &&
    { tr '\\0' ' ' <"/proc/$pid/cmdline" || ps -o args= -p "$pid"; } | grep -qF -- "$2"
} 2>/dev/null
waited=0
until is_running "$1" "$2" || [ $waited -ge 50 ]; do sleep 0.1; waited=$((waited + 1)); done
for signal in INT QUIT KILL; do
  waited=0
  is_running "$1" "$2" || exit
  kill -$signal "$pid"
  while is_running "$1" "$2" && [ $waited -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
done`;

export type Watchdog = { readonly end: () => Promise<void> };

/** `mark` is a setting of the server. */
export function startWatchdog(dataDir: string, mark: string): Watchdog {
  if (process.platform === "win32") return { end: async () => undefined };
  const shell = spawn("/bin/sh", ["-c", SCRIPT, "rowhouse-watchdog", dataDir, mark], {
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    // Separate process group: a signal for the supervisor's group does not reach it.
    detached: true,
  });
  const exited = once(shell, "exit");
  return {
    end: async () => {
      shell.kill("SIGKILL");
      await exited;
    },
  };
}
