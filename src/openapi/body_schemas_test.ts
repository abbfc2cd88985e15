import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { toBodySchema } from "./body_schemas.ts";

describe("the JSON Schema of a body", () => {
  test("has the rules and the descriptions of its fields", () => {
    const body = v.object({
      id: v.pipe(v.string(), v.uuid(), v.description("An id.")),
      count: v.exactOptional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0)))),
      parts: v.pipe(v.array(v.literal("a")), v.minLength(1), v.maxLength(9), v.examples([["a"]])),
    });
    expect(toBodySchema(body)).toEqual({
      type: "object",
      properties: {
        id: { type: "string", format: "uuid", description: "An id." },
        count: { type: ["integer", "null"], minimum: 0 },
        parts: {
          type: "array",
          items: { const: "a" },
          minItems: 1,
          maxItems: 9,
          examples: [["a"]],
        },
      },
      required: ["id", "parts"],
    });
  });

  test("has a list of types for a value or null, and alternatives for an object or null", () => {
    expect(toBodySchema(v.nullable(v.string()))).toEqual({ type: ["string", "null"] });
    expect(toBodySchema(v.nullable(v.picklist(["a", "b"])))).toEqual({
      type: ["string", "null"],
      enum: ["a", "b", null],
    });
    expect(toBodySchema(v.nullable(v.object({ a: v.string() })))).toEqual({
      anyOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { type: "null" },
      ],
    });
  });

  test("has no empty list of required fields", () => {
    expect(toBodySchema(v.strictObject({ a: v.exactOptional(v.boolean()) }))).toEqual({
      type: "object",
      properties: { a: { type: "boolean" } },
      additionalProperties: false,
    });
  });

  test("has no rules in code, and does not exist for a type that JSON lacks", () => {
    expect(
      toBodySchema(
        v.pipe(
          v.string(),
          v.check((text) => text !== ""),
        ),
      ),
    ).toEqual({ type: "string" });
    expect(() => toBodySchema(v.bigint())).toThrow("bigint");
  });
});
