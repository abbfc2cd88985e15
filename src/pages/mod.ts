/** Pages: escaped HTML, stylesheets, scripts, parts of forms, Markdown. Does not depend on people or apps. @module */

export type { ScriptName } from "./assets.tsx";
export {
  assetRoutes,
  type Brand,
  brandRoute,
  bundleScript,
  ICON,
  readBrand,
  renderBrand,
  SCRIPT_NAMES,
  setBrand,
  toScriptPath,
} from "./assets.tsx";
export * from "./form.tsx";
export * from "./form_page.tsx";
export { highlight } from "./highlight.tsx";
export type { Html, JSX, Part } from "./html.ts";
export { type Heading, renderMarkdown, type Target } from "./markdown.tsx";
export * from "./page.tsx";
export * from "./parts.tsx";
export * from "./rows/mod.ts";
export { escapeTurns, splitJson } from "./scripts/forms/inputs.ts";
export * from "./time.tsx";
