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

import { say } from "@/language/say";

import { LANGUAGE } from "./locale";

export type Tone = "good" | "bad" | "warn" | "info" | "busy" | "calm" | "sky";

interface Look {
  tone: Tone;
  icon: LucideIcon;
  word: string;
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
  created: { tone: "calm", icon: Circle, word: say("created") },
  pending: { tone: "calm", icon: CircleDashed, word: say("pending") },
  ready: { tone: "info", icon: CircleDot, word: say("ready") },
  claimed: { tone: "sky", icon: CirclePlay, word: say("claimed") },
  running: { tone: "busy", icon: LoaderCircle, word: say("running"), moving: true },
  validating: { tone: "busy", icon: BadgeCheck, word: say("validating") },
  retrying: { tone: "warn", icon: RotateCw, word: say("retrying") },
  failed: { tone: "bad", icon: CircleX, word: say("failed") },
  completed: { tone: "good", icon: CircleCheck, word: say("completed") },
  dead_lettered: { tone: "bad", icon: CircleX, word: say("dead letter") },
  cancelled: { tone: "calm", icon: Ban, word: say("cancelled") },
  released: { tone: "calm", icon: RotateCw, word: say("released") },
  // Agents
  active: { tone: "good", icon: CircleCheck, word: say("active") },
  draining: { tone: "warn", icon: CirclePause, word: say("draining") },
  offline: { tone: "calm", icon: CircleX, word: say("offline") },
  // Breakers and queues
  closed: { tone: "good", icon: CircleCheck, word: say("closed") },
  open: { tone: "bad", icon: CircleX, word: say("open") },
  half_open: { tone: "warn", icon: CircleDot, word: say("half open") },
  paused: { tone: "warn", icon: CirclePause, word: say("paused") },
};

export function lookOf(status: string): Look {
  return LOOKS[status] ?? { tone: "calm", icon: Clock, word: status.replaceAll("_", " ") };
}

export function StatusBadge({ status, word }: { status: string; word?: string }) {
  const look = lookOf(status);
  const Icon = look.icon;
  return (
    // In another language, with the word that commands and calls have for it.
    <span
      className={`badge tone-${look.tone}${look.moving ? " moving" : ""}`}
      title={LANGUAGE === "en" ? undefined : status}
    >
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
