/** Those whose words begin with all that was typed, in any order. */
export function fitting<T extends { name: string; about: string }>(commands: readonly T[], text: string): T[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ name, about }) => {
    const words = `${name} ${about}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    return wanted.every((each) => words.some((word) => word.startsWith(each)));
  });
}
