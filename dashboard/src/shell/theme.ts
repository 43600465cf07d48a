/** Dark or light: as the system says, or as was chosen here. The first paint is settled by /theme.js. */
import { useSyncExternalStore } from "react";

type Theme = "light" | "dark";

const KEY = "taskyard-theme";
const watchers = new Set<() => void>();

function current(): Theme {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  return [useSyncExternalStore(subscribe, current), choose];
}

function choose(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Storage is switched off: the choice lasts until the page is closed.
  }
  watchers.forEach((watcher) => watcher());
}
