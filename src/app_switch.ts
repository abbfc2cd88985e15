/**
 * The settings of an app that are on or off. The command `set-app`, the Console, the audit log, archives and
 * `rowhouse.app_switches` iterate over this table; `set_app_switch()` in `db/code/apps/app_life.sql` changes them.
 *
 * @module
 */
import type { Preview } from "./preview.ts";
import { CHANGE_LIFE_S, HISTORY_DAYS } from "./std/limits.ts";

type AppSwitch = {
  /** A noun. */
  title: string;
  /** The effect of each state, for sentences after "On:" and "Off:". */
  on: string;
  off: string;
  /** The buttons, verbs whose object is the app; default: Turn on, Turn off. */
  buttons?: { on: string; off: string };
  /** The audit log's predicates; default: turned on, turned off. */
  logged?: { on: string; off: string };
  /** Processes without this preview neither serve nor offer the setting; it still records. */
  preview?: Preview;
  /** Why a Citus cluster cannot turn it on. */
  notOnCluster?: string;
  /** The bit in the proofs of the app's keys, for functions of tables. Scopes and people have the bits below 64. */
  proofBit?: number;
  /** While it is on, writes and pushes of the app are rejected with `read_only`. Needs a bit. */
  stops?: "writes";
  /** Listeners record the changes of rows for it. */
  hasListeners?: true;
  /** Writes read it when they begin: turning it on returns when those that began before have ended. */
  isAwaited?: true;
  /** The archive of an app names it: an import turns it on, or only reports that it was on. */
  archived?: "imported" | "reported";
  /** Whether a change can make requests fail that succeeded before. */
  isChange?: true;
};

export const APP_SWITCHES = {
  live: {
    title: "Live updates",
    on: `clients whose key has data:read can stream the changes of its tables. Each write also records the ids of its rows for ${CHANGE_LIFE_S / 60} to ${CHANGE_LIFE_S / 30} minutes.`,
    off: "event streams of its tables end immediately, and clients poll for changes.",
    preview: "live",
    notOnCluster: "a Citus cluster has no event streams",
    proofBit: 64,
    hasListeners: true,
    isAwaited: true,
    archived: "imported",
  },
  browser: {
    title: "Browser access",
    on: "its pages can read and write rows as the signed-in person, as far as the rules of its schema allow.",
    off: "the keys of its pages end immediately: only API keys and the Console can read and write rows.",
    isChange: true,
    preview: "browser",
    archived: "reported",
  },
  history: {
    title: "History of rows",
    on: `the Console shows who or what changed and deleted its rows, and the values before, for ${HISTORY_DAYS} days. The values before are stored.`,
    off: "nothing is stored of its rows but their values: turning it off deletes its history.",
    preview: "history",
    notOnCluster: "a Citus cluster does not store the history of rows",
    proofBit: 256,
    hasListeners: true,
    isAwaited: true,
    archived: "reported",
  },
  people_list: {
    title: "List of people",
    on: "each person with a role on the app can list the others: id, name, picture and role, never addresses.",
    off: "the app only learns who is signed in.",
    archived: "reported",
  },
  read_only: {
    title: "Read-only",
    on: "its rows can be read, and each write and each push gets 503 read_only, in the Console too. Writes that began before can still commit: rowhouse admin set-app returns when they have ended.",
    off: "its keys and the Console can write rows, and its keys can push.",
    isChange: true,
    notOnCluster: "a Citus cluster does not report transactions of its other nodes",
    proofBit: 128,
    stops: "writes",
    isAwaited: true,
  },
  disabled: {
    title: "Disabled",
    on: "its keys do not work, and people cannot open it. Its rows, keys and roles are retained.",
    off: "its keys work, and people with a role can open it. Revoked and expired keys stay revoked and expired.",
    buttons: { on: "Disable", off: "Enable" },
    logged: { on: "disabled the app", off: "enabled the app" },
    isChange: true,
  },
} as const satisfies Readonly<Record<string, AppSwitch>>;

export type AppSwitchName = keyof typeof APP_SWITCHES;
export const APP_SWITCH_NAMES = Object.keys(APP_SWITCHES) as AppSwitchName[];
export type SwitchStates = Readonly<Record<AppSwitchName, boolean>>;

/** The bits of the settings that stop an app's writes. */
export const STOP_BITS = APP_SWITCH_NAMES.map(describeSwitch).reduce(
  (bits, { stops, proofBit = 0 }) => (stops === undefined ? bits : bits | proofBit),
  0,
);

export function listArchived(states: SwitchStates): AppSwitchName[] {
  return APP_SWITCH_NAMES.filter((name) => states[name] && isArchived(name));
}

export function isArchived(name: AppSwitchName): boolean {
  return describeSwitch(name).archived !== undefined;
}

/** The declaration of a switch, with the defaults of its texts. */
export function describeSwitch(name: AppSwitchName) {
  const declared: AppSwitch = APP_SWITCHES[name];
  const title = declared.title.toLowerCase();
  return {
    buttons: { on: "Turn on", off: "Turn off" },
    logged: { on: `turned on: ${title}`, off: `turned off: ${title}` },
    ...declared,
  };
}

/** The heading of the page that changes a switch. */
export function toSwitchHeading(name: AppSwitchName, slug: string, state: "on" | "off"): string {
  const { title, buttons }: AppSwitch = APP_SWITCHES[name];
  if (buttons !== undefined) return `${buttons[state]} ${slug}`;
  return `Turn ${state} for ${slug}: ${title.toLowerCase()}`;
}

/** The name in commands and addresses: `people-list`. */
export function toDashed(name: AppSwitchName): string {
  return name.replaceAll("_", "-");
}

/** The switch with this name in commands. */
export function findSwitch(dashed: string): AppSwitchName | undefined {
  return APP_SWITCH_NAMES.find((name) => toDashed(name) === dashed);
}

/** The name in JSON: `peopleList`. */
export function toCamel(name: AppSwitchName): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
