import {
  Bot,
  CalendarClock,
  ChartColumn,
  CircleX,
  Coins,
  FlaskConical,
  Gauge,
  Hourglass,
  ListTodo,
  PackageOpen,
  Radio,
  Send,
  ShieldCheck,
  SquareKanban,
  Stamp,
  ToggleRight,
  Workflow,
  type LucideIcon,
} from "lucide-react";
import { NavLink, useNavigate } from "react-router";

import { useAttention } from "@/api/overview";
import { say } from "@/language/say";
import { inShort } from "@/parts/format";

import { useShortcut } from "./shortcuts";

interface Place {
  to: string;
  name: string;
  icon: LucideIcon;
  key: string; // after g
  count?: "dead" | "approvals" | "breakers";
}

export const PLACES: readonly (readonly Place[])[] = [
  [
    { to: "/", name: say("Overview"), icon: Gauge, key: "o" },
    { to: "/tasks", name: say("Tasks"), icon: ListTodo, key: "t" },
    { to: "/board", name: say("Board"), icon: SquareKanban, key: "b" },
    { to: "/dags", name: "DAGs", icon: Workflow, key: "g" },
  ],
  [
    { to: "/dead-letters", name: say("Dead letters"), icon: CircleX, key: "l", count: "dead" },
    { to: "/approvals", name: say("Approvals"), icon: Stamp, key: "a", count: "approvals" },
  ],
  [
    { to: "/agents", name: say("Agents"), icon: Bot, key: "e" },
    { to: "/queues", name: say("Queues & breakers"), icon: ToggleRight, key: "q", count: "breakers" },
    { to: "/waits", name: say("Waits"), icon: Hourglass, key: "w" },
    { to: "/schedules", name: say("Schedules & triggers"), icon: CalendarClock, key: "s" },
    { to: "/batches", name: say("Batches"), icon: PackageOpen, key: "p" },
    { to: "/spend", name: say("Spend"), icon: Coins, key: "m" },
    { to: "/reports", name: say("Reports"), icon: ChartColumn, key: "r" },
    { to: "/scores", name: say("Scores & variants"), icon: FlaskConical, key: "v" },
  ],
  [
    { to: "/events", name: say("Events"), icon: Radio, key: "n" },
    { to: "/deliveries", name: say("Deliveries"), icon: Send, key: "d" },
    { to: "/audit", name: say("Audit"), icon: ShieldCheck, key: "u" },
  ],
];

export function Navigation({ onGo }: { onGo?: () => void }) {
  const attention = useAttention();
  return (
    <nav className="navigation" aria-label={say("Pages")}>
      {PLACES.map((group, index) => (
        <ul key={index}>
          {group.map((place) => (
            <li key={place.to}>
              <NavLink to={place.to} end={place.to === "/"} {...(onGo && { onClick: onGo })}>
                <place.icon aria-hidden />
                <span className="clip">{place.name}</span>
                <Count of={place.count === undefined ? 0 : attention[place.count]} />
              </NavLink>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function Count({ of }: { of: number }) {
  if (of === 0) return null;
  return (
    <span className="navigation-count">
      {inShort(of)}
      <span className="sr-only"> {say("waiting")}</span>
    </span>
  );
}

/** Every page has its key. */
export function NavigationKeys() {
  return PLACES.flat().map((place) => <NavigationKey key={place.to} place={place} />);
}

function NavigationKey({ place }: { place: Place }) {
  const navigate = useNavigate();
  useShortcut(`g ${place.key}`, say("Go to {name}", { name: place.name }), () => void navigate(place.to));
  return null;
}
