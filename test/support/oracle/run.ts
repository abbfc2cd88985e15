/**
 * Compares random requests of people with the model. Every endpoint that is open for people has a player here; `run()` tells which
 * endpoints it played.
 *
 * @module
 */
import { ALL_ENDPOINTS, type Endpoint } from "../../../src/tables/catalog/mod.ts";
import { makeRandom, pick } from "../random.ts";
import { openTestService, type TestService, UNGUARDED } from "../service.ts";
import { FEW_ROWS, fill, type Sizes, toFilled } from "./fill.ts";
import { Difference } from "./play.ts";
import { playChanges } from "./play_changes.ts";
import { playGroups, playHidden, playQuery, playRelation } from "./play_queries.ts";
import { playGet, playHead, playList } from "./play_reads.ts";
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
import {
  type Counts,
  changeRules,
  definitionOfTables,
  NO_COUNTS,
  openWorld,
  pushTables,
  readState,
  type World,
} from "./world.ts";

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
  query: { play: playQuery, endpoints: ["find", "walk"], weight: 8 },
  groups: { play: playGroups, endpoints: ["find_groups"], weight: 4 },
  hidden: { play: playHidden, endpoints: ["find"], weight: 2 },
  relation: { play: playRelation, endpoints: ["find"], weight: 2 },
  create: { play: playCreate, endpoints: ["create"], weight: 5 },
  createMany: { play: playCreateMany, endpoints: ["create_many"], weight: 3 },
  createGroup: { play: playGroup, endpoints: ["create_group"], weight: 2 },
  repeat: { play: playRepeat, endpoints: ["create"] },
  update: { play: playUpdate, endpoints: ["update"], weight: 6 },
  updateMany: { play: playUpdateMany, endpoints: ["update_many"], weight: 3 },
  upsert: { play: playUpsert, endpoints: ["upsert", "update_keyed"], weight: 3 },
  updateWhere: { play: playUpdateWhere, endpoints: ["update_found"], weight: 3 },
  deleteWhere: { play: playDeleteWhere, endpoints: ["delete_found"] },
  delete: { play: playDelete, endpoints: ["delete"], weight: 3 },
  // Events arrive after a moment.
  changes: { play: playChanges, endpoints: ["changes"], weight: 0 },
};

export type Options = {
  readonly seed: number;
  /** Schemas; sets of rules of each; requests under each set. Without rules, only the app's server sends requests. */
  readonly schemas: number;
  readonly rules?: number;
  readonly requests: number;
  readonly sizes?: Sizes;
  /** The names of the players; default: all. */
  readonly only?: readonly string[];
  /** After each push: plants a fault. */
  readonly onPush?: (world: World) => Promise<void>;
  /** Instead of an error at the first difference. */
  readonly onDifference?: (difference: Difference) => void;
};

export type Outcome = Counts & {
  requests: number;
  rules: number;
  /** Sets of rules that the push rejects, with its reasons. */
  rejected: string[];
  /** Endpoints that are open for people, and that no request reached. */
  unplayed: Endpoint[];
};

/** Limits of the service for random queries. */
export const FUZZ_LIMITS = [
  { name: "without limits", limits: {}, seed: 1 },
  { name: "that count at most 120 rows", limits: { maxCounted: 120 }, seed: 2 },
] as const;
export const FUZZ_SIZES: Sizes = {
  ...{ teams: 5, members: 5, boxes: 25, items: 50, notes: 50, things: 200 },
};

/** Compares queries of the app's server, without people. */
export function fuzzQueries(service: TestService, options: Options): Promise<Outcome> {
  return run(service, { sizes: FUZZ_SIZES, only: ["query", "groups"], ...options });
}

/** A service that checks its isolation only at the start: a planted fault would stop it. */
export function openModelService(): Promise<TestService> {
  return openTestService({ service: { ...UNGUARDED, previews: ["filters", "live", "browser"] } });
}

/** @throws {Difference} the service differs from the model; with the request and the rules */
export async function run(service: TestService, options: Options): Promise<Outcome> {
  const random = makeRandom(options.seed);
  const counts = { ...NO_COUNTS };
  const outcome = { requests: 0, rules: 0, rejected: [] as string[], unplayed: [...ALL_ENDPOINTS] };
  const { only = Object.keys(PLAYERS), sizes = FEW_ROWS, rules: count = 0 } = options;
  const players = Object.entries(PLAYERS)
    .filter(([name]) => only.includes(name))
    .map(([, player]) => player);
  const weighted = players.flatMap((player) =>
    Array.from({ length: weightOf(player, options) }, () => player),
  );
  for (let schema = 0; schema < options.schemas; schema++) {
    const suffix = `${options.seed}_${schema}`;
    const asked = { random, suffix, hasPeople: count > 0, counts };
    const world = await openWorld(service, asked);
    for (let rules = 0; rules < Math.max(count, 1); rules++) {
      const rejected = await changeRules(world, count > 0);
      if (rejected !== undefined) {
        outcome.rejected.push(rejected);
        continue;
      }
      outcome.rules++;
      await options.onPush?.(world);
      if (rules === 0) await fillAll(world, sizes);
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
      world.state = await fill(toFilled(world), sizes);
    }
  }
  return { ...outcome, ...counts };
}

/** Creates the rows of the app, and rows with the same values of another. */
async function fillAll(world: World, sizes: Sizes): Promise<void> {
  const { service } = world;
  const seed = world.random(2 ** 31);
  const app = await service.makeApp();
  await pushTables({ service, app }, definitionOfTables(world.tables));
  await fill({ ...toFilled(world), app, random: makeRandom(seed) }, sizes);
  world.state = await fill({ ...toFilled(world), random: makeRandom(seed) }, sizes);
}

/** Among a few players, one that is slow is drawn too. */
function weightOf({ weight = 1 }: Player, { only }: Options): number {
  return only === undefined ? weight : Math.max(weight, 1);
}
