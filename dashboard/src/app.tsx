/** The pages, and what they share: answers that are kept, who is looking, events as they come. */
import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy } from "react";
import { createBrowserRouter } from "react-router";
import { RouterProvider } from "react-router/dom";

import { isRefusal, Unreachable } from "./api/problem";
import { session } from "./api/session";
import { LiveProvider } from "./live/live";
import { Login } from "./session/login";
import { SessionGate } from "./session/session";
import { Crash, NotHere } from "./shell/crash";
import { Layout } from "./shell/layout";
import { ShortcutProvider } from "./shell/shortcuts";
import { ToastProvider } from "./shell/toasts";

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error, query) {
      // The session is over: asking who is here again leads to the login page.
      if (isRefusal(error, 401) && query.queryKey[0] !== "session") void client.invalidateQueries(session);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      retry: (failures, error) => error instanceof Unreachable && failures < 5,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5_000),
      // Also where the browser says that it is offline: a server on this machine is there all the same.
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});

const Overview = lazy(() => import("./pages/overview/overview"));
const Tasks = lazy(() => import("./pages/tasks/tasks"));
const Task = lazy(() => import("./pages/task/task"));
const NewTask = lazy(() => import("./pages/new/new-task"));
const NewDag = lazy(() => import("./pages/new/new-dag"));
const Board = lazy(() => import("./pages/board/board"));
const Dags = lazy(() => import("./pages/dags/dags"));
const Dag = lazy(() => import("./pages/dag/dag"));
const DeadLetters = lazy(() => import("./pages/dead-letters/dead-letters"));
const Approvals = lazy(() => import("./pages/approvals/approvals"));
const Answer = lazy(() => import("./pages/answer/answer"));
const Agents = lazy(() => import("./pages/agents/agents"));
const Queues = lazy(() => import("./pages/queues/queues"));
const Schedules = lazy(() => import("./pages/schedules/schedules"));
const Events = lazy(() => import("./pages/events/events"));
const Deliveries = lazy(() => import("./pages/deliveries/deliveries"));
const Batches = lazy(() => import("./pages/batches/batches"));
const Waits = lazy(() => import("./pages/waits/waits"));
const Audit = lazy(() => import("./pages/audit/audit"));
const Reports = lazy(() => import("./pages/reports/reports"));
const Scores = lazy(() => import("./pages/scores/scores"));
const Spend = lazy(() => import("./pages/spend/spend"));

const router = createBrowserRouter([
  { path: "/login", Component: Login },
  { path: "/answer/:link", Component: Answer, ErrorBoundary: Crash },
  {
    Component: Inside,
    ErrorBoundary: Crash,
    children: [
      {
        ErrorBoundary: Crash,
        children: [
          { index: true, Component: Overview },
          { path: "tasks", Component: Tasks },
          { path: "tasks/new", Component: NewTask },
          { path: "tasks/:taskId", Component: Task },
          { path: "board", Component: Board },
          { path: "dags", Component: Dags },
          { path: "dags/new", Component: NewDag },
          { path: "dags/:dagId", Component: Dag },
          { path: "dead-letters", Component: DeadLetters },
          { path: "approvals", Component: Approvals },
          { path: "agents", Component: Agents },
          { path: "queues", Component: Queues },
          { path: "schedules", Component: Schedules },
          { path: "reports", Component: Reports },
          { path: "scores", Component: Scores },
          { path: "spend", Component: Spend },
          { path: "batches", Component: Batches },
          { path: "waits", Component: Waits },
          { path: "events", Component: Events },
          { path: "deliveries", Component: Deliveries },
          { path: "audit", Component: Audit },
          { path: "*", Component: NotHere },
        ],
      },
    ],
  },
]);

function Inside() {
  return (
    <SessionGate>
      <LiveProvider>
        <ShortcutProvider>
          <ToastProvider>
            <Layout />
          </ToastProvider>
        </ShortcutProvider>
      </LiveProvider>
    </SessionGate>
  );
}

export function App() {
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
