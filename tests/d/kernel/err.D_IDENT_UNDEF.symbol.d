/*
 * A symbol that the kernel does not have is not found.
 */
BEGIN { trace(vmlinux`no_such_symbol_anywhere); }
