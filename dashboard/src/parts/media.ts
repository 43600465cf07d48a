import { useSyncExternalStore } from "react";

/** Whether the window is so, for what style sheets alone cannot decide. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (watcher) => {
      const media = matchMedia(query);
      media.addEventListener("change", watcher);
      return () => media.removeEventListener("change", watcher);
    },
    () => matchMedia(query).matches,
  );
}
