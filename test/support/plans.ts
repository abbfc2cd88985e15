/** The plans of the statements inside a session's calls, from auto_explain. @module */
import postgres from "postgres";
import { askNodes } from "../../src/db/mod.ts";
import { citusUrl } from "./citus.ts";
import { withDatabase } from "./cluster.ts";

export type PlanNode = {
  "Node Type": string;
  "Custom Plan Provider"?: string;
  "Relation Name"?: string;
  "Index Cond"?: string;
  "Recheck Cond"?: string;
  Plans?: PlanNode[];
};

export type Plan = { Plan: PlanNode; JIT?: unknown };

export type ExplainedSession = {
  /** Runs a statement. Returns whether it succeeded, and the plan of each statement in it. */
  run: (text: string) => Promise<{ done: boolean; plans: Plan[] }>;
  end: () => Promise<void>;
};

const SETTINGS = {
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_format": "json",
  "auto_explain.log_level": "notice",
};

/** Opens an administrator's session. On a cluster, the session also gets the plans of the nodes for their shards. */
export async function openExplained(adminUrl: string): Promise<ExplainedSession> {
  const notices: string[] = [];
  if (citusUrl() !== undefined) await explainOnNodes(adminUrl);
  const sql = postgres(adminUrl, {
    max: 1,
    prepare: false,
    onnotice: (notice) => void notices.push(notice["message"] ?? ""),
  });
  const set = Object.entries(SETTINGS).map(([name, value]) => `set ${name} = '${value}'`);
  const load = citusUrl() === undefined ? ["load 'auto_explain'", ...set] : [];
  await sql.unsafe([...load, "set client_min_messages = notice"].join("; "));
  return {
    run: async (text) => {
      notices.length = 0;
      const done = await sql.unsafe(text).then(
        () => true,
        () => false,
      );
      return { done, plans: notices.filter((notice) => notice.includes('"Plan":')).map(toPlan) };
    },
    end: () => sql.end(),
  };
}

/** New sessions on a worker then send their plans as notices, which Citus forwards to the coordinator's session. */
async function explainOnNodes(adminUrl: string): Promise<void> {
  const settings = { session_preload_libraries: "auto_explain", ...SETTINGS };
  const set = Object.entries(settings).map(
    ([name, value]) =>
      `execute format('alter database %I set ${name} = ''${value}''', current_database());`,
  );
  const responses = await withDatabase(adminUrl, (admin) =>
    askNodes(
      admin,
      `do $block$ begin
        perform set_config('citus.enable_ddl_propagation', 'off', true);
        if (select groupid from pg_dist_local_group) <> 0 then ${set.join(" ")} end if;
      end $block$`,
    ),
  );
  const failed = responses.filter(({ success }) => !success);
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}

function toPlan(notice: string): Plan {
  return JSON.parse(notice.slice(notice.indexOf("{")));
}
