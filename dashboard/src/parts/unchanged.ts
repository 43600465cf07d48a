/** A list that is made anew on every drawing, as the one it was for as long as it has the same items. */
import { useState } from "react";

export function useUnchanged<T>(list: readonly T[], isSame: (one: T, other: T) => boolean = Object.is): readonly T[] {
  const [known, setKnown] = useState(list);
  if (known === list || isAlike(known, list, isSame)) return known;
  setKnown(list);
  return list;
}

function isAlike<T>(known: readonly T[], list: readonly T[], isSame: (one: T, other: T) => boolean): boolean {
  return known.length === list.length && list.every((each, index) => isSame(each, known[index] as T));
}
