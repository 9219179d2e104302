"""What tools/wheel and tools/release make of the program: the files that users get."""
