/** Who is looking at the page, and what they may do. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, use, type ReactNode } from "react";
import { Navigate, useLocation } from "react-router";

import { isRefusal } from "@/api/problem";
import { endSession, session, type Session } from "@/api/session";
import { say } from "@/language/say";
import { Broken } from "@/parts/empty";

const SessionContext = createContext<Session | null>(null);

/** Everything inside is shown to somebody who may see the yard; others are sent to log in, and then back. */
export function SessionGate({ children }: { children: ReactNode }) {
  const location = useLocation();
  const { data, error, refetch } = useQuery(session);
  if (isRefusal(error, 401)) {
    const here = encodeURIComponent(location.pathname + location.search);
    return <Navigate to={`/login?next=${here}`} replace />;
  }
  if (data === undefined) return error === null ? null : <Broken error={error} retry={() => void refetch()} />;
  return <SessionContext value={data}>{children}</SessionContext>;
}

export function useSession(): Session {
  const found = use(SessionContext);
  if (found === null) throw new Error("useSession belongs inside SessionGate");
  return found;
}

/** What an action asks for; the server says who has it. */
export type Right = "steer" | "operate" | "administer";

const WHO: Record<Right, string> = {
  steer: say("an orchestrator, an operator or an admin"),
  operate: say("an operator or an admin"),
  administer: say("an admin"),
};

interface Allowed {
  may: boolean;
  why: string; // in words, where they may not
}

export function useMay(right: Right): Allowed {
  const { role, may } = useSession();
  if (may[right]) return { may: true, why: "" };
  return {
    may: false,
    why: say("You are signed in as {role}, who sees this and cannot do it. It takes {who}.", { role, who: WHO[right] }),
  };
}

export function useLogOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    const elsewhere = await endSession();
    client.clear();
    // Whatever the page still holds in memory goes with it.
    location.assign(elsewhere ?? "/login");
  };
}
