/** The address of a service, as typed by a caller. @module */

const ADDRESS = /^https?:\/\/[^\s?#@]+$/;

/** The URL without final slashes. @throws {TypeError} for anything but a service's URL */
export function readServiceUrl(setting: string, url: string): string {
  try {
    return new URL(ADDRESS.exec(url)?.[0] ?? "").href.replace(/\/+$/, "");
  } catch {
    throw new TypeError(
      `Cannot use this ${setting}: must look like https://api.example.org or http://localhost:8080`,
    );
  }
}
