/** The table of an app's settings that are on or off. @module */
import { APP_SWITCH_NAMES, describeSwitch } from "../app_switch.ts";
import { quoteLiteral } from "../std/sql_literal.ts";

/** Fills `rowhouse.app_switches`. */
export function renderSwitches(): string {
  const rows = APP_SWITCH_NAMES.map((name) => {
    const { proofBit = 0, preview, notOnCluster, stops } = describeSwitch(name);
    const needed = preview === undefined ? "null" : quoteLiteral(preview);
    return `(${quoteLiteral(name)}, ${proofBit}, ${needed}, ${notOnCluster === undefined}, ${stops !== undefined})`;
  });
  return `insert into rowhouse.app_switches (name, proof_bit, preview, is_for_clusters, stops_writes) values\n  ${rows.join(",\n  ")};`;
}
