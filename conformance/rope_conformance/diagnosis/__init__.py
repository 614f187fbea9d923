"""The likely cause of a failure: the first suspect, of many in order, that explains it."""
