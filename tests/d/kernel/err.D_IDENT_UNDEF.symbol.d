/*
 * A symbol that the kernel has not is not found in it.
 */
BEGIN { trace(vmlinux`no_such_symbol_anywhere); }
