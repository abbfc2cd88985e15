/** Pages: escaped HTML, stylesheets, scripts, parts of forms, Markdown. Does not depend on people or apps. @module */
export { assetRoutes, ICON, toScriptPath } from "./assets.ts";
export { type Brand, brandRoute, readBrand, renderBrand, setBrand } from "./brand.tsx";
export * from "./form.tsx";
export * from "./form_page.tsx";
export { highlight } from "./highlight.tsx";
export type { Html, JSX, Part } from "./html.ts";
export { type Heading, renderMarkdown, type Target } from "./markdown.tsx";
export { type Page, type PageOptions, redirect, respondWithPage, SIGN_OUT_PATH } from "./page.tsx";
export { escapeTurns, splitJson } from "./scripts/json_tokens.ts";
export type { ScriptName } from "./scripts.ts";
export { renderTime } from "./time.tsx";
