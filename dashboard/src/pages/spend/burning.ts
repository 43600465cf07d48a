/** How fast money goes, and when it will be gone. */

interface Burning {
  perHour: number;
  byMidnight: number; // what the day will have cost at this pace
  emptyAt: number | null; // in milliseconds; null: not today
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Days are the yard's: they begin at midnight UTC. */
export function burning(spent: number, ceiling: number | null, now: number): Burning {
  const midnight = Math.floor(now / DAY) * DAY;
  const hours = Math.max((now - midnight) / HOUR, 1 / 60);
  const perHour = spent / hours;
  const byMidnight = perHour * 24;
  if (ceiling === null || perHour === 0 || byMidnight <= ceiling) return { perHour, byMidnight, emptyAt: null };
  return { perHour, byMidnight, emptyAt: now + Math.max(0, (ceiling - spent) / perHour) * HOUR };
}
