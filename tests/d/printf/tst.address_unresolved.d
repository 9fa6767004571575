/*
 * %a and %A print an address in hexadecimal if no symbol contains it.
 * @flags: -q
 */
BEGIN { printf("%a %A\n", (uintptr_t)0x20, (uintptr_t)0x21); exit(0); }
