/** How something stands, by word, shape and colour: never by colour alone. */
import {
  Ban,
  BadgeCheck,
  Circle,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CirclePause,
  CirclePlay,
  CircleX,
  Clock,
  LoaderCircle,
  RotateCw,
  type LucideIcon,
} from "lucide-react";

export type Tone = "good" | "bad" | "warn" | "info" | "busy" | "calm" | "sky";

interface Look {
  tone: Tone;
  icon: LucideIcon;
  word?: string;
  moving?: boolean;
}

/** The states that a task rests in, in the order it goes through them. */
export const STATUSES = [
  "pending",
  "ready",
  "claimed",
  "running",
  "validating",
  "retrying",
  "completed",
  "dead_lettered",
  "cancelled",
] as const;

export type Status = (typeof STATUSES)[number];

const LOOKS: Record<string, Look> = {
  // Tasks
  created: { tone: "calm", icon: Circle },
  pending: { tone: "calm", icon: CircleDashed },
  ready: { tone: "info", icon: CircleDot },
  claimed: { tone: "sky", icon: CirclePlay },
  running: { tone: "busy", icon: LoaderCircle, moving: true },
  validating: { tone: "busy", icon: BadgeCheck },
  retrying: { tone: "warn", icon: RotateCw },
  failed: { tone: "bad", icon: CircleX },
  completed: { tone: "good", icon: CircleCheck },
  dead_lettered: { tone: "bad", icon: CircleX, word: "dead letter" },
  cancelled: { tone: "calm", icon: Ban },
  released: { tone: "calm", icon: RotateCw },
  // Agents
  active: { tone: "good", icon: CircleCheck },
  draining: { tone: "warn", icon: CirclePause },
  offline: { tone: "calm", icon: CircleX },
  // Breakers and queues
  closed: { tone: "good", icon: CircleCheck },
  open: { tone: "bad", icon: CircleX },
  half_open: { tone: "warn", icon: CircleDot, word: "half open" },
  paused: { tone: "warn", icon: CirclePause },
};

const UNKNOWN: Look = { tone: "calm", icon: Clock };

export function lookOf(status: string): Look & { word: string } {
  const look = LOOKS[status] ?? UNKNOWN;
  return { ...look, word: look.word ?? status.replaceAll("_", " ") };
}

export function StatusBadge({ status, word }: { status: string; word?: string }) {
  const look = lookOf(status);
  const Icon = look.icon;
  return (
    <span className={`badge tone-${look.tone}${look.moving ? " moving" : ""}`}>
      <Icon aria-hidden />
      {word === undefined || word === status ? look.word : word}
    </span>
  );
}

/** The same in a small place: the shape alone, with the word for who cannot see it. */
export function StatusMark({ status }: { status: string }) {
  const look = lookOf(status);
  const Icon = look.icon;
  return (
    <span className={`mark tone-${look.tone}`} title={look.word}>
      <Icon aria-hidden />
      <span className="sr-only">{look.word}</span>
    </span>
  );
}
