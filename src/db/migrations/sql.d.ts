/** What `import … with { type: "text" }` gives for an SQL file. @module */

declare module "*.sql" {
  const text: string;
  export = text;
}
