import { say } from "@/language/say";

import { cents, money } from "./format";

/** An amount to the cent, with the exact one on hover. */
export function Money({ usd }: { usd: string | null | undefined }) {
  if (usd === null || usd === undefined) return <span className="quiet">—</span>;
  return <span title={say("{usd} (exact)", { usd: money(usd) })}>{cents(usd)}</span>;
}
