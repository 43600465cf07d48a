/** The properties of an element in which texts are shown, each of them made visible. */
import { visible } from "@/parts/visible";

const SHOWN = ["children", "title", "alt", "label", "placeholder", "aria-label", "aria-description", "aria-valuetext"];

export function visibleProps(props: unknown): unknown {
  if (typeof props !== "object" || props === null) return props;
  const given = props as Record<string, unknown>;
  const changed = SHOWN.filter((name) => name in given && visibleValue(given[name]) !== given[name]);
  if (changed.length === 0) return props;
  return { ...given, ...Object.fromEntries(changed.map((name) => [name, visibleValue(given[name])])) };
}

/** The very same value where there is nothing to do: React looks at who is who. */
function visibleValue(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (!Array.isArray(value)) return value;
  const items: readonly unknown[] = value;
  const shown = items.map(visibleValue);
  return shown.every((each, index) => each === items[index]) ? value : shown;
}
