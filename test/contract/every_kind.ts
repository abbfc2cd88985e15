/** A schema with a table for each column kind: what clients are generated from, and what the service is tried with. @module */
import { defineSchema, type Kind, t } from "../../src/dsl/mod.ts";

const WORDS = ["red", "green", "two words", "Ü"] as const;

/** Each kind as it is, required, with a default, and unique where a caller may guess a free value. */
export const EVERY_KIND = defineSchema({
  strings: {
    plain: t.string(),
    wanted: t.string().required(),
    usual: t.string().required().default("a default"),
    single: t.string().unique(),
  },
  numbers: {
    plain: t.number(),
    wanted: t.number().required(),
    usual: t.number().required().default(1.5),
    single: t.number().unique(),
  },
  decimals: {
    plain: t.decimal(),
    wanted: t.decimal().required(),
    usual: t.decimal().required().default("12.50"),
    single: t.decimal().unique(),
  },
  booleans: {
    plain: t.boolean(),
    wanted: t.boolean().required(),
    usual: t.boolean().required().default(true),
  },
  uuids: {
    plain: t.uuid(),
    wanted: t.uuid().required(),
    single: t.uuid().unique(),
  },
  timestamps: {
    plain: t.timestamp(),
    wanted: t.timestamp().required(),
    usual: t.timestamp().required().default("now"),
    single: t.timestamp().unique(),
  },
  jsons: {
    plain: t.json(),
    wanted: t.json().required(),
    usual: t
      .json()
      .required()
      .default({ list: [1, "two", null] }),
  },
  enums: {
    plain: t.enum(WORDS),
    wanted: t.enum(WORDS).required(),
    usual: t.enum(WORDS).required().default("red"),
  },
  refs: {
    plain: t.ref("strings"),
    parent: t.ref("refs"),
  },
});

/** The table of each kind. */
export const TABLE_OF: Readonly<Record<Kind, string>> = {
  string: "strings",
  number: "numbers",
  decimal: "decimals",
  boolean: "booleans",
  uuid: "uuids",
  timestamp: "timestamps",
  json: "jsons",
  enum: "enums",
  ref: "refs",
};
