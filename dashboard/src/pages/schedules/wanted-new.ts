import { useSearchParams } from "react-router";

/** Whether the address asks for a new one of the kind: the command palette leads here so. */
export function useWantedNew(kind: "schedule" | "trigger", isNew: boolean): boolean {
  const [asked] = useSearchParams();
  return isNew && asked.get("new") === kind;
}
