/** Pages: escaped HTML, stylesheets, scripts, parts of forms, Markdown. Does not depend on people or apps. @module */
export { assetRoutes, ICON, toScriptPath } from "./assets.ts";
export { type Brand, brandRoute, readBrand, renderBrand, setBrand } from "./brand.ts";
export * from "./form.ts";
export * from "./form_page.ts";
export { highlight } from "./highlight.ts";
export { type Html, html, type Part } from "./html.ts";
export { type Heading, renderMarkdown, type Target } from "./markdown.ts";
export { type Page, type PageOptions, redirect, respondWithPage, SIGN_OUT_PATH } from "./page.ts";
export { escapeTurns, splitJson } from "./scripts/json_tokens.ts";
export type { ScriptName } from "./scripts.ts";
export { renderTime } from "./time.ts";
