/*
 * %a and %A print an address without a symbol in hexadecimal.
 * @flags: -q
 */
BEGIN { printf("%a %A\n", (uintptr_t)0x20, (uintptr_t)0x21); exit(0); }
