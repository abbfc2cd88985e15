/** Lists with weights, such as `gzip;q=0.5, *;q=0`. @see https://www.rfc-editor.org/rfc/rfc9110#section-12.4.2 @module */

/** The lower-case names in a header, in order, with their weights: 1 without a weight, 0 if malformed. */
export function readWeights(header: string): [name: string, weight: number][] {
  return header
    .toLowerCase()
    .split(",")
    .map((item) => {
      const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0];
    });
}
