/** Pages: escaped HTML, one stylesheet, few scripts, parts of forms. Knows nothing of people or apps. @module */
export { assetRoutes, ICON } from "./assets.ts";
export { renderCopyButton } from "./copy.ts";
export { type Field, renderField, renderForm, renderNotice } from "./form.ts";
export { type Html, html, type Part } from "./html.ts";
export { answerPage, answerSeeOther, type Page, type PageOptions } from "./page.ts";
export type { ScriptName } from "./scripts.ts";
export { renderTime } from "./time.ts";
