"""One module for each system that is compared: the class `Peer` of each is what `contract` asks for."""
