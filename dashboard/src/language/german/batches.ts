export const batches = {
  Batches: "Batches",
  "Model calls that wait for a batch of their provider, at the batch price.":
    "Modellaufrufe, die auf einen Batch ihres Anbieters warten, zum Batch-Preis.",
  "Provider batches": "Batches bei Anbietern",
  "No batch yet": "Noch kein Batch",
  "Calls of tasks with the service batch are gathered and sent together by an agent that has a provider.":
    "Aufrufe von Aufgaben mit dem Service „batch“ werden gesammelt und zusammen gesendet, von einem Agenten mit Anbieter.",
  Batch: "Batch",
  "Calls of": "Aufrufe von",
  Sent: "Gesendet",
  Outstanding: "Ausstehend",
  "At the provider": "Beim Anbieter",
  "{provider}, by {agent}": "{provider}, von {agent}",
  "not sent yet": "noch nicht gesendet",
  "sent {ago}": "gesendet {ago}",
  "expires {until}": "verfällt {until}",
} as const;
