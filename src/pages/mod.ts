/** Pages: escaped HTML, one stylesheet (the API reference and the guides have another), few scripts, parts of forms, Markdown. Knows nothing of people or apps. @module */
export { assetRoutes, ICON, toScriptPath } from "./assets.ts";
export { type Brand, readBrand, renderBrand, setBrand } from "./brand.ts";
export { brandRoute } from "./brand_route.ts";
export { renderCopyButton } from "./copy.ts";
export { type Field, renderField, renderForm, renderNotice } from "./form.ts";
export { highlight } from "./highlight.ts";
export { type Html, html, type Part } from "./html.ts";
export { type Heading, renderMarkdown, type Target } from "./markdown.ts";
export { type Page, redirect, respondWithPage } from "./page.ts";
export { splitJson } from "./scripts/json_tokens.ts";
export type { ScriptName } from "./scripts.ts";
export { renderTime } from "./time.ts";
