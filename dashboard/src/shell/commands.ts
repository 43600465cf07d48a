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
import { say } from "@/language/say";
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
    { name: say("New task"), about: say("put work in"), icon: ListPlus, run: go("/tasks/new") },
    { name: say("New DAG"), about: say("put work in"), icon: Workflow, run: go("/dags/new") },
    { name: say("New schedule"), about: say("put work in"), icon: CalendarPlus, run: go("/schedules?new=schedule") },
    { name: say("New trigger"), about: say("put work in"), icon: CalendarPlus, run: go("/schedules?new=trigger") },
    ...PLACES.flat().map(({ to, name, icon }) => ({
      name: say("Go to {name}", { name }),
      about: say("page"),
      icon,
      run: go(to),
    })),
    ...(data?.saved_views ?? []).map(({ name, page, query }) => ({
      name,
      about: say("view of {page}", { page }),
      icon: Bookmark,
      run: go(`/${page}?${query}`),
    })),
    {
      name: other === "dark" ? say("Use the dark theme") : say("Use the light theme"),
      about: say("this browser"),
      icon: theme === "dark" ? Sun : Moon,
      run: () => choose(other),
    },
    {
      name: paused ? say("Follow the yard again") : say("Pause live updates"),
      about: say("this page"),
      icon: paused ? Play : Pause,
      run: () => setPaused(!paused),
    },
    { name: say("Settings"), about: say("time zone, language"), icon: Settings2, run: openSettings },
    { name: say("Keys"), about: say("all shortcuts"), icon: Keyboard, run: explain },
    ...(needs_login ? [{ name: say("Sign out"), about: "", icon: LogOut, run: () => void logOut() }] : []),
  ];
}
