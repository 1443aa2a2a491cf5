"""What a conversion writes into a program, each change with what must hold for it."""
