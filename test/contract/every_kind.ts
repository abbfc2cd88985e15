/** A schema with a table for each column kind, for generated clients and for Schemathesis. @module */
import { defineSchema, type Kind, t } from "../../src/schema/mod.ts";

const VALUES = ["red", "green", "two words", "Ü"] as const;

/** Each kind without modifiers, required, with a default, and unique if random values are likely to be free. */
export const EVERY_KIND = defineSchema({
  strings: {
    plain: t.string(),
    wanted: t.string().required(),
    usual: t.string().required().default("a default"),
    single: t.string().unique(),
  },
  emails: {
    plain: t.email(),
    wanted: t.email().required(),
    usual: t.email().required().default("ada@example.org"),
    single: t.email().unique(),
  },
  urls: {
    plain: t.url(),
    wanted: t.url().required(),
    usual: t.url().required().default("https://example.org/"),
    single: t.url().unique(),
  },
  numbers: {
    plain: t.number(),
    wanted: t.number().required(),
    usual: t.number().required().default(1.5),
    single: t.number().unique(),
  },
  integers: {
    plain: t.integer(),
    wanted: t.integer().required(),
    usual: t.integer().required().default(12),
    single: t.integer().unique(),
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
  uuids: { plain: t.uuid(), wanted: t.uuid().required(), single: t.uuid().unique() },
  timestamps: {
    plain: t.timestamp(),
    wanted: t.timestamp().required(),
    usual: t.timestamp().required().default("now"),
    single: t.timestamp().unique(),
  },
  dates: {
    plain: t.date(),
    wanted: t.date().required(),
    usual: t.date().required().default("today"),
    single: t.date().unique(),
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
    plain: t.enum(VALUES),
    wanted: t.enum(VALUES).required(),
    usual: t.enum(VALUES).required().default("red"),
  },
  refs: { plain: t.ref("strings"), parent: t.ref("refs") },
});

/** The table for each kind. */
export const TABLE_OF: Readonly<Record<Kind, string>> = {
  string: "strings",
  email: "emails",
  url: "urls",
  number: "numbers",
  integer: "integers",
  decimal: "decimals",
  boolean: "booleans",
  uuid: "uuids",
  timestamp: "timestamps",
  date: "dates",
  json: "jsons",
  enum: "enums",
  ref: "refs",
};
