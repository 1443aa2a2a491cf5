"""The language server: what ``npuify.editor`` says, in the words of the protocol. It alone imports pygls."""
