/** Features that are off unless the setting `PREVIEW` names them. @module */

export const PREVIEWS = ["filters", "live", "browser", "history"] as const;
export type Preview = (typeof PREVIEWS)[number];

/** Returns whether a text names a preview. */
export function isPreview(text: string): text is Preview {
  return PREVIEWS.some((preview) => preview === text);
}
