"""The stores of tasks: the contract, its implementations, and the modules that they share."""
