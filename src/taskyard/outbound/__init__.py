"""What reaches out of the process: object stores, webhooks, mail and the services that notifications go to."""
