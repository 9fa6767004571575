/*
 * A symbol that the kernel does not have is reported as undefined.
 */
BEGIN { trace(vmlinux`no_such_symbol_anywhere); }
