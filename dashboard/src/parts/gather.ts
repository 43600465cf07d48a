/** Things that share a name, together, in the order they came. */
export function gathered<T>(things: Iterable<T>, nameOf: (thing: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const thing of things) {
    const name = nameOf(thing);
    const known = groups.get(name);
    if (known) known.push(thing);
    else groups.set(name, [thing]);
  }
  return groups;
}
