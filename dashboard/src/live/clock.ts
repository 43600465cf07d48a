/** The yard's clock: ages and countdowns are told by the server's time, for that of this machine may be wrong. */
import { useSyncExternalStore } from "react";

let ahead = 0; // milliseconds that the server's clock is ahead of this machine's

/** Take note of the time in the header of an answer, in microseconds since 1970. */
export function noteServerTime(header: string | null): void {
  const micros = Number(header);
  if (header !== null && Number.isFinite(micros)) ahead = micros / 1000 - Date.now();
}

export function serverNow(): number {
  return Date.now() + ahead;
}

const watchers = new Set<() => void>();
let tick = Date.now();
let timer: number | undefined;

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  timer ??= window.setInterval(() => {
    tick = Date.now();
    watchers.forEach((each) => each());
  }, 1000);
  return () => {
    watchers.delete(watcher);
    if (watchers.size === 0) {
      window.clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The server's time in milliseconds, to the second: whoever shows an age is drawn again as it grows. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => tick) + ahead;
}
