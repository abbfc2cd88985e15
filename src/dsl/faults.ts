/** Everything wrong with a declaration, collected while it is read. Never grows past its limit. @module */
import { cut } from "../std/quote.ts";
import type { Fault } from "./definition.ts";

/** Maximum number of faults that are reported; the last one then counts the rest. */
const FAULTS_MAX = 200;

/** A place in a declaration. */
export type FaultLocation = { readonly table?: string; readonly column?: string };

/** A growing list of faults. */
export type Faults = {
  readonly add: (at: FaultLocation, message: string) => void;
  readonly isEmpty: () => boolean;
  readonly list: () => readonly Fault[];
};

/** An empty list of faults. */
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
  return { message: `${count - FAULTS_MAX + 1} more errors are not listed: fix these first` };
}

/** A name may be as long as the whole request; it is shortened wherever it is repeated. */
function toShortLocation(at: FaultLocation): FaultLocation {
  return {
    ...(at.table === undefined ? {} : { table: cut(at.table) }),
    ...(at.column === undefined ? {} : { column: cut(at.column) }),
  };
}
