/** The logo of the organization, from the file that the settings name. @module */
import type { Route } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { LOGO_PATH, readBrand } from "./brand.ts";

/** @throws {Problem} unknown_route — there is no logo */
export const brandRoute: Route<unknown> = {
  method: "GET",
  path: LOGO_PATH,
  access: "open",
  handle: () => {
    const { logo } = readBrand();
    if (logo === undefined) throw new Problem("unknown_route");
    return new Response(logo, {
      headers: {
        "content-type": "image/png",
        "cache-control": "public, max-age=31536000, immutable",
        "cross-origin-resource-policy": "same-origin",
      },
    });
  },
};
