/**
 * Compares random requests of people with the model. Every endpoint that is open for people has a player here; `run()` tells which
 * endpoints it played.
 *
 * @module
 */
import { ALL_ENDPOINTS, type Endpoint } from "../../../src/tables/catalog/mod.ts";
import { makeRandom, pick, type Random } from "../query_fuzz.ts";
import { openTestService, type TestService, UNGUARDED } from "../service.ts";
import { drawNew } from "./draw_body.ts";
import { Difference, toTurn } from "./play.ts";
import { playChanges } from "./play_changes.ts";
import { playGroups, playHidden, playQuery } from "./play_queries.ts";
import { playGet, playHead, playList } from "./play_reads.ts";
import { playReferenced, playRelated } from "./play_related.ts";
import { playDeleteWhere, playUpdateWhere, playUpsert } from "./play_where.ts";
import {
  playCreate,
  playCreateMany,
  playDelete,
  playGroup,
  playRepeat,
  playUpdate,
  playUpdateMany,
} from "./play_writes.ts";
import { changeRules, openWorld, pathOf, readState, sightOf, type World } from "./world.ts";
import { toNewRow } from "./writes.ts";

type Player = {
  readonly play: (world: World) => Promise<void>;
  /** The endpoints whose functions answer. */
  readonly endpoints: readonly Endpoint[];
  readonly weight?: number;
};

export const PLAYERS: Readonly<Record<string, Player>> = {
  get: { play: playGet, endpoints: ["get"], weight: 3 },
  head: { play: playHead, endpoints: ["get"] },
  list: { play: playList, endpoints: ["list"], weight: 3 },
  query: { play: playQuery, endpoints: ["query", "walk"], weight: 4 },
  groups: { play: playGroups, endpoints: ["groups"], weight: 2 },
  hidden: { play: playHidden, endpoints: ["query"], weight: 2 },
  related: { play: playRelated, endpoints: ["related", "children"], weight: 3 },
  referenced: { play: playReferenced, endpoints: ["query"], weight: 3 },
  create: { play: playCreate, endpoints: ["create"], weight: 5 },
  createMany: { play: playCreateMany, endpoints: ["create_many"], weight: 3 },
  createGroup: { play: playGroup, endpoints: ["create_group"], weight: 2 },
  repeat: { play: playRepeat, endpoints: ["create"] },
  update: { play: playUpdate, endpoints: ["update"], weight: 6 },
  updateMany: { play: playUpdateMany, endpoints: ["create_many"], weight: 3 },
  upsert: { play: playUpsert, endpoints: ["upsert"], weight: 3 },
  updateWhere: { play: playUpdateWhere, endpoints: ["update_where"], weight: 3 },
  deleteWhere: { play: playDeleteWhere, endpoints: ["delete_where"] },
  delete: { play: playDelete, endpoints: ["delete"], weight: 3 },
  // Events arrive after a moment.
  changes: { play: playChanges, endpoints: ["changes"], weight: 0 },
};

export type Options = {
  readonly seed: number;
  /** Schemas; sets of rules of each; requests under each set. */
  readonly schemas: number;
  readonly rules: number;
  readonly requests: number;
  /** The names of the players; default: all. */
  readonly only?: readonly string[];
  /** After each push: plants a fault. */
  readonly onPush?: (world: World) => Promise<void>;
  /** Instead of an error at the first difference. */
  readonly onDifference?: (difference: Difference) => void;
};

export type Outcome = {
  requests: number;
  rules: number;
  /** Sets of rules that the push rejects, with its reasons. */
  rejected: string[];
  /** Endpoints that are open for people, and that no request reached. */
  unplayed: Endpoint[];
};

/** A service that checks its isolation only at the start: a planted fault would stop it. */
export function openModelService(): Promise<TestService> {
  return openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } });
}

/** @throws {Difference} the service differs from the model; with the request and the rules */
export async function run(service: TestService, options: Options): Promise<Outcome> {
  const random = makeRandom(options.seed);
  const outcome: Outcome = { requests: 0, rules: 0, rejected: [], unplayed: [...ALL_ENDPOINTS] };
  const { only = Object.keys(PLAYERS) } = options;
  const players = Object.entries(PLAYERS)
    .filter(([name]) => only.includes(name))
    .map(([, player]) => player);
  const weighted = players.flatMap((player) =>
    Array.from({ length: weightOf(player, options) }, () => player),
  );
  for (let schema = 0; schema < options.schemas; schema++) {
    const suffix = `${options.seed}_${schema}`;
    const world = await openWorld(service, { random, suffix });
    for (let rules = 0; rules < options.rules; rules++) {
      const rejected = await changeRules(world);
      if (rejected !== undefined) {
        outcome.rejected.push(rejected);
        continue;
      }
      outcome.rules++;
      await options.onPush?.(world);
      if (world.state.values().every((rows) => rows.length === 0)) await fill(world, random);
      // Each player has a turn, also those that are too slow to be drawn.
      const first = rules === 0 ? players : [];
      for (let request = 0; request < options.requests; request++) {
        const { play, endpoints } = first[request] ?? pick(random, weighted);
        try {
          await play(world);
        } catch (error) {
          if (!(error instanceof Difference) || options.onDifference === undefined) throw error;
          options.onDifference(error);
          world.state = await readState(world);
        }
        outcome.requests++;
        outcome.unplayed = outcome.unplayed.filter((endpoint) => !endpoints.includes(endpoint));
      }
      await fill(world, random);
    }
  }
  return outcome;
}

/** Among a few players, one that is slow is drawn too. */
function weightOf({ weight = 1 }: Player, { only }: Options): number {
  return only === undefined ? weight : Math.max(weight, 1);
}

const ROWS = [4, 5, 9, 24, 16];

/** Creates rows of all people as the app's own server, up to a number for each table. */
async function fill(world: World, random: Random): Promise<void> {
  for (const [index, table] of world.tables.entries()) {
    const missing = (ROWS[index] ?? 0) - (world.state.get(table.name)?.length ?? 0);
    for (let n = 0; n < missing; n++) {
      const caller = pick(random, world.people);
      const turn = toTurn(world, caller, table);
      const sight = sightOf(world, caller);
      const { id: _, ...json } = toNewRow(sight, table, drawNew(turn));
      // Dangling references and used values are rejected.
      await world.service.call(world.app, pathOf(table.name), { method: "POST", json });
      if (n % 4 === 3) world.state = await readState(world);
    }
    world.state = await readState(world);
  }
}
