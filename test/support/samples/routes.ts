/** Sample values of the parameters in the paths of routes. @module */

/** The path of a route with these values. */
export function fillPath(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/:(\w+)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${template}: add a sample value of :${name}`);
    return value;
  });
}
