export const approvals = {
  "A question · Taskyard": "Eine Frage · Taskyard",
  "This link leads nowhere": "Dieser Link führt ins Leere",
  "It is not whole, its question is answered, or its time is over. Sign in to the yard to see what waits for you.":
    "Er ist unvollständig, seine Frage ist beantwortet, oder seine Zeit ist um. Melden Sie sich am Yard an, um zu sehen, was auf Sie wartet.",
  "asked by {who}": "gefragt von {who}",
  "asked {ago}": "gestellt {ago}",
  "gives up {ago}": "Frist endet {ago}",
  "Your answer is recorded as {recipient}. This link takes one answer.":
    "Ihre Antwort wird unter {recipient} gespeichert. Dieser Link nimmt eine Antwort an.",
  "The task no longer waits for an answer.": "Die Aufgabe wartet nicht mehr auf eine Antwort.",
  "Answered by {by} {ago}: {data}": "Beantwortet von {by} {ago}: {data}",
  "Tasks that wait for a person's word. Their agents are free for other work meanwhile.":
    "Aufgaben, die auf die Antwort eines Menschen warten. Ihre Agenten sind so lange frei für andere Arbeit.",
  "Nobody waits for you": "Niemand wartet auf Sie",
  "A handler asks with {call}. Its task is listed here until somebody answers, from here or from a shell:":
    "Ein Handler fragt mit {call}. Seine Aufgabe steht hier, bis jemand antwortet, von hier oder in der Shell:",
  "has waited {time} for {signal}": "wartet seit {time} auf {signal}",
  "for {people}": "für {people}",
  "Answered: the task goes on": "Beantwortet: Die Aufgabe geht weiter",
  "{task} waits no longer: what you had begun to fill in was not sent.":
    "{task} wartet nicht mehr: Was Sie zu beantworten begonnen haben, wurde nicht gesendet.",
  "what there is to decide on": "worüber zu entscheiden ist",
  "Fill in what is needed.": "Bitte füllen Sie die Pflichtfelder aus.",
  "Correct what is marked.": "Bitte korrigieren Sie die markierten Felder.",
  "Send the answer": "Antwort senden",
  "(optional)": "(optional)",
  "Choose…": "Wählen …",
  Yes: "Ja",
  No: "Nein",
  "Storing {name}…": "{name} wird gespeichert …",
  "{name} is stored.": "{name} ist gespeichert.",
  "This yard has no place for files: an operator sets TASKYARD_ARTIFACTS.":
    "Dieser Yard hat keinen Ort für Dateien: Wer ihn betreibt, setzt TASKYARD_ARTIFACTS.",
  "Sign in to send a file.": "Melden Sie sich an, um eine Datei zu senden.",
  "A text, or any value in JSON.": "Ein Text oder ein beliebiger JSON-Wert.",
  "An object in JSON.": "Ein JSON-Objekt.",
  "Remove {title} {number}": "{title} {number} entfernen",
  "what the agent shows beside the question": "was der Agent zur Frage zeigt",
  "When the time is over, the answer is {answer}.": "Wenn die Zeit um ist, lautet die Antwort {answer}.",
  "is needed": "ist ein Pflichtfeld",
} as const;
