/** Lays graphs out beside the page, so that a big one never holds it up. */
import { layout, type Plan } from "./layout";

self.addEventListener("message", ({ data }: MessageEvent<{ turn: number; plan: Plan }>) => {
  self.postMessage({ turn: data.turn, places: layout(data.plan) });
});
