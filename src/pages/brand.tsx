/** @jsxImportSource #html @jsxRuntime automatic */
/**
 * The name and the logo of the organization on the sign-in pages, in the Console and in emails. Like the log, the brand belongs
 * to the process and is set when a service opens.
 *
 * @module
 */
import type { Route } from "../http/mod.ts";
import { Problem } from "../problem.ts";
import { CACHE_FOREVER, ICON } from "./assets.ts";
import type { Html } from "./html.ts";

/** Unset values default to the name and the icon of the product. */
export type Brand = { name?: string | undefined; logo?: Uint8Array<ArrayBuffer> | undefined };

type VisibleBrand = { name: string; icon: string };

const PRODUCT: VisibleBrand = { name: "Rowhouse", icon: ICON.path };
const LOGO_PATH = "/assets/organization.png";

let current: Brand = {};
let visible: VisibleBrand = PRODUCT;

export function setBrand(brand: Brand): void {
  const { name = PRODUCT.name, logo } = brand;
  current = brand;
  visible = { name, icon: logo === undefined ? PRODUCT.icon : toLogoUrl(logo) };
}

export function readBrand(): Brand {
  return current;
}

export function brandName(): string {
  return visible.name;
}

/** The logo or the icon with this height, followed by the name. */
export function renderBrand(height: number): Html {
  return (
    <>
      <img src={visible.icon} alt="" height={height} />
      <span>
        <bdi>{visible.name}</bdi>
      </span>
    </>
  );
}

/** A new logo has a new address, so that browsers can cache it. */
function toLogoUrl(logo: Uint8Array): string {
  const digest = new Bun.CryptoHasher("sha256").update(logo).digest("hex").slice(0, 16);
  return `${LOGO_PATH}?${digest}`;
}

/** @throws {Problem} unknown_route — there is no logo */
export const brandRoute: Route<unknown> = {
  method: "GET",
  path: LOGO_PATH,
  access: "open",
  handle: () => {
    const { logo } = current;
    if (logo === undefined) throw new Problem("unknown_route");
    return new Response(logo, {
      headers: {
        "content-type": "image/png",
        "cache-control": CACHE_FOREVER,
        "cross-origin-resource-policy": "same-origin",
      },
    });
  },
};
