/** What the command palette offers beside tasks and DAGs: every page, and what can be done from anywhere. */
import { useQuery } from "@tanstack/react-query";
import {
  Bookmark,
  CalendarPlus,
  Keyboard,
  ListPlus,
  LogOut,
  Moon,
  Pause,
  Play,
  Settings2,
  Sun,
  Workflow,
} from "lucide-react";
import { useNavigate } from "react-router";

import { savedViews } from "@/api/saved-views";
import { useLive } from "@/live/live";
import { useLogOut, useSession } from "@/session/session";

import { PLACES } from "./navigation";
import type { Command } from "./palette";
import { useExplainKeys } from "./shortcuts";
import { useTheme } from "./theme";

export function useCommands(openSettings: () => void): Command[] {
  const navigate = useNavigate();
  const [theme, choose] = useTheme();
  const { paused, setPaused } = useLive();
  const { needs_login } = useSession();
  const explain = useExplainKeys();
  const logOut = useLogOut();
  const { data } = useQuery(savedViews);
  const other = theme === "dark" ? "light" : "dark";
  const go = (to: string) => () => void navigate(to);
  return [
    { name: "New task", about: "put work in", icon: ListPlus, run: go("/tasks/new") },
    { name: "New DAG", about: "put work in", icon: Workflow, run: go("/dags/new") },
    { name: "New schedule", about: "put work in", icon: CalendarPlus, run: go("/schedules?new=schedule") },
    { name: "New trigger", about: "put work in", icon: CalendarPlus, run: go("/schedules?new=trigger") },
    ...PLACES.flat().map(({ to, name, icon }) => ({ name: `Go to ${name}`, about: "page", icon, run: go(to) })),
    ...(data?.saved_views ?? []).map(({ name, page, query }) => ({
      name,
      about: `view of ${page}`,
      icon: Bookmark,
      run: go(`/${page}?${query}`),
    })),
    {
      name: `Use the ${other} theme`,
      about: "this browser",
      icon: theme === "dark" ? Sun : Moon,
      run: () => choose(other),
    },
    {
      name: paused ? "Follow the yard again" : "Pause live updates",
      about: "this page",
      icon: paused ? Play : Pause,
      run: () => setPaused(!paused),
    },
    { name: "Settings", about: "time zone, language", icon: Settings2, run: openSettings },
    { name: "Keys", about: "all shortcuts", icon: Keyboard, run: explain },
    ...(needs_login ? [{ name: "Sign out", about: "", icon: LogOut, run: () => void logOut() }] : []),
  ];
}
