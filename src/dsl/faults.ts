/** The validation errors of a declaration, collected while it is read. Never grows past its limit. @module */
import { cut } from "../std/quote.ts";
import type { Fault } from "./definition.ts";

/** Max reported errors. The last error then counts the rest. */
const FAULTS_MAX = 200;

/** A position in a declaration. */
export type FaultLocation = { readonly table?: string; readonly column?: string };

/** A growing list of errors. */
export type Faults = {
  readonly add: (at: FaultLocation, message: string) => void;
  readonly isEmpty: () => boolean;
  readonly list: () => readonly Fault[];
};

/** An empty list of errors. */
export function makeFaults(): Faults {
  const kept: Fault[] = [];
  let count = 0;
  return {
    add(at, message) {
      count++;
      if (kept.length < FAULTS_MAX) kept.push({ ...toShortLocation(at), message });
    },
    isEmpty: () => count === 0,
    list: () => (count <= FAULTS_MAX ? kept : [...kept.slice(0, -1), toRest(count)]),
  };
}

function toRest(count: number): Fault {
  return { message: `Cannot list ${count - FAULTS_MAX + 1} more errors: fix these first` };
}

/** A name can be as long as the whole request, so messages shorten it. */
function toShortLocation(at: FaultLocation): FaultLocation {
  return {
    ...(at.table === undefined ? {} : { table: cut(at.table) }),
    ...(at.column === undefined ? {} : { column: cut(at.column) }),
  };
}
