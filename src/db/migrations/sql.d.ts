/** The type of `import … with { type: "text" }` for an SQL file. @module */

declare module "*.sql" {
  const text: string;
  export = text;
}
