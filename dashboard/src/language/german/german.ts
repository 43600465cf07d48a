/** The page in German. The words for states stay close to those of the product; what is common to several parts is in common.ts. */
import { agents } from "./agents";
import { approvals } from "./approvals";
import { batches } from "./batches";
import { board } from "./board";
import { common } from "./common";
import { deadLetters } from "./dead-letters";
import { drafts } from "./drafts";
import { figures } from "./figures";
import { graph } from "./graph";
import { parts } from "./parts";
import { queues } from "./queues";
import { records } from "./records";
import { reports } from "./reports";
import { schedules } from "./schedules";
import { shell } from "./shell";
import { task } from "./task";
import { tasks } from "./tasks";

export const german = {
  ...agents,
  ...approvals,
  ...batches,
  ...board,
  ...common,
  ...deadLetters,
  ...drafts,
  ...figures,
  ...graph,
  ...parts,
  ...queues,
  ...records,
  ...reports,
  ...schedules,
  ...shell,
  ...task,
  ...tasks,
};
